//! Several nodes over one database.

use std::{collections::HashSet, sync::Arc};

use parlour_protocol::{RoomId, UserId};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::{
    bus::{Bus, in_process::InProcessBus},
    store::{Append, AppendError, Appended, MessageStore, RoomChange, sql::SqlStore},
};

/// Another node; none where only one process may write.
async fn node(subject: &Subject) -> Option<Arc<dyn MessageStore>> {
    let db = subject.beside().await?;
    let bus: Arc<dyn Bus> = Arc::new(InProcessBus::new());
    Some(Arc::new(SqlStore::start(db, bus, &TaskTracker::new(), CancellationToken::new())))
}

async fn post(
    store: &Arc<dyn MessageStore>,
    room_id: RoomId,
    author: UserId,
    now: i64,
    body: &str,
) -> Result<Appended, AppendError> {
    let mut new = text(author, body);
    new.nonce = Some(nonce(body));
    let change = RoomChange::Send(Box::new(new));
    store.append(Append { room_id, now, cause: None, generation: store.generation(), change }).await.await
}

async fn fifty_writers_on_two_nodes_share_one_order(subject: Subject) {
    let Some(other) = node(&subject).await else { return };
    let (room_id, owner) = subject.room().await;
    let now = subject.now();
    let mut writers = Vec::new();
    for writer in 0..50 {
        // One node is three seconds ahead of the other.
        let (store, now) = if writer % 2 == 0 { (&subject.store, now) } else { (&other, now + 3_000_000_000) };
        let store = Arc::clone(store);
        writers.push(tokio::spawn(async move {
            let mut sent = Vec::new();
            for number in 0..10 {
                let body = format!("{writer}.{number}");
                sent.push(post(&store, room_id, owner, now, &body).await.unwrap().message.unwrap());
            }
            sent
        }));
    }
    let mut all = Vec::new();
    for writer in writers {
        let sent = writer.await.unwrap();
        assert!(sent.is_sorted_by_key(|message| message.seq), "a writer's own are in its order");
        all.extend(sent);
    }
    all.sort_by_key(|message| message.seq);
    assert!(all.iter().map(|message| message.seq).eq(1..=500), "no hole, no repeat");
    assert!(all.is_sorted_by(|one, next| one.row_key.tick() < next.row_key.tick()), "row keys have the same order");
    let listed: Vec<_> = subject.all(room_id).await.into_iter().rev().map(|message| message.seq).collect();
    assert_eq!(listed, (1..=500).collect::<Vec<_>>());
}

async fn one_nonce_on_two_nodes_is_one_message(subject: Subject) {
    let Some(other) = node(&subject).await else { return };
    let (room_id, owner) = subject.room().await;
    for round in 0..20 {
        let body = format!("round {round}");
        let now = subject.now();
        let (one, two) =
            tokio::join!(post(&subject.store, room_id, owner, now, &body), post(&other, room_id, owner, now, &body));
        let row_keys: HashSet<_> = [one, two].into_iter().map(|sent| sent.unwrap().message.unwrap().row_key).collect();
        assert_eq!(row_keys.len(), 1);
    }
    assert_eq!(subject.head(room_id).await.seq, 20);
}

async fn nothing_is_sent_to_a_room_that_another_node_deletes(subject: Subject) {
    let Some(other) = node(&subject).await else { return };
    for round in 0..10 {
        let (room_id, owner) = subject.room().await;
        // Both wait for the room while somebody holds it; the deletion is first in line.
        let mut held = subject.db().begin().await.unwrap();
        held.query("update room_head set seq = seq where room_id = $1").bind(room_id).execute().await.unwrap();
        let deletion = subject.store.append(subject.change(room_id, RoomChange::DeleteRoom { by: owner })).await;
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        let now = subject.now();
        let node = Arc::clone(&other);
        let sending = tokio::spawn(async move { post(&node, room_id, owner, now, "late").await });
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        held.commit().await.unwrap();
        deletion.await.unwrap();
        let outcome = sending.await.unwrap();
        assert!(matches!(outcome, Err(AppendError::NoAccess)), "{round}: {outcome:?}");
    }
}

conformance!(
    fifty_writers_on_two_nodes_share_one_order,
    one_nonce_on_two_nodes_is_one_message,
    nothing_is_sent_to_a_room_that_another_node_deletes,
);
