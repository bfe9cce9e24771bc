use std::time::Duration;

use parlour_client::{ClientEvent, RequestErrorKind, RoomEvent, test_util::Fault};
use parlour_protocol::{
    ErrorCode, ProtocolError,
    codec::Codec,
    operation::{SessionPing, StatusGet},
};

use crate::harness::{numbers, scene, scene_with};

#[tokio::test(start_paused = true)]
async fn messagepack_carries_the_same_conversation() {
    let mut scene = scene_with(|builder| builder.codec(Codec::MessagePack)).await;
    let sent = scene.room.send("hello").await.unwrap();
    scene.server.post(scene.room_id, "hi");
    assert_eq!(scene.created(2).await, ["hello", "hi"]);
    scene.server.cut();
    scene.server.change(scene.room_id, |room| room.edit(sent.row_key, "changed"));
    scene.caught_up().await;
    assert_eq!(scene.texts().await, ["changed", "hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_over_a_reconnect() {
    let scene = scene().await;
    scene.server.script("room.list", Fault::CutBefore);
    assert_eq!(scene.client.rooms().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends_at_its_deadline() {
    let scene = scene().await;
    scene.server.set_silent(true);
    let began = tokio::time::Instant::now();
    let request = scene.client.request(parlour_protocol::operation::RoomGet { room_id: None });
    let error = request.deadline(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((error.kind(), began.elapsed().as_secs()), (RequestErrorKind::DeadlinePassed, 5));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_carries_the_servers_error() {
    let scene = scene().await;
    let users = parlour_protocol::Set::new(vec![scene.server.user()]).unwrap();
    let error = scene.client.request(StatusGet { user_ids: users }).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Rejected(ErrorCode::Unsupported));
    let refusal = ProtocolError { request_id: Some("r-1".into()), ..ProtocolError::no_access() };
    scene.server.script("room.list", Fault::Refuse(refusal));
    let error = scene.client.rooms().await.unwrap_err();
    assert_eq!(error.rejection().unwrap().request_id.as_deref(), Some("r-1"));
}

#[tokio::test(start_paused = true)]
async fn what_the_client_does_by_itself_is_not_asked_for() {
    let scene = scene().await;
    let error = scene.client.request(SessionPing {}).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_a_frame_is_refused_before_it_is_sent() {
    let scene = scene().await;
    let error = scene.room.send("\u{1F375}".repeat(10_001)).await.unwrap_err();
    assert_eq!(error.kind(), RequestErrorKind::Invalid);
    let error = scene.room.send("\u{1}".repeat(10_000)).queue().await;
    // Six bytes each in JSON: below the limit of characters, and of the frame.
    assert!(error.is_ok());
    let row_keys = scene.room.get_messages(vec![]).await.unwrap_err();
    assert_eq!(row_keys.kind(), RequestErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_told_how_much_it_missed() {
    let mut scene = scene_with(|builder| builder.event_capacity(8)).await;
    let mut slow = scene.client.events();
    for text in numbers(0..100) {
        scene.server.post(scene.room_id, &text);
        scene.created(1).await;
    }
    let ClientEvent::Lagged(count) = slow.next().await.unwrap() else { panic!("it lagged") };
    assert!(count >= 92, "{count}");
    let ClientEvent::Room { event: RoomEvent::Created { message, .. }, .. } = slow.next().await.unwrap() else {
        panic!("the newest are kept")
    };
    assert_eq!(message.message, "92");
}

#[tokio::test(start_paused = true)]
async fn lists_are_to_be_read_again_after_every_hello() {
    let scene = scene().await;
    let mut events = scene.client.events();
    scene.server.cut();
    loop {
        if let ClientEvent::Connected { user } = events.next().await.unwrap() {
            assert_eq!(user.user_id, scene.server.user());
            break;
        }
    }
}
