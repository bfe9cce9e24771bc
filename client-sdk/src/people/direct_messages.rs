//! Direct messages: rooms of a set of friends.

use parlour_protocol::{
    Set, UserId,
    object::RoomView,
    operation::{DmAdd, DmHide, DmList, DmOpen, DmRemove},
};

use crate::{client::Client, error::RequestError, room::Room};

impl Client {
    /// Opens the direct message with friends: there is one for each set of people.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn open_direct_message(&self, user_ids: Vec<UserId>) -> Result<RoomView, RequestError> {
        self.request(DmOpen { user_ids: Set::new(user_ids)?, nonce: None }).await
    }

    /// The direct messages that are not hidden, the latest active first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn direct_messages(&self) -> Result<Vec<RoomView>, RequestError> {
        self.pages(|cursor, limit| DmList { cursor, limit }).await
    }
}

impl Room {
    /// Takes a direct message off one's list, until it is opened again.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn hide(&self) -> Result<(), RequestError> {
        self.client().request(DmHide { room_id: self.id() }).await.map(drop)
    }

    /// Adds friends to a direct message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn add_people(&self, user_ids: Vec<UserId>) -> Result<RoomView, RequestError> {
        self.client().request(DmAdd { room_id: self.id(), user_ids: Set::new(user_ids)?, nonce: None }).await
    }

    /// Takes somebody, or oneself, out of a direct message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn remove_person(&self, user_id: UserId) -> Result<(), RequestError> {
        self.client().request(DmRemove { room_id: self.id(), user_id }).await.map(drop)
    }
}
