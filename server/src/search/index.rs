//! The index of messages, written behind them: a send pays nothing for it. A room's row of `search_head` says up to
//! which message, and up to which change, it is taken in; whoever moves it writes the entries in the same commit.

use std::time::{Duration, Instant};

use parlour_protocol::{
    MessageType, RoomId,
    object::{File, Poll},
};
use sqlx::AssertSqlSafe;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::words::{Word, text_of_html, words};
use crate::store::{
    StoreError,
    db::{Db, DbError, Tx, list},
};

/// Messages of one step.
const STEP: usize = 256;
/// Longest that a search waits for the index.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks at what is behind.
const PAUSE: Duration = Duration::from_secs(2);
/// Changes in that time above which the index waits.
const BUSY: i64 = 100;
/// Looks that it waits at most.
const WAITS: u32 = 30;
/// Rooms of one look.
const ROOMS: u64 = 50;
/// The last position of a tsvector.
const LAST_POSITION: usize = 16_383;

/// The index.
#[derive(Debug, Clone)]
pub(crate) struct SearchIndex {
    db: Db,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    seq: i64,
    tick: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    tick: i64,
    r#type: String,
    user_id: Option<Uuid>,
    body: String,
    files: Option<String>,
    poll: Option<String>,
    deleted_at: Option<i64>,
}

/// A message as it is indexed.
struct Entry {
    tick: i64,
    user_id: Option<Uuid>,
    words: Vec<Word>,
}

const COLUMNS: &str = "m.tick, m.type, m.user_id, m.body, m.files, m.poll, m.deleted_at";

impl Row {
    /// None for what is not searched.
    fn entry(self) -> Option<Entry> {
        let kind = MessageType::parse(&self.r#type).filter(|kind| kind.counts_as_unread())?;
        if self.deleted_at.is_some() {
            return None;
        }
        let mut text = if kind.is_markup() { text_of_html(&self.body) } else { self.body };
        let files: Vec<File> = self.files.and_then(|files| serde_json::from_str(&files).ok()).unwrap_or_default();
        let poll: Option<Poll> = self.poll.and_then(|poll| serde_json::from_str(&poll).ok());
        let asked = poll.iter().flat_map(|poll| {
            std::iter::once(poll.question.as_str()).chain(poll.options.iter().map(|option| option.label.as_str()))
        });
        for part in files.iter().map(|file| file.filename.as_str()).chain(asked) {
            text.push('\n');
            text.push_str(part);
        }
        Some(Entry { tick: self.tick, user_id: self.user_id, words: words(&text) })
    }
}

impl SearchIndex {
    pub(crate) fn new(db: Db) -> Self {
        Self { db }
    }

