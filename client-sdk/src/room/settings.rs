//! A room's settings and its picture.

use std::time::Duration;

use bytes::Bytes;
use parlour_protocol::{Int, Name, Patch, Text, operation::RoomUpdate};

use super::Room;
use crate::{error::RequestError, transfer};

/// What to change of a room; the rest stays.
#[derive(Debug, Clone, Default)]
pub struct RoomChange {
    /// Its name.
    pub name: Option<String>,
    /// Its topic.
    pub topic: Patch<String>,
    /// The address of its picture: see [`Room::set_picture`].
    pub image: Patch<String>,
    /// Whether only moderators write.
    pub is_read_only: Option<bool>,
    /// Whether invites are out of use.
    pub is_invite_paused: Option<bool>,
    /// The time between two messages of one member.
    pub slowmode: Patch<Duration>,
}

impl Room {
    /// Changes the room's settings.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn update(&self, change: RoomChange) -> Result<parlour_protocol::object::Room, RequestError> {
        let RoomChange { name, topic, image, is_read_only, is_invite_paused, slowmode } = change;
        let update = RoomUpdate {
            room_id: self.room_id,
            name: name.map(Name::new).transpose()?,
            topic: try_patch(topic, Text::new)?,
            image: try_patch(image, Text::new)?,
            is_read_only,
            is_invite_paused,
            slowmode_ms: try_patch(slowmode, |time| Int::new(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))?,
            max_file_size_bytes: Patch::Keep,
            allowed_mime_categories: None,
        };
        self.client.request(update).await.map(|reply| reply.room)
    }

    /// Gives the room a picture.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_picture(
        &self,
        mimetype: &str,
        image: Bytes,
    ) -> Result<parlour_protocol::object::Room, RequestError> {
        let image = transfer::public_image(&self.client, Some(self.room_id), mimetype, image).await?;
        self.update(RoomChange { image: Patch::Set(image), ..RoomChange::default() }).await
    }
}

/// Checks the value of a change, if there is one.
pub(crate) fn try_patch<T, U, E>(patch: Patch<T>, check: impl FnOnce(T) -> Result<U, E>) -> Result<Patch<U>, E> {
    Ok(match patch {
        Patch::Keep => Patch::Keep,
        Patch::Clear => Patch::Clear,
        Patch::Set(value) => Patch::Set(check(value)?),
    })
}
