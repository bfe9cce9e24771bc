//! What somebody may have to be notified of, noted in the commit of the message.

use parlour_protocol::{RoomId, RowKey, Timestamp, object::Message};
use uuid::Uuid;

use super::statement::{Batch, Rows};
use crate::store::db::DbError;

static NOTES: Rows = Rows {
    names: "notification_id, room_id, tick, at",
    statement: "insert into notification (notification_id, kind, room_id, tick, due_at, created_at) \
         select v.notification_id, 0, v.room_id, v.tick, v.at, v.at from v where v.notification_id is not null",
    for_one: None,
};

/// A message that was sent.
pub(super) struct Note {
    id: Uuid,
    room_id: RoomId,
    row_key: RowKey,
    at: Timestamp,
}

/// Those of messages that people write.
pub(super) fn of<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<Note> {
    let told = messages.filter(|message| message.r#type.counts_as_unread());
    let note = |message: &Message| Note {
        id: Uuid::now_v7(),
        room_id: message.room_id,
        row_key: message.row_key,
        at: message.created_at,
    };
    told.map(note).collect()
}

/// Adds them to what a commit writes.
pub(super) async fn add<'t>(batch: Batch<'t>, notes: &[Note]) -> Result<Batch<'t>, DbError> {
    let add = batch.add(&NOTES, notes, |query, note| {
        query
            .bind(note.map(|note| note.id))
            .bind(note.map(|note| note.room_id))
            .bind(note.map(|note| note.row_key))
            .bind(note.map(|note| note.at))
    });
    add.await
}
