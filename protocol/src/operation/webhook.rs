//! Inbound webhooks.

use crate::{AppUserId, Name, Nonce, RoomId, Secret, Set, WebhookId, object::Webhook};

object! {
    /// `webhook.create`.
    pub struct WebhookCreate {
        /// The room.
        room_id: RoomId,
        ;
        /// The name; "Webhook" by default.
        name: Option<Name<1, 100>>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `webhook.create` and `webhook.rotate`; a repeat has no token and address.
    pub struct WebhookSecretReply {
        /// The webhook.
        webhook: Webhook,
        ;
        /// The token.
        token: Option<Secret>,
        /// The address, token included.
        url: Option<Secret>,
    }

    /// `webhook.list`.
    pub struct WebhookList {
        /// The room.
        room_id: RoomId,
    }

    /// `webhook.update`: at least one field.
    pub struct WebhookUpdate {
        /// The room.
        room_id: RoomId,
        /// The webhook.
        webhook_id: WebhookId,
        ;
        /// The name.
        name: Option<Name<1, 100>>,
        /// Whether it accepts calls.
        is_active: Option<bool>,
    }

    /// A webhook.
    pub struct WebhookReply {
        /// The webhook.
        webhook: Webhook,
    }

    /// `webhook.rotate`: the old address is dead at once.
    pub struct WebhookRotate {
        /// The room.
        room_id: RoomId,
        /// The webhook.
        webhook_id: WebhookId,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `webhook.delete`: its messages stay.
    pub struct WebhookDelete {
        /// The room.
        room_id: RoomId,
        /// The webhook.
        webhook_id: WebhookId,
    }

    /// `appUser.get`.
    pub struct AppUserGet {
        /// The room.
        room_id: RoomId,
        /// Whom.
        app_user_ids: Set<AppUserId, 1, 1000>,
    }
}
