use parlour_client::{Client, RequestErrorKind, protocol::ErrorCode};

use crate::harness::Real;

async fn befriend(one: &Client, other: &Client) {
    one.request_friend(other.user().unwrap().user_id).await.unwrap();
    other.accept_friend(one.user().unwrap().user_id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_added_to_a_direct_message_and_taken_out() {
    let Some(real) = Real::start(&[]) else { return };
    let ada = real.client("ada", |builder| builder).await;
    let bob = real.client("bob", |builder| builder).await;
    let cleo = real.client("cleo", |builder| builder).await;
    let [bob_id, cleo_id] = [&bob, &cleo].map(|client| client.user().unwrap().user_id);
    befriend(&ada, &bob).await;
    let room_id = ada.open_direct_message(vec![bob_id]).await.unwrap().room.room_id;
    let room = ada.room(room_id);
    let stranger = room.add_people(vec![cleo_id]).await.unwrap_err();
    assert_eq!(stranger.kind(), RequestErrorKind::Rejected(ErrorCode::BadRequest));
    befriend(&ada, &cleo).await;
    assert_eq!(room.add_people(vec![cleo_id]).await.unwrap().participants.len(), 2);
    cleo.room(room_id).send("hello").await.unwrap();
    bob.room(room_id).remove_person(cleo_id).await.unwrap();
    assert!(cleo.room(room_id).send("still here?").await.is_err());
    assert!(cleo.direct_messages().await.unwrap().is_empty());
    bob.room(room_id).remove_person(bob_id).await.unwrap();
    room.hide().await.unwrap();
    assert!(ada.direct_messages().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_renamed_and_its_requests_are_taken_back() {
    let Some(real) = Real::start(&[]) else { return };
    let ada = real.client("ada", |builder| builder).await;
    let bob = real.client("bob", |builder| builder).await;
    let bob_id = bob.user().unwrap().user_id;
    assert_eq!(bob.rename("Robert").await.unwrap().name, "Robert");
    assert_eq!(ada.find_users("rob", 5).await.unwrap()[0].user_id, bob_id);
    ada.request_friend(bob_id).await.unwrap();
    ada.cancel_friend(bob_id).await.unwrap();
    assert!(bob.friends().await.unwrap().1.is_empty());
    assert!(ada.latest_room().await.unwrap().is_none());
    assert_eq!(
        ada.create_room("Tea").await.unwrap().room.room_id,
        ada.latest_room().await.unwrap().unwrap().room.room_id
    );
}