    /// Takes in everything that rooms have had up to now.
    pub(crate) async fn catch_up(&self, room_ids: &[RoomId]) -> Result<(), StoreError> {
        let begun = Instant::now();
        for room_ids in room_ids.chunks(256) {
            for room_id in self.behind(Some(room_ids)).await? {
                while !self.step(room_id).await? {
                    if begun.elapsed() > PATIENCE {
                        return Err(StoreError::Unavailable("the search index is being built".into()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Keeps the index near, as long as the database has nothing better to do.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let (mut last, mut waits) = (0, 0);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
            if let Err(error) = self.look(&mut last, &mut waits, &stop).await {
                tracing::warn!(%error, "the search index falls behind");
            }
        }
    }

    async fn look(&self, last: &mut i64, waits: &mut u32, stop: &CancellationToken) -> Result<(), StoreError> {
        let sql = "select cast(coalesce(sum(seq), 0) as bigint) from room_head";
        let (changes,): (i64,) = self.db.read(sql).one().await?;
        let is_busy = changes - std::mem::replace(last, changes) > BUSY;
        if is_busy && *waits < WAITS {
            *waits += 1;
            return Ok(());
        }
        *waits = if is_busy { *waits } else { 0 };
        self.forget_deleted_rooms().await?;
        for room_id in self.behind(None).await? {
            // When it is busy all the time: one step a look.
            while !self.step(room_id).await? && !is_busy && !stop.is_cancelled() {}
            if is_busy || stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    async fn behind(&self, room_ids: Option<&[RoomId]>) -> Result<Vec<RoomId>, StoreError> {
        let named = room_ids.map_or_else(String::new, |ids| format!("and h.room_id in {}", list(2, ids.len())));
        let sql = format!(
            "select h.room_id from room_head h left join search_head s on s.room_id = h.room_id \
             join room r on r.room_id = h.room_id \
             where r.deleted_at is null and (s.room_id is null or s.seq < h.seq or s.tick < h.tick) {named} limit $1"
        );
        let query = self.db.read(AssertSqlSafe(sql)).bind(room_ids.map_or(ROOMS, |ids| ids.len() as u64));
        let rows: Vec<(Uuid,)> = query.bind_list(room_ids.unwrap_or_default()).all().await?;
        Ok(rows.into_iter().map(|(room_id,)| RoomId::from_uuid(room_id)).collect())
    }

    /// Takes in some of what a room has had; whether that was all.
    async fn step(&self, room_id: RoomId) -> Result<bool, StoreError> {
        // First of all: what is read after it is at least as new.
        let sql = "select seq, tick, log_floor from room_head where room_id = $1";
        let head: Option<(i64, i64, i64)> = self.db.read(sql).bind(room_id).optional().await?;
        let Some((head_seq, head_tick, floor)) = head else { return Ok(true) };
        let sql = "select seq, tick from search_head where room_id = $1";
        let stored: Option<(i64, i64)> = self.db.read(sql).bind(room_id).optional().await?;
        let stored = stored.map(|(seq, tick)| Position { seq, tick });
        if stored.is_some_and(|at| at.seq >= head_seq && at.tick >= head_tick) {
            return Ok(true);
        }
        // Changes that the log does not keep any more are missing: begin again.
        let begins_again = stored.is_some_and(|at| at.seq < floor);
        let from = stored.filter(|_| !begins_again).unwrap_or(Position { seq: head_seq, tick: -1 });
        let sql =
            format!("select {COLUMNS} from message m where m.room_id = $1 and m.tick > $2 order by m.tick limit $3");
        let new: Vec<Row> =
            self.db.read(AssertSqlSafe(sql)).bind(room_id).bind(from.tick).bind(STEP as u64).all().await?;
        let has_all_new = new.len() < STEP;
        let last = new.last().map_or(from.tick, |row| row.tick);
        let mut to = Position { seq: from.seq, tick: if has_all_new { last.max(head_tick) } else { last } };
        let mut changed = Vec::new();
        if has_all_new {
            let sql = "select seq, tick from room_log where room_id = $1 and seq > $2 and seq <= $3 \
                and tick is not null order by seq limit $4";
            let query = self.db.read(sql).bind(room_id).bind(from.seq).bind(head_seq).bind(STEP as u64);
            let log: Vec<(i64, i64)> = query.all().await?;
            to.seq = if log.len() < STEP { head_seq } else { log.last().map_or(head_seq, |(seq, _)| *seq) };
            changed = log.into_iter().map(|(_, tick)| tick).filter(|tick| *tick <= from.tick).collect();
            changed.sort_unstable();
            changed.dedup();
        }
        let sql =
            format!("select {COLUMNS} from message m where m.room_id = $1 and m.tick in {}", list(2, changed.len()));
        let again: Vec<Row> = self.db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(&changed).all().await?;
        let entries: Vec<Entry> = new.into_iter().chain(again).filter_map(Row::entry).collect();
        let is_moved = self.write(room_id, stored, to, begins_again, &changed, &entries).await?;
        Ok(is_moved && has_all_new && to.seq >= head_seq)
    }

    /// Writes entries and moves the position; false when somebody else has moved it.
    async fn write(
        &self,
        room_id: RoomId,
        from: Option<Position>,
        to: Position,
        begins_again: bool,
        changed: &[i64],
        entries: &[Entry],
    ) -> Result<bool, DbError> {
        let mut tx = self.db.begin().await?;
        let moved = match from {
            None => {
                tx.query(
                    "insert into search_head (room_id, seq, tick) values ($1, $2, $3) on conflict (room_id) do nothing",
                )
                .bind(room_id)
                .bind(to.seq)
                .bind(to.tick)
                .execute()
                .await?
            }
            Some(from) => {
                tx.query("update search_head set seq = $2, tick = $3 where room_id = $1 and seq = $4 and tick = $5")
                    .bind(room_id)
                    .bind(to.seq)
                    .bind(to.tick)
                    .bind(from.seq)
                    .bind(from.tick)
                    .execute()
                    .await?
            }
        };
        if moved == 0 {
            return Ok(false);
        }
        if begins_again {
            forget_room(&mut tx, room_id).await?;
        }
        for tick in changed {
            forget(&mut tx, room_id, *tick).await?;
        }
        for entry in entries {
            insert(&mut tx, room_id, entry).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    async fn forget_deleted_rooms(&self) -> Result<(), StoreError> {
        let sql = "select s.room_id from room r join search_head s on s.room_id = r.room_id \
            where r.deleted_at is not null limit 1";
        while let Some((room_id,)) = self.db.read(sql).optional::<(Uuid,)>().await? {
            let mut tx = self.db.begin().await?;
            forget_room(&mut tx, RoomId::from_uuid(room_id)).await?;
            tx.query("delete from search_head where room_id = $1").bind(room_id).execute().await?;
            tx.commit().await?;
        }
        Ok(())
    }
}

async fn forget(tx: &mut Tx, room_id: RoomId, tick: i64) -> Result<(), DbError> {
    if matches!(tx, Tx::Sqlite(_)) {
        let sql = "delete from search_text where rowid in \
            (select entry_id from search_entry where room_id = $1 and tick = $2)";
        tx.query(sql).bind(room_id).bind(tick).execute().await?;
    }
    tx.query("delete from search_entry where room_id = $1 and tick = $2").bind(room_id).bind(tick).execute().await?;
    Ok(())
}

async fn forget_room(tx: &mut Tx, room_id: RoomId) -> Result<(), DbError> {
    if matches!(tx, Tx::Sqlite(_)) {
        let sql = "delete from search_text where rowid in (select entry_id from search_entry where room_id = $1)";
        tx.query(sql).bind(room_id).execute().await?;
    }
    tx.query("delete from search_entry where room_id = $1").bind(room_id).execute().await?;
    Ok(())
}

async fn insert(tx: &mut Tx, room_id: RoomId, entry: &Entry) -> Result<(), DbError> {
    let room = room_id.uuid().simple().to_string();
    let tokens = entry.words.iter().flatten();
    if matches!(tx, Tx::Sqlite(_)) {
        let sql = "insert into search_entry (room_id, tick, user_id) values ($1, $2, $3) returning entry_id";
        let (entry_id,): (i64,) = tx.query(sql).bind(room_id).bind(entry.tick).bind(entry.user_id).one().await?;
        let body = tokens.map(String::as_str).collect::<Vec<_>>().join(" ");
        let sql = "insert into search_text (rowid, room, body) values ($1, $2, $3)";
        tx.query(sql).bind(entry_id).bind(room).bind(body).execute().await?;
        return Ok(());
    }
    let tokens = tokens.enumerate().map(|(at, token)| format!("'{token}':{}", (at + 1).min(LAST_POSITION)));
    let document = std::iter::once(format!("'{room}'")).chain(tokens).collect::<Vec<_>>().join(" ");
    let sql = "insert into search_entry (room_id, tick, user_id, document) values ($1, $2, $3, $4::text::tsvector)";
    tx.query(sql).bind(room_id).bind(entry.tick).bind(entry.user_id).bind(document).execute().await?;
    Ok(())
}
