//! Friends and blocks.

use parlour_protocol::{
    Set, Text, UserId,
    object::{Friend, FriendRequest, User},
    operation::{
        self, BlockAdd, BlockList, BlockRemove, FriendAccept, FriendCancel, FriendDecline, FriendList, FriendListReply,
        FriendRemove, UserGet, UserSearch,
    },
};

use crate::{client::Client, error::RequestError, room::page_limit};

impl Client {
    /// Accounts by id; unknown ones are left out.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn users(&self, user_ids: Vec<UserId>) -> Result<Vec<User>, RequestError> {
        self.request(UserGet { user_ids: Set::new(user_ids)? }).await.map(|reply| reply.items)
    }

    /// Accounts whose name begins so.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn find_users(&self, name: &str, limit: usize) -> Result<Vec<User>, RequestError> {
        let query = parlour_protocol::Name::new(name)?;
        let search = UserSearch { query, cursor: None, limit: Some(page_limit(limit)?) };
        self.request(search).await.map(|page| page.items)
    }

    /// Asks somebody to be a friend.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn request_friend(&self, user_id: UserId) -> Result<FriendRequest, RequestError> {
        let ask = operation::FriendRequest { user_id: Some(user_id), name: None, nonce: None };
        self.request(ask).await.map(|reply| reply.request)
    }

    /// Asks the account of a name to be a friend.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn request_friend_named(&self, name: &str) -> Result<FriendRequest, RequestError> {
        let ask = operation::FriendRequest { user_id: None, name: Some(Text::new(name)?), nonce: None };
        self.request(ask).await.map(|reply| reply.request)
    }

    /// Takes somebody's request.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn accept_friend(&self, user_id: UserId) -> Result<Friend, RequestError> {
        self.request(FriendAccept { user_id }).await.map(|reply| reply.friend)
    }

    /// Refuses somebody's request.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn decline_friend(&self, user_id: UserId) -> Result<(), RequestError> {
        self.request(FriendDecline { user_id }).await.map(drop)
    }

    /// Takes one's own request back.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn cancel_friend(&self, user_id: UserId) -> Result<(), RequestError> {
        self.request(FriendCancel { user_id }).await.map(drop)
    }

    /// Ends a friendship.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn remove_friend(&self, user_id: UserId) -> Result<(), RequestError> {
        self.request(FriendRemove { user_id }).await.map(drop)
    }

    /// All friends by name, and the requests that wait for an answer.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn friends(&self) -> Result<(Vec<Friend>, Vec<FriendRequest>), RequestError> {
        let (mut friends, mut requests) = (Vec::new(), Vec::new());
        let mut cursor = None;
        loop {
            let list = FriendList { cursor, limit: Some(page_limit(1000)?) };
            let FriendListReply { items, next_cursor, has_more, requests: pending } = self.request(list).await?;
            friends.extend(items);
            requests.extend(pending);
            if !has_more {
                return Ok((friends, requests));
            }
            cursor = Some(Text::new(next_cursor)?);
        }
    }

    /// Blocks somebody, which ends a friendship.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn block(&self, user_id: UserId) -> Result<(), RequestError> {
        self.request(BlockAdd { user_id }).await.map(drop)
    }

    /// Ends a block.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn unblock(&self, user_id: UserId) -> Result<(), RequestError> {
        self.request(BlockRemove { user_id }).await.map(drop)
    }

    /// Whom one has blocked, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn blocked(&self) -> Result<Vec<User>, RequestError> {
        self.pages(|cursor, limit| BlockList { cursor, limit }).await
    }
}
