//! Reading: heads, the folded log, pages of messages.

use std::collections::{HashMap, HashSet};

use parlour_protocol::{
    DurableEvent, Nonce, OptionId, RoomId, RowKey, Timestamp, UserId,
    event::{CatchUpEntry, MessageCreated, MessageDeleted, MessageUpdated},
    limits::POLL_VOTERS,
    object::{Head, Message, MessageChange, Poll},
    operation::Order,
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    moderation::REJECTED_KEPT_MS,
    row::{COLUMNS, MessageRow, Stored, unsigned},
};
use crate::store::{
    AppendError, ListQuery, LogEntry, LogRead, Origin, StoreError,
    db::{Db, DbError, list as placeholders},
};

pub(super) async fn find_nonce(
    db: &Db,
    room_id: RoomId,
    author: UserId,
    origin: Origin,
    nonce: &Nonce,
) -> Result<Option<Message>, AppendError> {
    let sql = format!(
        "select {COLUMNS} from message m where m.room_id = $1 and m.user_id = $2 and m.origin = $3 and m.nonce = $4"
    );
    let row: Option<MessageRow> = db
        .read(AssertSqlSafe(sql))
        .bind(room_id)
        .bind(author)
        .bind(origin as i64)
        .bind(nonce)
        .optional()
        .await
        .map_err(StoreError::from)?;
    let Some(Stored { message, is_deleted }) = row.map(Stored::try_from).transpose()? else {
        let sql = "select created_at from rejected_message \
            where room_id = $1 and user_id = $2 and origin = $3 and nonce = $4 and created_at > $5";
        let kept_from = Timestamp::now().plus_millis(-REJECTED_KEPT_MS);
        let query = db.read(sql).bind(room_id).bind(author).bind(origin as i64).bind(nonce).bind(kept_from);
        let rejected: Option<(i64,)> = query.optional().await.map_err(StoreError::from)?;
        return if rejected.is_some() { Err(AppendError::Rejected) } else { Ok(None) };
    };
    if is_deleted {
        return Err(AppendError::DeletedSince(message.row_key));
    }
    Ok(complete(db, room_id, vec![message]).await?.pop())
}

pub(super) async fn heads(db: &Db, room_ids: &[RoomId]) -> Result<Vec<(RoomId, Head)>, StoreError> {
    let sql = format!("select room_id, epoch, seq from room_head where room_id in {}", placeholders(1, room_ids.len()));
    let rows: Vec<(Uuid, String, i64)> = db.read(AssertSqlSafe(sql)).bind_list(room_ids).all().await?;
    let head = |(room_id, epoch, seq)| (RoomId::from_uuid(room_id), Head { epoch, seq: unsigned(seq) });
    Ok(rows.into_iter().map(head).collect())
}

/// A message that changed, and the last of its changes.
#[derive(sqlx::FromRow)]
struct ChangedRow {
    last_seq: i64,
    #[sqlx(flatten)]
    message: MessageRow,
}

/// An entry that is not about a message; the floor comes also when there is none.
#[derive(sqlx::FromRow)]
struct EntryRow {
    log_floor: i64,
    seq: Option<i64>,
    payload: Option<String>,
}

pub(super) async fn log(
    db: &Db,
    room_id: RoomId,
    after: u64,
    up_to: u64,
    max_entries: usize,
) -> Result<LogRead, StoreError> {
    let Some(missed) = up_to.checked_sub(after).filter(|missed| *missed > 0) else {
        return Ok(LogRead::Entries { entries: Vec::new(), seq: up_to });
    };
    if usize::try_from(missed).is_ok_and(|missed| missed > max_entries) {
        return Ok(LogRead::OutOfReach);
    }
    let mut entries = Vec::with_capacity(usize::try_from(missed).unwrap_or(0));
    let changed = changed_messages(db, room_id, after, up_to).await?;
    let mut stored = Vec::with_capacity(changed.len());
    for ChangedRow { last_seq, message } in changed {
        stored.push((Stored::try_from(message)?, unsigned(last_seq)));
    }
    add_votes(db, room_id, stored.iter_mut().map(|(stored, _)| &mut stored.message)).await?;
    entries.extend(stored.into_iter().filter_map(|(stored, last_seq)| fold(stored, last_seq, after)));
    // Read after the messages: as long as the floor is not above the position, nothing was missing there either.
    let others: Vec<EntryRow> = db
        .read(
            "select h.log_floor, l.seq, l.payload from room_head h \
             left join room_log l on l.room_id = h.room_id and l.seq > $2 and l.seq <= $3 and l.payload is not null \
             where h.room_id = $1",
        )
        .bind(room_id)
        .bind(after)
        .bind(up_to)
        .all()
        .await?;
    if others.first().is_none_or(|row| unsigned(row.log_floor) > after) {
        return Ok(LogRead::OutOfReach);
    }
    for row in others {
        if let (Some(seq), Some(payload)) = (row.seq, row.payload) {
            entries.extend(decode(&payload)?.map(|event| LogEntry { seq: unsigned(seq), event: event.into() }));
        }
    }
    leave_out_purged(&mut entries);
    entries.sort_unstable_by_key(|entry| entry.seq);
    Ok(LogRead::Entries { entries, seq: up_to })
}

