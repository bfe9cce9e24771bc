//! Who has blocked whom.

use std::{fmt, str::FromStr};

use parlour_protocol::{InvalidValue, RoomId, Timestamp, UserId};
use uuid::Uuid;

use super::{
    account_changes,
    friends::{FriendError, Pair},
};
use crate::store::{
    StoreError,
    db::{Db, DbError, Tx},
};

/// Whether one of two users has blocked the other.
pub(super) async fn is_between(tx: &mut Tx, one: UserId, other: UserId) -> Result<bool, DbError> {
    let sql = "select count(*) from user_block \
        where (blocker_id = $1 and blocked_id = $2) or (blocker_id = $2 and blocked_id = $1)";
    let (count,): (i64,) = tx.query(sql).bind(one).bind(other).one().await?;
    Ok(count > 0)
}

/// Whether a user has blocked anybody in a room, or is blocked by anybody there.
pub(crate) async fn stands_in_room(db: &Db, room_id: RoomId, user_id: UserId) -> Result<bool, StoreError> {
    let sql = "select count(*) from member m where m.room_id = $1 and m.user_id <> $2 and exists (\
        select 1 from user_block b where (b.blocker_id = m.user_id and b.blocked_id = $2) \
        or (b.blocker_id = $2 and b.blocked_id = m.user_id))";
    let (count,) = db.read(sql).bind(room_id).bind(user_id).one::<(i64,)>().await?;
    Ok(count > 0)
}

/// Blocks a user and ends what was between the two; whether a friendship was, and whether the block is new.
pub(crate) async fn add(db: &Db, blocker: UserId, blocked: UserId, most: u32) -> Result<(bool, bool), FriendError> {
    let pair = Pair::of(blocker, blocked);
    let mut tx = db.begin().await?;
    if !pair.lock(&mut tx).await? {
        return Err(FriendError::NoUser);
    }
    let now = Timestamp::now();
    let sql = "select count(*), coalesce(sum(case when blocked_id = $2 then 1 else 0 end), 0) \
        from user_block where blocker_id = $1";
    let (count, is_blocked): (i64, i64) = tx.query(sql).bind(blocker).bind(blocked).one().await?;
    if is_blocked > 0 {
        return Ok((false, false));
    }
    if count >= i64::from(most) {
        return Err(FriendError::Refused("you have blocked too many already"));
    }
    let sql = "insert into user_block (blocker_id, blocked_id, created_at) values ($1, $2, $3)";
    tx.query(sql).bind(blocker).bind(blocked).bind(now).execute().await?;
    let sql = "delete from friend_request where user_low = $1 and user_high = $2";
    tx.query(sql).bind(pair.low).bind(pair.high).execute().await?;
    let sql = "delete from friendship where user_low = $1 and user_high = $2";
    let were_friends = tx.query(sql).bind(pair.low).bind(pair.high).execute().await? > 0;
    record(&mut tx, pair, now).await?;
    tx.commit().await?;
    Ok((were_friends, true))
}

/// Ends a block; false when there was none.
pub(crate) async fn remove(db: &Db, blocker: UserId, blocked: UserId) -> Result<bool, DbError> {
    let mut tx = db.begin().await?;
    let sql = "delete from user_block where blocker_id = $1 and blocked_id = $2";
    if tx.query(sql).bind(blocker).bind(blocked).execute().await? == 0 {
        return Ok(false);
    }
    record(&mut tx, Pair::of(blocker, blocked), Timestamp::now()).await?;
    tx.commit().await?;
    Ok(true)
}

/// Makes every process forget what it knew of the two.
async fn record(tx: &mut Tx, pair: Pair, now: Timestamp) -> Result<(), DbError> {
    account_changes::record(tx, pair.low, None, false, now).await?;
    account_changes::record(tx, pair.high, None, false, now).await
}

/// A block's place in the list of a user's blocks, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPosition {
    pub(crate) created_at: Timestamp,
    pub(crate) user_id: UserId,
}

impl fmt::Display for BlockPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.created_at.as_millis(), self.user_id)
    }
}

impl FromStr for BlockPosition {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (created_at, user_id) = text.split_once(' ').unwrap_or_default();
        let created_at = Timestamp::from_millis(created_at.parse().unwrap_or(0));
        Ok(Self { created_at, user_id: user_id.parse()? })
    }
}

/// A page of whom a user has blocked.
pub(crate) async fn page(
    db: &Db,
    blocker: UserId,
    after: Option<BlockPosition>,
    limit: usize,
) -> Result<Vec<BlockPosition>, StoreError> {
    let sql = "select blocked_id, created_at from user_block where blocker_id = $1 \
        and ($2 or created_at < $3 or (created_at = $3 and blocked_id < $4)) \
        order by created_at desc, blocked_id desc limit $5";
    let position = after
        .unwrap_or(BlockPosition { created_at: Timestamp::from_millis(0), user_id: UserId::from_uuid(Uuid::nil()) });
    let rows: Vec<(Uuid, i64)> = db
        .read(sql)
        .bind(blocker)
        .bind(after.is_none())
        .bind(position.created_at)
        .bind(position.user_id)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all()
        .await?;
    let position = |(user_id, created_at)| BlockPosition {
        created_at: Timestamp::from_millis(created_at),
        user_id: UserId::from_uuid(user_id),
    };
    Ok(rows.into_iter().map(position).collect())
}
