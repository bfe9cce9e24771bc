//! Presence and custom status.

use parlour_protocol::{
    Patch, Set, Text, Timestamp, UserId,
    object::{PresenceStatus, Status},
    operation::{StatusGet, StatusSet},
};

use crate::{client::Client, error::RequestError};

/// What to change of one's own status.
#[derive(Debug, Clone, Default)]
pub struct StatusChange {
    status: Patch<PresenceStatus>,
    message: Patch<String>,
    expires_at: Patch<Timestamp>,
}

impl StatusChange {
    /// Shows a status, whether or not one is connected.
    pub fn show(status: PresenceStatus) -> Self {
        Self { status: Patch::Set(status), ..Self::default() }
    }

    /// Shows what the connection says again.
    pub fn by_connection() -> Self {
        Self { status: Patch::Clear, expires_at: Patch::Clear, ..Self::default() }
    }

    /// With these words; without any when they are empty.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = if message.is_empty() { Patch::Clear } else { Patch::Set(message.to_owned()) };
        self
    }

    /// Until then.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.expires_at = Patch::Set(time);
        self
    }
}

impl Client {
    /// Changes one's own status.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_status(&self, change: StatusChange) -> Result<Status, RequestError> {
        let StatusChange { status, message, expires_at } = change;
        let message = match message {
            Patch::Set(message) => Patch::Set(Text::new(message)?),
            Patch::Clear => Patch::Clear,
            Patch::Keep => Patch::Keep,
        };
        self.request(StatusSet { status, message, expires_at }).await.map(|reply| reply.status)
    }

    /// The statuses of users; unknown ones are left out.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn statuses(&self, user_ids: Vec<UserId>) -> Result<Vec<Status>, RequestError> {
        self.request(StatusGet { user_ids: Set::new(user_ids)? }).await.map(|reply| reply.items)
    }
}
