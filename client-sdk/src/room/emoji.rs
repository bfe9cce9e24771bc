//! A room's own emoji.

use bytes::Bytes;
use parlour_protocol::{
    EmojiId, Int, Text,
    object::CustomEmoji,
    operation::{EmojiCreate, EmojiCreateUpload, EmojiDelete, EmojiList, EmojiUpdate},
};

use super::Room;
use crate::{error::RequestError, transfer};

impl Room {
    /// Makes an emoji of an image. Its name is of `a`–`z`, digits and `_`; it is used as `custom:` and its id.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn create_emoji(&self, name: &str, mimetype: &str, image: Bytes) -> Result<CustomEmoji, RequestError> {
        let name = name.parse()?;
        let create = EmojiCreateUpload {
            room_id: self.room_id,
            mimetype: Text::new(mimetype)?,
            size: Int::new(i64::try_from(image.len()).unwrap_or(i64::MAX))?,
            nonce: None,
        };
        let upload = self.client.request(create).await?;
        transfer::put_bytes(&self.client, &upload.upload_url, mimetype, image).await?;
        let create = EmojiCreate { room_id: self.room_id, emoji_id: upload.emoji_id, name, nonce: None };
        self.client.request(create).await.map(|reply| reply.emoji)
    }

    /// The room's emoji.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn emoji(&self) -> Result<Vec<CustomEmoji>, RequestError> {
        self.client.request(EmojiList { room_id: self.room_id }).await.map(|list| list.items)
    }

    /// Gives an emoji another name.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn rename_emoji(&self, emoji_id: EmojiId, name: &str) -> Result<CustomEmoji, RequestError> {
        let update = EmojiUpdate { room_id: self.room_id, emoji_id, name: name.parse()? };
        self.client.request(update).await.map(|reply| reply.emoji)
    }

    /// Ends an emoji.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn delete_emoji(&self, emoji_id: EmojiId) -> Result<(), RequestError> {
        self.client.request(EmojiDelete { room_id: self.room_id, emoji_id }).await.map(drop)
    }
}