/// What a purge names comes in no other entry.
fn leave_out_purged(entries: &mut Vec<LogEntry>) {
    let purged: HashSet<RowKey> = entries
        .iter()
        .filter_map(|entry| match &*entry.event {
            DurableEvent::MessagePurged(purged) => Some(&purged.row_keys),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    if purged.is_empty() {
        return;
    }
    entries.retain(|entry| match &*entry.event {
        DurableEvent::MessageUpdated(updated) => !purged.contains(&updated.row_key),
        DurableEvent::MessageDeleted(deleted) => !purged.contains(&deleted.row_key),
        _ => true,
    });
}

/// The messages that entries after `after` up to `up_to` are about. Those created there are the newest of the room:
/// since keys and `seq` have one order, they are found from the end without an index of `seq`.
async fn changed_messages(db: &Db, room_id: RoomId, after: u64, up_to: u64) -> Result<Vec<ChangedRow>, DbError> {
    db.read(AssertSqlSafe(changed_messages_sql())).bind(room_id).bind(after).bind(up_to).all().await
}

/// `cross join` keeps SQLite from going through the whole room to find the few messages.
fn changed_messages_sql() -> String {
    format!(
        "with entry (tick, seq) as ( \
           select n.tick, n.seq from message n where n.room_id = $1 and n.seq <= $3 and n.tick > coalesce( \
             (select o.tick from message o where o.room_id = $1 and o.seq <= $2 order by o.tick desc limit 1), -1) \
           union all \
           select l.tick, l.seq from room_log l \
             where l.room_id = $1 and l.seq > $2 and l.seq <= $3 and l.tick is not null), \
         change (tick, last_seq) as (select tick, max(seq) from entry group by tick) \
         select c.last_seq, {COLUMNS} from change c cross join message m \
         where m.room_id = $1 and m.tick = c.tick"
    )
}

/// What a reader who stopped at `after` is told of a message.
fn fold(stored: Stored, seq: u64, after: u64) -> Option<LogEntry> {
    let Stored { message, is_deleted } = stored;
    let is_new = message.seq > after;
    let (row_key, rev) = (message.row_key, message.rev);
    let event = match (is_new, is_deleted) {
        (true, true) => return None,
        (true, false) => DurableEvent::MessageCreated(Box::new(MessageCreated { message })),
        (false, true) => DurableEvent::MessageDeleted(Box::new(MessageDeleted { row_key, rev })),
        (false, false) => {
            let changes = MessageChange::Whole(Box::new(message));
            DurableEvent::MessageUpdated(Box::new(MessageUpdated { row_key, rev, changes }))
        }
    };
    Some(LogEntry { seq, event: event.into() })
}

/// The stored form of an event that is not about a message.
pub(super) fn encode(room_id: RoomId, seq: u64, event: &DurableEvent) -> String {
    super::row::to_json(&CatchUpEntry { room_id, seq, event: Some(event.clone()) })
}

/// None for an event of a newer version.
fn decode(payload: &str) -> Result<Option<DurableEvent>, StoreError> {
    let entry: CatchUpEntry = serde_json::from_str(payload)
        .map_err(|error| StoreError::Internal(format!("unreadable log entry: {error}").into()))?;
    Ok(entry.event)
}

/// What counts as a reply: the server's lines about a message name it too.
const IS_REPLY: &str = "type in ('Message', 'Poll')";

pub(super) async fn list(db: &Db, query: ListQuery) -> Result<Vec<Message>, StoreError> {
    let (direction, comparison, end) = match (query.order, query.inclusive) {
        (Order::Desc, false) => ("desc", "<", i64::MAX),
        (Order::Desc, true) => ("desc", "<=", i64::MAX),
        (Order::Asc, false) => ("asc", ">", -1),
        (Order::Asc, true) => ("asc", ">=", -1),
    };
    let pinned = if query.pinned { "and m.is_pinned" } else { "" };
    let reply =
        if query.reply_to.is_some() { format!("and m.reply_tick = $4 and m.{IS_REPLY}") } else { String::new() };
    let sql = format!(
        "select {COLUMNS} from message m where m.room_id = $1 and m.tick {comparison} $2 and m.deleted_at is null \
         {pinned} {reply} order by m.tick {direction} limit $3"
    );
    let statement = db
        .read(AssertSqlSafe(sql))
        .bind(query.room_id)
        .bind(query.from.map_or(end, RowKey::tick))
        .bind(i64::try_from(query.limit).unwrap_or(i64::MAX));
    let statement = match query.reply_to {
        Some(root) => statement.bind(root),
        None => statement,
    };
    let messages = messages(statement.all().await?)?;
    complete(db, query.room_id, messages).await
}

pub(super) async fn get(db: &Db, room_id: RoomId, row_keys: &[RowKey]) -> Result<Vec<Message>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from message m where m.room_id = $1 and m.tick in {} and m.deleted_at is null \
         order by m.tick desc",
        placeholders(2, row_keys.len())
    );
    let rows = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(row_keys).all().await?;
    complete(db, room_id, messages(rows)?).await
}

