//! What is removed in the background: all of a deleted room, and the messages of those who were banned softly.
//!
//! Each is a row of `purge`, written in the commit that caused it and deleted when all is done. The work goes in small
//! batches, each of which removes what it finds: begun anew after a crash, it goes on where it was.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parlour_protocol::{RoomId, RowKey, UserId};
use sqlx::AssertSqlSafe;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::writer::Queued;
use crate::{
    clock,
    store::{Append, AppendError, Purge, RoomChange, StoreError, db::Db},
};

/// Messages of one `message.purged`.
const BATCH: u64 = 100;
/// Rows that one statement deletes, so that nobody waits long for the writer.
const ROWS: u64 = 500;
/// Between two looks when nobody calls.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Where a deleted room has rows, with the columns that name one.
const TABLES: &[(&str, &str)] = &[
    ("mention", "room_id, kind, target, tick"),
    ("reaction", "room_id, tick, emoji, user_id"),
    ("vote", "room_id, tick, user_id"),
    ("thread_follow", "room_id, user_id, tick"),
    ("message", "room_id, tick"),
    ("moderation_log", "log_entry_id"),
    ("moderation_note", "note_id"),
    ("rejected_message", "room_id, user_id, origin, nonce"),
    ("room_filter", "room_id"),
];

pub(super) struct Purger {
    pub(super) db: Db,
    pub(super) queue: mpsc::Sender<Queued>,
    pub(super) generation: Arc<AtomicU64>,
    /// Called when something is put down.
    pub(super) called: Arc<Notify>,
}

impl Purger {
    /// Purges until `stop`.
    pub(super) async fn run(self, stop: CancellationToken) {
        let work = async {
            loop {
                let wait = match self.purge_next().await {
                    Ok(true) => continue,
                    Ok(false) => LOOK_EVERY,
                    Err(error) => {
                        tracing::warn!(%error, "a purge waits for the store");
                        PAUSE_AFTER_FAILURE
                    }
                };
                tokio::select! {
                    () = self.called.notified() => {}
                    () = time::sleep(wait) => {}
                }
            }
        };
        stop.run_until_cancelled(work).await;
    }

    /// Does the oldest purge; false when there is none.
    async fn purge_next(&self) -> Result<bool, StoreError> {
        let sql = "select purge_id, room_id, user_id, up_to from purge order by created_at, purge_id limit 1";
        let row: Option<(Uuid, Uuid, Option<Uuid>, i64)> = self.db.read(sql).optional().await?;
        let Some((purge_id, room_id, user_id, up_to)) = row else { return Ok(false) };
        let room_id = RoomId::from_uuid(room_id);
        match user_id.map(UserId::from_uuid) {
            Some(user_id) => self.purge_messages(room_id, user_id, up_to).await?,
            // The whole room.
            None => self.purge_room(room_id).await?,
        }
        self.db.write("delete from purge where purge_id = $1").bind(purge_id).execute().await?;
        tracing::debug!(room.id = %room_id, "a purge is done");
        Ok(true)
    }

    /// Ends a user's messages, newest first.
    async fn purge_messages(&self, room_id: RoomId, user_id: UserId, mut up_to: i64) -> Result<(), StoreError> {
        let sql = "select tick from message where room_id = $1 and tick <= $2 and user_id = $3 \
            and type in ('Message', 'Poll') and deleted_at is null order by tick desc limit $4";
        loop {
            let query = self.db.read(sql).bind(room_id).bind(up_to).bind(user_id).bind(BATCH);
            let ticks: Vec<(i64,)> = query.all().await?;
            let Some((last,)) = ticks.last() else { return Ok(()) };
            up_to = last - 1;
            let row_keys = ticks.iter().map(|(tick,)| RowKey::from_tick(*tick)).collect();
            match self.append(room_id, RoomChange::Purge(Purge { row_keys })).await {
                Ok(()) => {}
                // The room was deleted meanwhile, and is purged for itself.
                Err(AppendError::NoAccess) => return Ok(()),
                Err(AppendError::Store(error)) => return Err(error),
                Err(error) => return Err(StoreError::Internal(error.to_string().into())),
            }
        }
    }

    async fn append(&self, room_id: RoomId, change: RoomChange) -> Result<(), AppendError> {
        let gone = || StoreError::Unavailable("the store has stopped".into());
        let generation = self.generation.load(Ordering::Acquire);
        let append = Append { room_id, now: clock::now_nanos(), cause: None, generation, change };
        let (answer, pending) = oneshot::channel();
        self.queue.send(Queued { append, answer }).await.map_err(|_| gone())?;
        pending.await.map_err(|_| gone())?.map(drop)
    }

    /// Removes all rows of a room but the one that says that it was there, and the entry that says that it ended: who
    /// is behind still reads that.
    async fn purge_room(&self, room_id: RoomId) -> Result<(), StoreError> {
        let sql = "update room_head set log_floor = seq - 1 where room_id = $1 and log_floor < seq - 1";
        self.db.write(sql).bind(room_id).execute().await?;
        let of_log = "delete from room_log where room_id = $1 and seq in (select l.seq from room_log l \
            join room_head h on h.room_id = l.room_id where l.room_id = $1 and l.seq <= h.log_floor limit $2)";
        let of_table = |(table, key): &(&str, &str)| {
            format!(
                "delete from {table} where room_id = $1 and ({key}) in (select {key} from {table} \
                 where room_id = $1 limit $2)"
            )
        };
        for sql in std::iter::once(of_log.to_owned()).chain(TABLES.iter().map(of_table)) {
            while self.db.write(AssertSqlSafe(sql.clone())).bind(room_id).bind(ROWS).execute().await? > 0 {
                tokio::task::yield_now().await;
            }
        }
        let sql = "update room set name = '', topic = '', image = '' where room_id = $1";
        self.db.write(sql).bind(room_id).execute().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::TestDb;

    /// Removed at once with the room, kept to tell that it was there, or removed by those who keep them.
    const ELSEWHERE: &[&str] = &[
        "room",
        "room_head",
        "room_log",
        "room_change",
        "job",
        "notification",
        "member",
        "member_role",
        "role",
        "ban",
        "invite",
        "purge",
        "file",
        "emoji",
        "webhook",
        "search_entry",
        "search_head",
    ];

    #[tokio::test]
    async fn no_table_of_rooms_is_forgotten() {
        let test = TestDb::sqlite().await;
        let sql = "select m.name from sqlite_master m where m.type = 'table' \
            and exists (select 1 from pragma_table_info(m.name) c where c.name = 'room_id')";
        let tables: Vec<(String,)> = test.db.read(sql).all().await.unwrap();
        assert!(tables.len() > TABLES.len());
        for (table,) in tables {
            let is_purged = TABLES.iter().any(|(purged, _)| *purged == table);
            assert!(is_purged != ELSEWHERE.contains(&table.as_str()), "what of {table} when its room is deleted?");
        }
    }
}
