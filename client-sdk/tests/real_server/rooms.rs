use std::time::Duration;

use parlour_client::{
    Client, RequestErrorKind, RoleChange, RoomChange, Search,
    protocol::{ErrorCode, Patch, Permissions, object::ModerationAction, operation::SearchFilterType},
};

use crate::harness::{Real, pair};

/// A picture that is one: a single pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8,
    6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1,
    0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
/// The beginning of WebP, which is what a thumbnail is.
const WEBP: &[u8] =
    b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00";

fn code(error: &parlour_client::RequestError) -> ErrorCode {
    match error.kind() {
        RequestErrorKind::Rejected(code) => code,
        other => panic!("{other}"),
    }
}

fn id_of(client: &Client) -> parlour_client::protocol::UserId {
    client.user().unwrap().user_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_is_made_named_given_and_taken() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two, bob_id) = (ada.room(room_id), bob.room(room_id), id_of(&bob));
    let made = one.create_role("Host", Permissions::MANAGE_ROOM).await.unwrap();
    let change =
        RoleChange { name: Some("Hosts".into()), color: Patch::Set("#aa5500".into()), ..RoleChange::default() };
    let named = one.update_role(made.role_id, change).await.unwrap();
    assert_eq!((named.name.as_str(), named.color.as_str()), ("Hosts", "#aa5500"));
    assert_eq!(one.role_named("Hosts").await.unwrap().unwrap().permissions, Permissions::MANAGE_ROOM);
    let topic = |text: &str| RoomChange { topic: Patch::Set(text.into()), ..RoomChange::default() };
    assert_eq!(code(&two.update(topic("Tea")).await.unwrap_err()), ErrorCode::Forbidden);
    one.assign_role(made.role_id, bob_id).await.unwrap();
    assert_eq!(two.update(topic("Tea")).await.unwrap().topic, "Tea");
    assert_eq!(two.roles_of(vec![bob_id]).await.unwrap()[0].role_ids, [made.role_id]);
    one.set_role_permissions(made.role_id, Permissions::NONE).await.unwrap();
    assert_eq!(code(&two.update(topic("Cake")).await.unwrap_err()), ErrorCode::Forbidden);
    one.revoke_role(made.role_id, bob_id).await.unwrap();
    one.delete_role(made.role_id).await.unwrap();
    assert!(two.role_named("Hosts").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moderator_warns_times_out_bans_and_lets_back() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two, bob_id) = (ada.room(room_id), bob.room(room_id), id_of(&bob));
    one.moderate(bob_id, ModerationAction::Warn, "mind the cups").await.unwrap();
    one.note(bob_id, "breaks cups").await.unwrap();
    assert_eq!(one.notes(bob_id).await.unwrap()[0].note, "breaks cups");
    one.time_out(bob_id, Duration::from_secs(600), "a pause").await.unwrap();
    let error = two.send("hello?").await.unwrap_err();
    assert_eq!(code(&error), ErrorCode::TimedOut);
    assert!(error.rejection().unwrap().retry_after_ms.is_some());
    one.moderate(bob_id, ModerationAction::CreateBan, "enough").await.unwrap();
    assert_eq!(one.bans().await.unwrap()[0].user.user_id, bob_id);
    let invite = one.create_invite().await.unwrap().invite_id;
    assert_eq!(code(&bob.join(invite).await.unwrap_err()), ErrorCode::Forbidden);
    one.unban(bob_id).await.unwrap();
    bob.join(invite).await.unwrap();
    let done: Vec<_> = one.moderation_log(10).await.unwrap().into_iter().map(|entry| entry.r#type).collect();
    let expected = [
        ModerationAction::DeleteBan,
        ModerationAction::CreateBan,
        ModerationAction::TimeoutUser,
        ModerationAction::Warn,
    ];
    assert_eq!(done, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filtered_word_is_refused_until_it_is_taken_out() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two) = (ada.room(room_id), bob.room(room_id));
    assert!(one.filter().await.unwrap().is_none());
    one.set_filter(["coffee"]).await.unwrap();
    assert_eq!(code(&two.send("more CÓFFEE").await.unwrap_err()), ErrorCode::WordFiltered);
    assert_eq!(one.filter().await.unwrap().unwrap().words[0].word, "coffee");
    one.set_filter([]).await.unwrap();
    two.send("more coffee").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_found_and_carried_to_other_rooms() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two) = (ada.room(room_id), bob.room(room_id));
    let menu = one.send("the menu: oolong").await.unwrap();
    two.send("oolong, please").await.unwrap();
    one.pin(menu.row_key).await.unwrap();
    let texts = async |search| {
        let found = two.search(search, 10).await.unwrap();
        found.items.into_iter().map(|message| message.message).collect::<Vec<_>>()
    };
    assert_eq!(texts(Search::text("Oolong")).await, ["oolong, please", "the menu: oolong"]);
    assert_eq!(texts(Search::text("oolong").skip(1)).await, ["the menu: oolong"]);
    let from_bob = Search::default().filter(SearchFilterType::From, id_of(&bob).to_string());
    assert_eq!(texts(from_bob.filter(SearchFilterType::Pinned, "false")).await, ["oolong, please"]);
    assert_eq!(bob.sent(0, 1).await.unwrap()[0].message.message, "oolong, please");

    let other = ada.create_room("Cake").await.unwrap().room.room_id;
    let results = one.forward(menu.row_key, vec![other]).await.unwrap();
    assert_eq!(results[0].message.as_ref().unwrap().message, "the menu: oolong");
    let refused = two.forward(menu.row_key, vec![other]).await.unwrap();
    assert_eq!(refused[0].error.as_ref().unwrap().code, ErrorCode::Forbidden);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emoji_of_the_room_is_made_used_renamed_and_ended() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two) = (ada.room(room_id), bob.room(room_id));
    let emoji = one.create_emoji("parlour_tea", "image/png", PNG.into()).await.unwrap();
    let message = two.send("tea").await.unwrap();
    two.react(message.row_key, &format!("custom:{}", emoji.emoji_id)).await.unwrap();
    assert_eq!(one.rename_emoji(emoji.emoji_id, "parlour_cup").await.unwrap().name, "parlour_cup");
    assert_eq!(two.emoji().await.unwrap()[0].name, "parlour_cup");
    assert_eq!(code(&two.create_emoji("mine", "image/png", PNG.into()).await.unwrap_err()), ErrorCode::Forbidden);
    one.delete_emoji(emoji.emoji_id).await.unwrap();
    assert!(two.emoji().await.unwrap().is_empty());
    let error = one.create_emoji("Not A Name", "image/png", PNG.into()).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Invalid);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rooms_and_people_get_pictures_and_images_thumbnails() {
    let Some(real) = Real::start(&[]) else { return };
    let (ada, bob, room_id) = pair(&real).await;
    let (one, two) = (ada.room(room_id), bob.room(room_id));
    assert!(!one.set_picture("image/png", PNG.into()).await.unwrap().image.is_empty());
    let user = ada.set_picture("image/png", PNG.into()).await.unwrap();
    assert_eq!(bob.users(vec![user.user_id]).await.unwrap()[0].image, user.image);
    assert!(ada.remove_picture().await.unwrap().image.is_empty());
    assert_eq!(ada.set_biography("pours").await.unwrap().biography, "pours");

    let upload = one.upload("tea.png", "image/png", PNG.into()).await.unwrap();
    one.upload_thumbnail(&upload, WEBP.into()).await.unwrap();
    let sent = one.send("look").image(upload.file_id).await.unwrap();
    let thumbnail = two.download_thumbnail(sent.row_key, upload.file_id).await.unwrap();
    assert_eq!(thumbnail.bytes(10_000).await.unwrap(), WEBP);
    let text = one.upload("tea.txt", "text/plain", "tea".into()).await.unwrap();
    assert_eq!(code(&one.upload_thumbnail(&text, WEBP.into()).await.unwrap_err()), ErrorCode::BadRequest);
    one.discard(&text).await.unwrap();
}
