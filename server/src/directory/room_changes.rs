//! The feed by which nodes learn that what they remember of a room has changed.

use parlour_protocol::{DurableEvent, RoomId, Timestamp, UserId};
use uuid::Uuid;

use crate::store::{
    StoreError,
    db::{Db, DbError, Tx},
};

const COUNTER: &str = "room_change";
/// Changes read at once.
const PAGE: u64 = 1000;
/// How long changes are kept, in ms.
const KEEP_MS: i64 = 3_600_000;

/// What changed of a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoomChanged {
    /// Its place in the feed.
    pub(crate) seq: i64,
    /// The room.
    pub(crate) room_id: RoomId,
    /// The member whose own settings changed; none when it may be anything.
    pub(crate) user_id: Option<UserId>,
}

/// Whether an entry of a room's log changes what nodes remember of the room.
pub(crate) fn concerns(event: &DurableEvent) -> bool {
    match event {
        DurableEvent::MessageCreated(_)
        | DurableEvent::MessageUpdated(_)
        | DurableEvent::MessageDeleted(_)
        | DurableEvent::MessagePurged(_)
        | DurableEvent::ReactionAdded(_)
        | DurableEvent::ReactionRemoved(_)
        | DurableEvent::PollVoted(_)
        | DurableEvent::EmojiCreated(_)
        | DurableEvent::EmojiUpdated(_)
        | DurableEvent::EmojiDeleted(_) => false,
        DurableEvent::RoomUpdated(_)
        | DurableEvent::RoomDeleted(_)
        | DurableEvent::MemberJoined(_)
        | DurableEvent::MemberLeft(_)
        | DurableEvent::MemberUpdated(_)
        | DurableEvent::RoleCreated(_)
        | DurableEvent::RoleUpdated(_)
        | DurableEvent::RoleDeleted(_)
        | DurableEvent::RoleAssigned(_)
        | DurableEvent::RoleRevoked(_) => true,
    }
}

/// Adds a change, as the last statements of its transaction: others wait for the counter's row until the commit.
/// A file has one node, which knows already.
pub(crate) async fn record(tx: &mut Tx, room_id: RoomId, user_id: Option<UserId>) -> Result<(), DbError> {
    if !matches!(tx, Tx::Postgres(_)) {
        return Ok(());
    }
    let now = Timestamp::now();
    let sql = "insert into meta (name, value) values ($1, '1') \
               on conflict (name) do update set value = cast(cast(meta.value as bigint) + 1 as text) returning value";
    let (seq,): (String,) = tx.query(sql).bind(COUNTER).one().await?;
    let seq: i64 = seq.parse().unwrap_or(0);
    let sql = "insert into room_change (seq, room_id, user_id, created_at) values ($1, $2, $3, $4)";
    tx.query(sql).bind(seq).bind(room_id).bind(user_id).bind(now).execute().await?;
    if seq % 100 == 0 {
        tx.query("delete from room_change where created_at < $1").bind(now.plus_millis(-KEEP_MS)).execute().await?;
    }
    Ok(())
}

/// Tells other nodes of a member's settings that were changed before.
pub(crate) async fn announce(db: &Db, room_id: RoomId, user_id: UserId) -> Result<(), StoreError> {
    if db.is_sqlite() {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    record(&mut tx, room_id, Some(user_id)).await?;
    tx.commit().await?;
    Ok(())
}

/// The end of the feed.
pub(crate) async fn head(db: &Db) -> Result<i64, DbError> {
    let row: Option<(String,)> = db.read("select value from meta where name = $1").bind(COUNTER).optional().await?;
    Ok(row.and_then(|(seq,)| seq.parse().ok()).unwrap_or(0))
}

/// Changes behind a place, oldest first.
pub(crate) async fn after(db: &Db, seq: i64) -> Result<Vec<RoomChanged>, DbError> {
    let sql = "select seq, room_id, user_id from room_change where seq > $1 order by seq limit $2";
    let rows: Vec<(i64, Uuid, Option<Uuid>)> = db.read(sql).bind(seq).bind(PAGE).all().await?;
    let change = |(seq, room_id, user_id): (i64, Uuid, Option<Uuid>)| RoomChanged {
        seq,
        room_id: RoomId::from_uuid(room_id),
        user_id: user_id.map(UserId::from_uuid),
    };
    Ok(rows.into_iter().map(change).collect())
}
