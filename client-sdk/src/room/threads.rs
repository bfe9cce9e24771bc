//! Threads, reactions by whom, forwards.

use parlour_protocol::{
    RoomId, RowKey, Set, Text,
    operation::{
        ForwardResult, MessageForward, MessageThread, MessageThreadReply, ReactionEntry, ReactionList, ThreadFollow,
        ThreadFollowed, ThreadFollowedReply, ThreadUnfollow,
    },
};

use super::{Room, page_limit};
use crate::error::RequestError;

impl Room {
    /// The newest replies to a message, and the message itself; older ones from the reply's `next_cursor` on.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn thread(
        &self,
        root: RowKey,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<MessageThreadReply, RequestError> {
        let cursor = cursor.map(Text::new).transpose()?;
        let limit = Some(page_limit(limit)?);
        self.client.request(MessageThread { room_id: self.room_id, row_key: root, cursor, limit }).await
    }

    /// Follows a thread.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn follow(&self, root: RowKey) -> Result<(), RequestError> {
        self.client.request(ThreadFollow { room_id: self.room_id, row_key: root }).await.map(drop)
    }

    /// Stops to follow a thread.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn unfollow(&self, root: RowKey) -> Result<(), RequestError> {
        self.client.request(ThreadUnfollow { room_id: self.room_id, row_key: root }).await.map(drop)
    }

    /// The threads that one follows here.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn followed_threads(&self) -> Result<ThreadFollowedReply, RequestError> {
        self.client.request(ThreadFollowed { room_id: self.room_id }).await
    }

    /// Copies a message to other rooms; what came of it in each, in the order asked.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind). A room that refuses is no error: its result says so.
    pub async fn forward(&self, row_key: RowKey, to: Vec<RoomId>) -> Result<Vec<ForwardResult>, RequestError> {
        let room_ids = Set::new(to)?;
        let forward =
            MessageForward { room_id: self.room_id, row_key, room_ids, message: None, format: None, nonce: None };
        self.client.request(forward).await.map(|reply| reply.results)
    }

    /// Who reacted to a message, with what, first come first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn reactions(&self, row_key: RowKey) -> Result<Vec<ReactionEntry>, RequestError> {
        self.client
            .pages(|cursor, limit| ReactionList { room_id: self.room_id, row_key, emoji: None, cursor, limit })
            .await
    }
}
