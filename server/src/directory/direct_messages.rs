//! Direct messages: one room for each set of people.

use parlour_protocol::{
    RoomId, Timestamp, UserId,
    object::{MimeCategory, NotificationType, RoomType},
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::store::{
    StoreError,
    db::{Db, DbError},
};

/// What names a set of people, in whatever order they come. A digest, since an index takes no longer texts.
pub(crate) fn set_key(user_ids: impl IntoIterator<Item = UserId>) -> String {
    let mut ids: Vec<Uuid> = user_ids.into_iter().map(|user_id| user_id.uuid()).collect();
    ids.sort_unstable();
    ids.dedup();
    let digest = ids.iter().fold(Sha256::new(), |digest, id| digest.chain_update(id.as_bytes())).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A direct message to be made, if there is none of these people.
pub(crate) struct NewDirectMessage<'a> {
    pub(crate) room_id: RoomId,
    pub(crate) epoch: &'a str,
    /// Who opens it.
    pub(crate) user_id: UserId,
    /// With whom.
    pub(crate) others: &'a [UserId],
}

/// What opening a direct message came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// It was made.
    New(RoomId),
    /// It was there, hidden for the one who opens it.
    Unhidden(RoomId),
    /// It was there.
    Present(RoomId),
}

impl Opened {
    pub(crate) fn room_id(self) -> RoomId {
        match self {
            Self::New(room_id) | Self::Unhidden(room_id) | Self::Present(room_id) => room_id,
        }
    }
}

/// Why a direct message was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    /// Somebody made it at the same time: open it again.
    #[error("made at the same time")]
    Raced,
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Finds the direct message of a set of people, or makes it.
pub(crate) async fn open(
    db: &Db,
    new: NewDirectMessage<'_>,
    result: impl FnOnce(RoomId) -> Option<FirstResult>,
) -> Result<Opened, OpenError> {
    let key = set_key(new.others.iter().copied().chain([new.user_id]));
    let mut tx = db.begin().await?;
    let sql = "select room_id from room where participant_key = $1";
    let found: Option<(Uuid,)> = tx.query(sql).bind(&key).optional().await?;
    let opened = match found {
        Some((room_id,)) => {
            let room_id = RoomId::from_uuid(room_id);
            let sql = "update member set is_hidden = false where room_id = $1 and user_id = $2 and is_hidden";
            let unhidden = tx.query(sql).bind(room_id).bind(new.user_id).execute().await? > 0;
            if unhidden { Opened::Unhidden(room_id) } else { Opened::Present(room_id) }
        }
        None => Opened::New(new.room_id),
    };
    nonces::remember(&mut tx, result(opened.room_id())).await.map_err(|error| match error {
        DbError::Unique => OpenError::Repeat,
        error => error.into(),
    })?;
    if let Opened::New(room_id) = opened {
        let now = Timestamp::now();
        tx.query(
            "insert into room (room_id, type, name, topic, image, user_id, is_read_only, is_invite_paused, \
             allowed_mime_categories, participant_key, created_at, updated_at) \
             values ($1, $2, '', '', '', null, false, false, $3, $4, $5, $5)",
        )
        .bind(room_id)
        .bind(RoomType::DirectMessage.as_str())
        .bind(serde_json::to_string(MimeCategory::ALL).unwrap_or_default())
        .bind(&key)
        .bind(now)
        .execute()
        .await
        .map_err(|error| match error {
            DbError::Unique => OpenError::Raced,
            error => error.into(),
        })?;
        tx.query("insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, $2, 0, 0, $3)")
            .bind(room_id)
            .bind(new.epoch)
            .bind(now.as_millis().saturating_mul(1_000_000))
            .execute()
            .await?;
        for user_id in new.others.iter().copied().chain([new.user_id]) {
            tx.query(
                "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
                 values ($1, $2, '', $3, false, $4)",
            )
            .bind(room_id)
            .bind(user_id)
            .bind(NotificationType::DirectMessage.as_str())
            .bind(now)
            .execute()
            .await?;
        }
    }
    tx.commit().await?;
    Ok(opened)
}

/// Hides a direct message for one of its people; false when it was hidden.
pub(crate) async fn hide(db: &Db, room_id: RoomId, user_id: UserId) -> Result<bool, StoreError> {
    let sql = "update member set is_hidden = true where room_id = $1 and user_id = $2 and not is_hidden";
    Ok(db.write(sql).bind(room_id).bind(user_id).execute().await? > 0)
}

/// Whether anybody in a room has a block, either way, with one of these users.
pub(crate) async fn has_block_with(db: &Db, room_id: RoomId, user_ids: &[UserId]) -> Result<bool, StoreError> {
    for user_id in user_ids {
        if super::blocks::stands_in_room(db, room_id, *user_id).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_one_key_in_whatever_order_its_people_come() {
        let (ada, bob, cid) = (UserId::new(), UserId::new(), UserId::new());
        assert_eq!(set_key([ada, bob]), set_key([bob, ada, bob]));
        assert_ne!(set_key([ada, bob]), set_key([ada, bob, cid]));
        assert_ne!(set_key([ada, bob]), set_key([ada, cid]));
    }
}