fn messages(rows: Vec<MessageRow>) -> Result<Vec<Message>, StoreError> {
    rows.into_iter().map(|row| Stored::try_from(row).map(|stored| stored.message)).collect()
}

/// Adds what does not stand in the rows of messages: counts of replies, and who voted.
async fn complete(db: &Db, room_id: RoomId, mut messages: Vec<Message>) -> Result<Vec<Message>, StoreError> {
    add_votes(db, room_id, messages.iter_mut()).await?;
    with_reply_counts(db, room_id, messages).await
}

/// Adds the votes of polls, as long as they are few enough to be shown. The tallies are counted from them then, so
/// that one reply never contradicts itself.
async fn add_votes(db: &Db, room_id: RoomId, messages: impl Iterator<Item = &mut Message>) -> Result<(), StoreError> {
    let mut polls: HashMap<i64, &mut Poll> = HashMap::new();
    for message in messages {
        let row_key = message.row_key;
        if let Some(poll) = message.poll.as_mut().filter(|poll| shows_votes(poll)) {
            polls.insert(row_key.tick(), poll);
        }
    }
    if polls.is_empty() {
        return Ok(());
    }
    let ticks: Vec<i64> = polls.keys().copied().collect();
    let sql = format!(
        "select tick, user_id, option_id from vote where room_id = $1 and tick in {}",
        placeholders(2, ticks.len())
    );
    let rows: Vec<(i64, Uuid, Uuid)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(&ticks).all().await?;
    for (tick, user_id, option_id) in rows {
        if let Some(poll) = polls.get_mut(&tick) {
            poll.votes.insert(UserId::from_uuid(user_id), OptionId::from_uuid(option_id));
        }
    }
    for poll in polls.into_values() {
        for option in &mut poll.options {
            let votes = poll.votes.values().filter(|vote| **vote == option.id).count();
            option.count = u32::try_from(votes).unwrap_or(u32::MAX);
        }
        if poll.votes.len() > POLL_VOTERS {
            poll.votes.clear();
        }
    }
    Ok(())
}

/// Whether somebody voted, and no more than are shown.
pub(super) fn shows_votes(poll: &Poll) -> bool {
    let voters: u32 = poll.options.iter().map(|option| option.count).sum();
    (1..=POLL_VOTERS).contains(&(voters as usize))
}

async fn with_reply_counts(db: &Db, room_id: RoomId, mut messages: Vec<Message>) -> Result<Vec<Message>, StoreError> {
    let keys: Vec<RowKey> = messages.iter().map(|message| message.row_key).collect();
    if keys.is_empty() {
        return Ok(messages);
    }
    let sql = format!(
        "select reply_tick, count(*) from message where room_id = $1 and reply_tick in {} and {IS_REPLY} \
         and deleted_at is null group by reply_tick",
        placeholders(2, keys.len())
    );
    let rows: Vec<(i64, i64)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(&keys).all().await?;
    let counts: HashMap<i64, i64> = rows.into_iter().collect();
    for message in &mut messages {
        let count = counts.get(&message.row_key.tick()).copied().unwrap_or(0);
        message.reply_count = u32::try_from(count).unwrap_or(u32::MAX);
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use parlour_protocol::RoomId;

    use super::*;
    use crate::store::testing::TestDb;

    #[tokio::test]
    async fn a_catch_up_looks_up_each_message() {
        let test = TestDb::sqlite().await;
        let sql = format!("explain query plan {}", changed_messages_sql());
        let query = test.db.read(AssertSqlSafe(sql)).bind(RoomId::new()).bind(1_u64).bind(2_u64);
        let plan: Vec<(i64, i64, i64, String)> = query.all().await.unwrap();
        let steps: Vec<&str> = plan.iter().map(|(.., step)| step.as_str()).collect();
        let of_message = steps.iter().find(|step| step.starts_with("SEARCH m ")).unwrap();
        assert!(of_message.ends_with("(room_id=? AND tick=?)"), "{steps:#?}");
        let of_new = steps.iter().find(|step| step.starts_with("SEARCH n ")).unwrap();
        assert!(of_new.ends_with("(room_id=? AND tick>?)"), "{steps:#?}");
    }
}
