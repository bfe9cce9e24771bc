//! What the writer knows of rooms and members, and how it gets to know it.

use std::collections::{HashMap, HashSet};

use parlour_protocol::{RoomId, UserId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::db::{DbError, Tx, list};

/// Members that are remembered; beyond it everything is forgotten and read again.
const MEMBERS: usize = 200_000;
/// Ids of one statement.
const CHUNK: usize = 256;

/// The end of a room's log.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoomFacts {
    pub(super) seq: i64,
    /// Of the last message.
    pub(super) tick: i64,
    /// Of the last message that counts as activity.
    pub(super) active_tick: i64,
    pub(super) is_deleted: bool,
}

/// What the writer knows. Only what exists is remembered: absent rows may be made by others at any time, present ones
/// are changed by the writer alone. (On a server that several nodes write to, this lives as long as the room's lock.)
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) rooms: HashMap<RoomId, RoomFacts>,
    /// The slowmode clock of members, in ms.
    pub(super) members: HashMap<(RoomId, UserId), Option<i64>>,
}

impl Known {
    /// Reads the rooms that are not known, and locks them where others write too.
    pub(super) async fn load_rooms(
        &mut self,
        tx: &mut Tx,
        wanted: impl Iterator<Item = RoomId>,
    ) -> Result<(), DbError> {
        let missing: HashSet<RoomId> = wanted.filter(|room_id| !self.rooms.contains_key(room_id)).collect();
        let missing: Vec<RoomId> = missing.into_iter().collect();
        // The room too, so that both are read as they are when the lock is had, not as they were when it was asked for.
        let lock = if matches!(tx, Tx::Postgres(_)) { "for update of h for share of r" } else { "" };
        for room_ids in missing.chunks(CHUNK) {
            let sql = format!(
                "select h.room_id, h.seq, h.tick, h.active_tick, r.deleted_at from room_head h \
                 join room r on r.room_id = h.room_id where h.room_id in {} {lock}",
                list(1, room_ids.len())
            );
            let rows: Vec<(Uuid, i64, i64, i64, Option<i64>)> =
                tx.query(AssertSqlSafe(sql)).bind_list(room_ids).all().await?;
            self.rooms.extend(rows.into_iter().map(|(room_id, seq, tick, active_tick, deleted_at)| {
                let facts = RoomFacts { seq, tick, active_tick, is_deleted: deleted_at.is_some() };
                (RoomId::from_uuid(room_id), facts)
            }));
        }
        Ok(())
    }

    /// Reads the members that are not known.
    pub(super) async fn load_members(
        &mut self,
        tx: &mut Tx,
        wanted: impl Iterator<Item = (RoomId, UserId)>,
    ) -> Result<(), DbError> {
        let missing: HashSet<(RoomId, UserId)> = wanted.filter(|member| !self.members.contains_key(member)).collect();
        if self.members.len() + missing.len() > MEMBERS {
            self.members.clear();
        }
        let missing: Vec<(RoomId, UserId)> = missing.into_iter().collect();
        for members in missing.chunks(CHUNK) {
            // Both lists apart: the rows of other pairs are few, and harmless to know.
            let room_ids: Vec<RoomId> = members.iter().map(|(room_id, _)| *room_id).collect();
            let user_ids: Vec<UserId> = members.iter().map(|(_, user_id)| *user_id).collect();
            let sql = format!(
                "select room_id, user_id, last_message_at from member where room_id in {} and user_id in {}",
                list(1, room_ids.len()),
                list(1 + room_ids.len().next_power_of_two(), user_ids.len())
            );
            let query = tx.query(AssertSqlSafe(sql)).bind_list(&room_ids).bind_list(&user_ids);
            let rows: Vec<(Uuid, Uuid, Option<i64>)> = query.all().await?;
            self.members.extend(rows.into_iter().map(|(room_id, user_id, last_message_at)| {
                ((RoomId::from_uuid(room_id), UserId::from_uuid(user_id)), last_message_at)
            }));
        }
        Ok(())
    }
}
