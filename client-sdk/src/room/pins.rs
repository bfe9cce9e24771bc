//! Pinned messages, and what can be taken off a message.

use parlour_protocol::{
    FileId, RowKey,
    object::Message,
    operation::{FileDelete, MessageList, MessagePin, MessageUnpin, PreviewDelete, RevReply},
};

use super::{Room, page_limit};
use crate::error::RequestError;

impl Room {
    /// Pins a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn pin(&self, row_key: RowKey) -> Result<RevReply, RequestError> {
        self.client.request(MessagePin { room_id: self.room_id, row_key }).await
    }

    /// Takes a pin away.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn unpin(&self, row_key: RowKey) -> Result<RevReply, RequestError> {
        self.client.request(MessageUnpin { room_id: self.room_id, row_key }).await
    }

    /// The pinned messages, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn pinned(&self) -> Result<Vec<Message>, RequestError> {
        let mut pinned: Vec<Message> = Vec::new();
        loop {
            let list = MessageList {
                room_id: self.room_id,
                order: None,
                cursor: pinned.last().map(|message| message.row_key),
                include_cursor: None,
                around: None,
                is_pinned: Some(true),
                limit: Some(page_limit(100)?),
            };
            let page = self.client.request(list).await?;
            let is_last = !page.has_more || page.items.is_empty();
            pinned.extend(page.items);
            if is_last {
                return Ok(pinned);
            }
        }
    }

    /// Takes the link preview off a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn delete_preview(&self, row_key: RowKey) -> Result<RevReply, RequestError> {
        self.client.request(PreviewDelete { room_id: self.room_id, row_key }).await
    }

    /// Takes a file off a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn delete_file(&self, row_key: RowKey, file_id: FileId) -> Result<RevReply, RequestError> {
        self.client.request(FileDelete { room_id: self.room_id, row_key, file_id }).await
    }
}
