//! A database that fails: nothing is half stored, nothing is told that is not stored, and order is kept.

use std::{sync::Arc, time::Duration};

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::store::{AppendError, NewMessage, RoomChange, StoreError, db::DbError};

fn is_unavailable(error: &AppendError) -> bool {
    matches!(error, AppendError::Store(StoreError::Unavailable(_)))
}

async fn a_failed_commit_stores_and_tells_nothing(mut subject: Subject) {
    let (room_id, owner) = subject.room().await;
    subject.send(room_id, owner, "before").await;
    let generation = subject.store.generation();
    // The last table that a commit writes to.
    subject.db().write("alter table member rename to elsewhere").execute().await.unwrap();
    let mut pending = Vec::new();
    for number in 0..5 {
        let new = NewMessage { nonce: Some(nonce(&number.to_string())), ..text(owner, &number.to_string()) };
        pending.push(subject.store.append(subject.change(room_id, RoomChange::Send(Box::new(new)))).await);
    }
    for outcome in pending {
        let error = outcome.await.unwrap_err();
        assert!(is_unavailable(&error), "{error:?}");
    }
    assert!(subject.store.generation() > generation);
    subject.db().write("alter table elsewhere rename to member").execute().await.unwrap();
    assert_eq!(subject.head(room_id).await.seq, 1);
    assert_eq!(subject.all(room_id).await.len(), 1);
    assert_eq!(subject.told(room_id).len(), 1);
    for number in 0..5 {
        let new = NewMessage { nonce: Some(nonce(&number.to_string())), ..text(owner, &number.to_string()) };
        let appended = subject.post(room_id, new).await.unwrap();
        assert_eq!(appended.entries[0].seq, number + 2);
    }
    let told: Vec<u64> = subject.told(room_id).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(told, [2, 3, 4, 5, 6]);
}

async fn what_was_received_before_a_failure_is_not_stored_behind_it(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let early = subject.change(room_id, RoomChange::Send(Box::new(text(owner, "second"))));
    subject.db().write("alter table member rename to elsewhere").execute().await.unwrap();
    subject.post(room_id, text(owner, "first")).await.unwrap_err();
    subject.db().write("alter table elsewhere rename to member").execute().await.unwrap();
    let error = subject.append(early).await.unwrap_err();
    assert!(is_unavailable(&error), "{error:?}");
    subject.send(room_id, owner, "first").await;
    subject.send(room_id, owner, "second").await;
    let bodies: Vec<String> = subject.all(room_id).await.into_iter().map(|message| message.message).collect();
    assert_eq!(bodies, ["second", "first"]);
}

async fn a_change_that_is_refused_leaves_its_neighbours_alone(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    // A constraint that nothing foresaw.
    let sql = "create unique index surprise on message (body)";
    subject.db().write(sql).execute().await.unwrap();
    subject.send(room_id, owner, "taken").await;
    let mut pending = Vec::new();
    for body in ["a", "taken", "b"] {
        let change = RoomChange::Send(Box::new(text(owner, body)));
        pending.push(subject.store.append(subject.change(room_id, change)).await);
    }
    let mut outcomes = Vec::new();
    for outcome in pending {
        outcomes.push(outcome.await);
    }
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
    assert!(matches!(outcomes[1], Err(AppendError::Store(StoreError::Internal(_)))), "{outcomes:?}");
    let bodies: Vec<String> = subject.all(room_id).await.into_iter().map(|message| message.message).collect();
    assert_eq!(bodies, ["b", "a", "taken"]);
    assert_eq!(subject.head(room_id).await.seq, 3);
}

async fn bl_125_a_busy_database_ends_in_stored_or_refused(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    // Somebody else holds what every commit needs.
    let mut busy = subject.db().begin().await.unwrap();
    busy.query("update room_head set active_tick = active_tick").execute().await.unwrap();
    let sends: Vec<_> = (0..200)
        .map(|number| {
            let subject = Arc::clone(&subject);
            tokio::spawn(async move { (number, subject.post(room_id, text(owner, &number.to_string())).await) })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    busy.commit().await.unwrap();
    let mut stored = Vec::new();
    for send in sends {
        match send.await.unwrap() {
            (number, Ok(_)) => stored.push(number.to_string()),
            (_, Err(error)) => assert!(is_unavailable(&error), "{error:?}"),
        }
    }
    assert_eq!(stored.len(), 200, "3 s are within what a send waits");
    let mut bodies: Vec<String> = subject.all(room_id).await.into_iter().map(|message| message.message).collect();
    bodies.sort();
    stored.sort();
    assert_eq!(bodies, stored);
    let mut subject = Arc::into_inner(subject).unwrap();
    assert_eq!(subject.told(room_id).len(), 200);
}

async fn changes_in_the_queue_are_stored_before_the_store_stops(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let mut pending = Vec::new();
    for number in 0..500 {
        let change = RoomChange::Send(Box::new(text(owner, &number.to_string())));
        pending.push(subject.store.append(subject.change(room_id, change)).await);
    }
    let subject = subject.reopen().await;
    for outcome in pending {
        outcome.await.unwrap();
    }
    assert_eq!(subject.head(room_id).await.seq, 500);
    assert_eq!(subject.all(room_id).await.len(), 500);
}

async fn the_canary_fails_with_the_store(subject: Subject) {
    subject.store.canary().await.unwrap();
    subject.store.canary().await.unwrap();
    subject.db().write("drop table meta").execute().await.unwrap();
    subject.store.canary().await.unwrap_err();
    let error = subject.db().read("select 1 from meta").execute().await.unwrap_err();
    assert!(matches!(error, DbError::Store(_)), "{error:?}");
}

conformance!(
    a_failed_commit_stores_and_tells_nothing,
    what_was_received_before_a_failure_is_not_stored_behind_it,
    a_change_that_is_refused_leaves_its_neighbours_alone,
    bl_125_a_busy_database_ends_in_stored_or_refused,
    changes_in_the_queue_are_stored_before_the_store_stops,
    the_canary_fails_with_the_store,
);
