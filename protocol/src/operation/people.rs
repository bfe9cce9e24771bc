//! Presence, friends, blocks, direct messages and push addresses.

use crate::{
    Nonce, Patch, RoomId, Secret, Set, Text, Timestamp, UserId,
    object::{self, PresenceStatus, PushSubscription, Status},
    operation::{Cursor, Limit},
};

object! {
    /// `status.set`: at least one field.
    pub struct StatusSet {
        ;
        /// The override.
        status: Patch<PresenceStatus>,
        /// Custom status.
        message: Patch<Text<0, 64>>,
        /// When the override ends.
        expires_at: Patch<Timestamp>,
    }

    /// The reply to `status.set`.
    pub struct StatusReply {
        /// The status.
        status: Status,
    }

    /// `status.get`.
    pub struct StatusGet {
        /// Whose.
        user_ids: Set<UserId, 1, 1000>,
    }

    /// `friend.request`: by id or by name.
    #[cfg_attr(feature = "codegen", schemars(rename = "FriendRequestCreate"))]
    pub struct FriendRequest {
        ;
        /// Whom.
        user_id: Option<UserId>,
        /// Whom, by account name.
        name: Option<Text<1, 100>>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `friend.request`.
    pub struct FriendRequestReply {
        /// The request.
        request: object::FriendRequest,
    }

    /// `friend.accept`.
    pub struct FriendAccept {
        /// The sender.
        user_id: UserId,
    }

    /// The reply to `friend.accept`.
    pub struct FriendReply {
        /// The friend.
        friend: object::Friend,
    }

    /// `friend.decline`.
    pub struct FriendDecline {
        /// The sender.
        user_id: UserId,
    }

    /// `friend.cancel`.
    pub struct FriendCancel {
        /// The receiver.
        user_id: UserId,
    }

    /// `friend.remove`.
    pub struct FriendRemove {
        /// Whom.
        user_id: UserId,
    }

    /// `friend.list`.
    pub struct FriendList {
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// The reply to `friend.list`.
    pub struct FriendListReply {
        ;
        /// Friends by name.
        items: Vec<object::Friend>,
        /// Where the next page begins.
        next_cursor: String,
        /// Whether there is a next page.
        has_more: bool,
        /// All requests; on the first page only.
        requests: Vec<object::FriendRequest>,
    }

    /// `block.add`.
    pub struct BlockAdd {
        /// Whom.
        user_id: UserId,
    }

    /// `block.remove`.
    pub struct BlockRemove {
        /// Whom.
        user_id: UserId,
    }

    /// `block.list`.
    pub struct BlockList {
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `dm.open`.
    pub struct DmOpen {
        /// With whom; oneself is dropped.
        user_ids: Set<UserId, 1, 999>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `dm.list`.
    pub struct DmList {
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `dm.hide`.
    pub struct DmHide {
        /// The direct message.
        room_id: RoomId,
    }

    /// `dm.add`.
    pub struct DmAdd {
        /// The direct message.
        room_id: RoomId,
        /// Whom.
        user_ids: Set<UserId, 1, 998>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `dm.remove`.
    pub struct DmRemove {
        /// The direct message.
        room_id: RoomId,
        /// Whom, or oneself.
        user_id: UserId,
    }

    /// `push.key`.
    pub struct PushKey {}

    /// The reply to `push.key`.
    pub struct PushKeyReply {
        /// The VAPID key, base64url.
        public_key: String,
    }

    /// `push.subscribe`.
    pub struct PushSubscribe {
        /// An https address.
        endpoint: Text<1, 2048>,
        /// The browser's keys.
        keys: PushKeys,
        ;
        /// When it ends.
        expiration_time: Patch<Timestamp>,
    }

    /// The keys of a push address.
    pub struct PushKeys {
        /// The authentication secret, base64url.
        auth: Secret,
        /// The public key, base64url.
        p256dh: Secret,
    }

    /// The reply to `push.subscribe`.
    pub struct PushSubscriptionReply {
        /// The subscription.
        subscription: PushSubscription,
    }

    /// `push.unsubscribe`.
    pub struct PushUnsubscribe {
        /// The address.
        endpoint: Text<1, 2048>,
    }

    /// `push.list`.
    pub struct PushList {}
}
