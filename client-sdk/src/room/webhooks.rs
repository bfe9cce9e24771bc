//! Webhooks of a room.

use parlour_protocol::{
    Name, WebhookId,
    object::Webhook,
    operation::{WebhookCreate, WebhookDelete, WebhookList, WebhookRotate, WebhookSecretReply, WebhookUpdate},
};

use super::Room;
use crate::error::RequestError;

impl Room {
    /// Makes a webhook. Its address is in this answer alone.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn create_webhook(&self, name: &str) -> Result<WebhookSecretReply, RequestError> {
        let name = Some(Name::new(name)?);
        self.client.request(WebhookCreate { room_id: self.room_id, name, nonce: None }).await
    }

    /// The room's webhooks, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn webhooks(&self) -> Result<Vec<Webhook>, RequestError> {
        self.client.request(WebhookList { room_id: self.room_id }).await.map(|list| list.items)
    }

    /// Gives a webhook a new address; the old one is dead at once.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn rotate_webhook(&self, webhook_id: WebhookId) -> Result<WebhookSecretReply, RequestError> {
        self.client.request(WebhookRotate { room_id: self.room_id, webhook_id, nonce: None }).await
    }

    /// Lets a webhook take calls, or not.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_webhook_active(&self, webhook_id: WebhookId, is_active: bool) -> Result<Webhook, RequestError> {
        let is_active = Some(is_active);
        let update = WebhookUpdate { room_id: self.room_id, webhook_id, name: None, is_active };
        self.client.request(update).await.map(|reply| reply.webhook)
    }

    /// Ends a webhook; its messages stay.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn delete_webhook(&self, webhook_id: WebhookId) -> Result<(), RequestError> {
        self.client.request(WebhookDelete { room_id: self.room_id, webhook_id }).await.map(drop)
    }
}
