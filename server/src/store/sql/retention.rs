//! What is not kept for ever: old log entries and the nonces of commands that create no message. Beside that, the
//! database's generation is moved on, by which a copy of it is known.

use std::time::Duration;

use parlour_protocol::{Timestamp, limits};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    moderation::REJECTED_KEPT_MS,
    row::{signed, unsigned},
};
use crate::store::{StoreError, db::Db};

/// How many log entries of a room are kept at most.
const KEPT_ENTRIES: u64 = 100_000;
/// How long a log entry is kept at most.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
const PAUSE: Duration = Duration::from_secs(60);
/// Steps between two changes of the database's generation.
const GENERATION_STEPS: u64 = 10;
/// Rooms looked at in one step.
const ROOMS: i64 = 200;
/// Rows deleted in one statement, so that nobody waits long for the writer.
const ROWS: u64 = 1_000;

/// Trims a few rooms every minute until `stop`.
pub(super) async fn run(db: Db, stop: CancellationToken) {
    let mut trimmer = Trimmer { db: db.clone(), after: Uuid::nil() };
    for step in 1_u64.. {
        tokio::select! {
            () = stop.cancelled() => return advance_generation(&db).await,
            () = tokio::time::sleep(PAUSE) => {}
        }
        if step.is_multiple_of(GENERATION_STEPS) {
            advance_generation(&db).await;
        }
        if let Err(error) = trimmer.step(Timestamp::now()).await {
            tracing::warn!(%error, "failed to trim old log entries");
        }
    }
}

/// So that a copy of the database taken now is known as one later.
async fn advance_generation(db: &Db) {
    if let Err(error) = db.advance_generation().await {
        tracing::warn!(%error, "failed to change the generation of the database");
    }
}

/// Goes round all rooms.
pub(super) struct Trimmer {
    db: Db,
    after: Uuid,
}

impl Trimmer {
    /// Looks at the next rooms.
    pub(super) async fn step(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let rooms: Vec<(Uuid, i64, i64)> = self
            .db
            .read("select room_id, seq, log_floor from room_head where room_id > $1 order by room_id limit $2")
            .bind(self.after)
            .bind(ROOMS)
            .all()
            .await?;
        let is_last = rooms.len() < usize::try_from(ROOMS).unwrap_or(0);
        self.after = rooms.last().filter(|_| !is_last).map_or(Uuid::nil(), |(room_id, ..)| *room_id);
        for (room_id, seq, floor) in rooms {
            self.trim(room_id, unsigned(seq), unsigned(floor), now).await?;
        }
        self.forget_nonces(now).await
    }

    async fn trim(&self, room_id: Uuid, seq: u64, floor: u64, now: Timestamp) -> Result<(), StoreError> {
        let oldest = now.plus_millis(-i64::try_from(KEPT_FOR.as_millis()).unwrap_or(i64::MAX));
        let (of_messages, of_others): (Option<i64>, Option<i64>) = self
            .db
            .read(
                "select (select m.seq from message m where m.room_id = $1 and m.tick < $2 order by m.tick desc limit 1), \
                 (select l.seq from room_log l where l.room_id = $1 and l.created_at < $3 order by l.seq desc limit 1)",
            )
            .bind(room_id)
            .bind(oldest.as_millis().saturating_mul(1_000_000))
            .bind(oldest)
            .one()
            .await?;
        let too_old = of_messages.max(of_others).map_or(0, unsigned);
        let target = too_old.max(seq.saturating_sub(KEPT_ENTRIES)).min(seq);
        if target > floor {
            // Before anything is deleted: a reader asks for the floor last.
            self.db
                .write("update room_head set log_floor = $2 where room_id = $1 and log_floor < $2")
                .bind(room_id)
                .bind(signed(target))
                .execute()
                .await?;
        }
        let sql = "select min(seq) from room_log where room_id = $1";
        let (first,): (Option<i64>,) = self.db.read(sql).bind(room_id).one().await?;
        let Some(first) = first.map(unsigned).filter(|first| *first <= target) else { return Ok(()) };
        self.db
            .write("delete from room_log where room_id = $1 and seq <= $2")
            .bind(room_id)
            .bind(signed(target.min(first + ROWS)))
            .execute()
            .await?;
        Ok(())
    }

    async fn forget_nonces(&self, now: Timestamp) -> Result<(), StoreError> {
        let oldest = now.plus_millis(-limits::NONCE_KEEP_MS);
        self.db
            .write(
                "delete from command_nonce where (user_id, op, nonce) in \
                 (select n.user_id, n.op, n.nonce from command_nonce n where n.created_at < $1 limit $2)",
            )
            .bind(oldest)
            .bind(signed(ROWS))
            .execute()
            .await?;
        self.db
            .write(
                "delete from rejected_message where (room_id, user_id, origin, nonce) in \
                 (select r.room_id, r.user_id, r.origin, r.nonce from rejected_message r \
                 where r.created_at < $1 limit $2)",
            )
            .bind(now.plus_millis(-REJECTED_KEPT_MS))
            .bind(signed(ROWS))
            .execute()
            .await?;
        Ok(())
    }
}
