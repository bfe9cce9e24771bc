//! A nonce makes a message once, for ever.

use std::sync::Arc;

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::store::{AppendError, NewMessage, Origin};

fn with_nonce(new: NewMessage, text: &str) -> NewMessage {
    NewMessage { nonce: Some(nonce(text)), ..new }
}

async fn a_repeat_answers_the_first_result(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let first = subject.post(room_id, with_nonce(text(owner, "once"), "n")).await.unwrap();
    let sent = first.message.unwrap();
    for round in 0..2 {
        let again = subject.post(room_id, with_nonce(text(owner, "twice"), "n")).await.unwrap();
        assert!(again.entries.is_empty(), "round {round}");
        assert_eq!(again.message.unwrap(), sent);
    }
    subject.edit(room_id, sent.row_key, "edited").await.unwrap();
    let again = subject.post(room_id, with_nonce(text(owner, "twice"), "n")).await.unwrap();
    assert_eq!(again.message.unwrap().message, "edited", "the present state");
    assert_eq!(subject.all(room_id).await.len(), 1);
    assert_eq!(subject.head(room_id).await.seq, 2);
    let found = subject.store.find_nonce(room_id, owner, Origin::Live, &nonce("n")).await.unwrap();
    assert_eq!(found.unwrap().row_key, sent.row_key);
    let other = subject.store.find_nonce(room_id, owner, Origin::Job, &nonce("n")).await.unwrap();
    assert_eq!(other, None);
}

async fn a_repeat_after_a_restart_answers_the_first_result(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let sent = subject.post(room_id, with_nonce(text(owner, "once"), "n")).await.unwrap().message.unwrap();
    let subject = subject.reopen().await;
    let again = subject.post(room_id, with_nonce(text(owner, "once"), "n")).await.unwrap();
    assert_eq!(again.message.unwrap(), sent);
    assert_eq!(subject.head(room_id).await.seq, 1);
}

async fn a_repeat_of_a_deleted_message_names_it(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let sent = subject.post(room_id, with_nonce(text(owner, "once"), "n")).await.unwrap().message.unwrap();
    subject.delete(room_id, sent.row_key).await.unwrap();
    let again = subject.post(room_id, with_nonce(text(owner, "once"), "n")).await;
    assert!(matches!(again, Err(AppendError::DeletedSince(row_key)) if row_key == sent.row_key), "{again:?}");
    let found = subject.store.find_nonce(room_id, owner, Origin::Live, &nonce("n")).await;
    assert!(matches!(found, Err(AppendError::DeletedSince(row_key)) if row_key == sent.row_key), "{found:?}");
}

async fn a_repeat_is_answered_whatever_stands_in_the_way(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    let slow = NewMessage { slowmode_ms: Some(60_000), ..with_nonce(text(guest, "once"), "n") };
    let sent = subject.post(room_id, slow.clone()).await.unwrap().message.unwrap();
    let again = subject.post(room_id, slow.clone()).await.unwrap();
    assert_eq!(again.message.unwrap(), sent, "not slowmode");
    let leave = crate::store::RoomChange::Leave {
        user_id: guest,
        reason: parlour_protocol::event::LeaveReason::Left,
        by: None,
        line: "left".to_owned(),
    };
    subject.apply(room_id, leave).await.unwrap();
    let again = subject.post(room_id, slow).await.unwrap();
    assert_eq!(again.message.unwrap(), sent, "not a member any more");
    let fresh = subject.post(room_id, with_nonce(text(guest, "new"), "m")).await;
    assert!(matches!(fresh, Err(AppendError::NoAccess)), "{fresh:?}");
    subject.send(room_id, owner, "still here").await;
}

async fn nonces_of_other_rooms_authors_and_origins_do_not_meet(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (other_room, other_owner) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    let before = subject.all(room_id).await.len();
    for new in [
        text(owner, "1"),
        text(guest, "2"),
        NewMessage { origin: Origin::Job, ..text(owner, "3") },
        NewMessage { origin: Origin::Forward, ..text(owner, "4") },
    ] {
        let appended = subject.post(room_id, with_nonce(new, "same")).await.unwrap();
        assert_eq!(appended.entries.len(), 1);
    }
    assert_eq!(subject.all(room_id).await.len(), before + 4);
    subject.post(other_room, with_nonce(text(other_owner, "5"), "same")).await.unwrap();
    assert_eq!(subject.all(other_room).await.len(), 1);
}

async fn repeats_at_the_same_time_make_one_message(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    for round in 0..20 {
        let sends: Vec<_> = (0..8)
            .map(|copy| {
                let subject = Arc::clone(&subject);
                tokio::spawn(async move {
                    // Other messages in between, so that copies fall into different groups.
                    let new = with_nonce(text(owner, "same"), &format!("round {round}"));
                    let sent = subject.post(room_id, new).await.unwrap().message.unwrap();
                    subject.send(room_id, owner, &format!("{round} {copy}")).await;
                    sent.row_key
                })
            })
            .collect();
        let mut keys = Vec::new();
        for send in sends {
            keys.push(send.await.unwrap());
        }
        keys.dedup();
        assert_eq!(keys.len(), 1, "round {round}");
    }
    assert_eq!(subject.all(room_id).await.len(), 20 * 9);
    assert_eq!(subject.head(room_id).await.seq, 20 * 9);
}

conformance!(
    a_repeat_answers_the_first_result,
    a_repeat_after_a_restart_answers_the_first_result,
    a_repeat_of_a_deleted_message_names_it,
    a_repeat_is_answered_whatever_stands_in_the_way,
    nonces_of_other_rooms_authors_and_origins_do_not_meet,
    repeats_at_the_same_time_make_one_message,
);
