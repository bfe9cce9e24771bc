//! Who reacted with what.

use parlour_protocol::{EmojiId, RoomId, RowKey, Timestamp, UserId};
use uuid::Uuid;

use crate::store::{StoreError, db::Db};

/// A reaction and its place among those of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reacted {
    pub(crate) emoji: String,
    pub(crate) user_id: UserId,
    pub(crate) seq: u64,
    pub(crate) created_at: Timestamp,
}

/// A message's reactions after a place, first come first.
pub(crate) async fn page(
    db: &Db,
    (room_id, row_key): (RoomId, RowKey),
    emoji: Option<&str>,
    after: u64,
    limit: usize,
) -> Result<Vec<Reacted>, StoreError> {
    let sql = "select emoji, user_id, seq, created_at from reaction \
        where room_id = $1 and tick = $2 and seq > $3 and ($4 or emoji = $5) order by seq limit $6";
    let query = db.read(sql).bind(room_id).bind(row_key).bind(after).bind(emoji.is_none());
    let query = query.bind(emoji.unwrap_or_default()).bind(u64::try_from(limit).unwrap_or(u64::MAX));
    let rows: Vec<(String, Uuid, i64, i64)> = query.all().await?;
    let reacted = |(emoji, user_id, seq, created_at): (String, Uuid, i64, i64)| Reacted {
        emoji,
        user_id: UserId::from_uuid(user_id),
        seq: u64::try_from(seq).unwrap_or(0),
        created_at: Timestamp::from_millis(created_at),
    };
    Ok(rows.into_iter().map(reacted).collect())
}

/// Whether a room has a custom emoji.
pub(crate) async fn has_custom_emoji(db: &Db, room_id: RoomId, emoji_id: EmojiId) -> Result<bool, StoreError> {
    let sql = "select count(*) from emoji where room_id = $1 and emoji_id = $2";
    let (count,): (i64,) = db.read(sql).bind(room_id).bind(emoji_id.uuid()).one().await?;
    Ok(count > 0)
}
