//! Custom emoji.

use parlour_protocol::{EmojiId, RoomId, Timestamp, UserId, object::CustomEmoji};
use uuid::Uuid;

use crate::store::{StoreError, db::Db};

type EmojiRow = (Uuid, Uuid, String, Uuid, String, i64);

/// A room's emoji by name.
pub(crate) async fn of_room(db: &Db, room_id: RoomId) -> Result<Vec<CustomEmoji>, StoreError> {
    let sql =
        "select emoji_id, room_id, name, user_id, mimetype, created_at from emoji where room_id = $1 order by name";
    let rows: Vec<EmojiRow> = db.read(sql).bind(room_id).all().await?;
    let emoji = |(emoji_id, room_id, name, user_id, mimetype, created_at)| CustomEmoji {
        emoji_id: EmojiId::from_uuid(emoji_id),
        room_id: RoomId::from_uuid(room_id),
        name,
        user_id: UserId::from_uuid(user_id),
        mimetype,
        created_at: Timestamp::from_millis(created_at),
        url: String::new(),
        url_expires_at: None,
    };
    Ok(rows.into_iter().map(emoji).collect())
}
