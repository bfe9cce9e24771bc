//! What is left of deleted accounts.

use parlour_protocol::{RoomId, UserId};
use uuid::Uuid;

use crate::store::{StoreError, db::Db};

/// A deleted account that is still in a room, or somebody's friend, or blocked, or has files or jobs.
pub(crate) async fn next(db: &Db) -> Result<Option<UserId>, StoreError> {
    let sql = "select a.user_id from account a where a.is_deleted and (\
        exists (select 1 from member m join room r on r.room_id = m.room_id where m.user_id = a.user_id \
        and r.type = 'Room' and r.deleted_at is null) \
        or exists (select 1 from friendship f where f.user_low = a.user_id or f.user_high = a.user_id) \
        or exists (select 1 from friend_request f where f.user_low = a.user_id or f.user_high = a.user_id) \
        or exists (select 1 from user_block b where b.blocker_id = a.user_id or b.blocked_id = a.user_id) \
        or exists (select 1 from user_status s where s.user_id = a.user_id) \
        or exists (select 1 from job j where j.user_id = a.user_id) \
        or exists (select 1 from file f where f.user_id = a.user_id and f.kind <> 'Emoji' \
        and (f.expires_at is null or f.expires_at > 0))) limit 1";
    let row: Option<(Uuid,)> = db.read(sql).optional().await?;
    Ok(row.map(|(user_id,)| UserId::from_uuid(user_id)))
}

/// The rooms that an account is in, and whether it owns them. Direct messages are none of them.
pub(crate) async fn rooms(db: &Db, user_id: UserId) -> Result<Vec<(RoomId, bool)>, StoreError> {
    let sql = "select r.room_id, r.user_id from member m join room r on r.room_id = m.room_id \
        where m.user_id = $1 and r.type = 'Room' and r.deleted_at is null";
    let rows: Vec<(Uuid, Option<Uuid>)> = db.read(sql).bind(user_id).all().await?;
    let room = |(room_id, owner)| (RoomId::from_uuid(room_id), owner == Some(user_id.uuid()));
    Ok(rows.into_iter().map(room).collect())
}
