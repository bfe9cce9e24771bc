//! Threads that users follow.

use parlour_protocol::{RoomId, RowKey, Timestamp, UserId, limits::FOLLOWED_THREADS};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::{
    StoreError,
    db::{Db, list},
};

/// Follows a thread, or decides not to.
pub(crate) async fn decide(
    db: &Db,
    user_id: UserId,
    (room_id, root): (RoomId, RowKey),
    is_unfollowed: bool,
) -> Result<(), StoreError> {
    let sql = "insert into thread_follow (room_id, user_id, tick, is_unfollowed, followed_at) \
        values ($1, $2, $3, $4, $5) on conflict (room_id, user_id, tick) do update set \
        followed_at = case when thread_follow.is_unfollowed then excluded.followed_at \
        else thread_follow.followed_at end, is_unfollowed = excluded.is_unfollowed";
    let query = db.write(sql).bind(room_id).bind(user_id).bind(root).bind(is_unfollowed);
    query.bind(Timestamp::now()).execute().await?;
    Ok(())
}

/// The roots of the threads that a user follows, newest follow first, deleted ones included.
pub(crate) async fn followed(db: &Db, user_id: UserId, room_id: RoomId) -> Result<Vec<RowKey>, StoreError> {
    let sql = "select tick from thread_follow where room_id = $1 and user_id = $2 and is_unfollowed = $3 \
        order by followed_at desc, tick desc limit $4";
    let query = db.read(sql).bind(room_id).bind(user_id).bind(false).bind(FOLLOWED_THREADS as u64);
    let rows: Vec<(i64,)> = query.all().await?;
    Ok(rows.into_iter().map(|(tick,)| RowKey::from_tick(tick)).collect())
}

/// Who answered in a thread, and their latest reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replier {
    pub(crate) root: RowKey,
    pub(crate) user_id: UserId,
    pub(crate) latest: RowKey,
}

/// The repliers of threads, latest first.
pub(crate) async fn repliers(db: &Db, room_id: RoomId, roots: &[RowKey]) -> Result<Vec<Replier>, StoreError> {
    let sql = format!(
        "select reply_tick, user_id, max(tick) from message where room_id = $1 and reply_tick in {} \
         and type in ('Message', 'Poll') and deleted_at is null and user_id is not null \
         group by reply_tick, user_id order by 3 desc",
        list(2, roots.len())
    );
    let rows: Vec<(i64, Uuid, i64)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(roots).all().await?;
    let replier = |(root, user_id, latest)| Replier {
        root: RowKey::from_tick(root),
        user_id: UserId::from_uuid(user_id),
        latest: RowKey::from_tick(latest),
    };
    Ok(rows.into_iter().map(replier).collect())
}
