//! Rooms, invites, memberships and categories.

use crate::{
    CategoryId, InviteId, Name, Nonce, Patch, ProtocolError, RoomId, Set, Text, Timestamp, UserId,
    constrained::Int,
    object::{Category, Invite, InviteRoom, Member, Membership, MimeCategory, NotificationType, Room},
    operation::{Cursor, Limit},
};

/// A duration or size of at least 1.
pub type Positive = Int<1, { i64::MAX }>;

names! {
    /// The order of a room list.
    pub enum RoomOrder { Activity, Id }
}

/// How a subscription begins; see the protocol, section 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "codegen", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No position was given: events from the head on.
    Live,
    /// Everything after the position comes as catch-up.
    Exact,
    /// Too much was missed: read anew.
    Gap,
    /// The log starts anew: read anew and keep the new epoch.
    Reset,
    /// No subscription.
    Error,
}

object! {
    /// `room.create`.
    pub struct RoomCreate {
        /// The name.
        name: Name<1, 100>,
        ;
        /// The topic.
        topic: Option<Text<0, 500>>,
        /// Image address.
        image: Option<Text<0, 2048>>,
        /// Whether only ManageMessages may write.
        is_read_only: Option<bool>,
        /// Time between two sends of a member, in ms.
        slowmode_ms: Option<Positive>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `room.get`: a room, or the latest active one.
    pub struct RoomGet {
        ;
        /// The room.
        room_id: Option<RoomId>,
    }

    /// `room.list`.
    pub struct RoomList {
        ;
        /// The order; Activity by default.
        order: Option<RoomOrder>,
        /// Part of the name.
        query: Option<Text<0, 100>>,
        /// Appended when the page lacks it.
        room_id: Option<RoomId>,
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `room.update`: at least one field.
    pub struct RoomUpdate {
        /// The room.
        room_id: RoomId,
        ;
        /// The name.
        name: Option<Name<1, 100>>,
        /// The topic.
        topic: Patch<Text<0, 500>>,
        /// Image address.
        image: Patch<Text<0, 2048>>,
        /// Whether only ManageMessages may write.
        is_read_only: Option<bool>,
        /// Whether invites are out of use.
        is_invite_paused: Option<bool>,
        /// Time between two sends of a member, in ms.
        slowmode_ms: Patch<Positive>,
        /// Largest file in bytes.
        max_file_size_bytes: Patch<Positive>,
        /// Kinds of files that are accepted.
        allowed_mime_categories: Option<Set<MimeCategory, 1, 4>>,
    }

    /// The reply to `room.update`.
    pub struct RoomReply {
        /// The settings.
        room: Room,
    }

    /// `room.delete`.
    pub struct RoomDelete {
        /// The room.
        room_id: RoomId,
    }

    /// `room.leave`.
    pub struct RoomLeave {
        /// The room.
        room_id: RoomId,
    }

    /// `room.members`, by join time.
    pub struct RoomMembers {
        /// The room.
        room_id: RoomId,
        ;
        /// Part of the name or nickname.
        query: Option<Text<0, 100>>,
        /// Only these.
        user_ids: Option<Set<UserId, 1, 1000>>,
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `room.subscribe`.
    pub struct RoomSubscribe {
        /// The rooms.
        rooms: Set<SubscribeRoom, 1, 1000>,
        ;
        /// Whether the connection receives what it caused itself; true by default.
        echo: Option<bool>,
    }

    /// One room of a subscribe.
    pub struct SubscribeRoom {
        /// The room.
        room_id: RoomId,
        ;
        /// The position to go on from.
        since: Option<Position>,
    }

    /// A position in a room's log.
    pub struct Position {
        /// The log's epoch.
        epoch: Text<0, 32>,
        /// The last entry that is known.
        seq: Int<0, { i64::MAX }>,
    }

    /// The reply to `room.subscribe`.
    pub struct SubscribeReply {
        ;
        /// One entry per room asked for.
        rooms: Vec<Subscribed>,
    }

    /// How the subscription of one room begins.
    pub struct Subscribed {
        /// The room.
        room_id: RoomId,
        /// What follows.
        verdict: Verdict,
        ;
        /// The subscription's number on this connection.
        sub: u64,
        /// The log's epoch.
        epoch: String,
        /// The room's head.
        seq: u64,
        /// Why there is no subscription.
        error: Option<ProtocolError>,
    }

    /// `room.unsubscribe`.
    pub struct RoomUnsubscribe {
        /// The rooms.
        room_ids: Set<RoomId, 1, 1000>,
    }

    /// `invite.create`: replaces one's earlier invite of the room.
    pub struct InviteCreate {
        /// The room.
        room_id: RoomId,
        ;
        /// Lifetime in ms, one of the allowed values; 0 is for ever.
        expires_in_ms: Option<u64>,
        /// Uses, one of the allowed values; 0 is any number.
        max_uses: Option<u32>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `invite.create` and `invite.mine`.
    pub struct InviteReply {
        /// The invite.
        invite: Invite,
    }

    /// `invite.get`.
    pub struct InviteGet {
        /// The code.
        invite_id: InviteId,
    }

    /// The reply to `invite.get`.
    pub struct InviteGetReply {
        /// The invite.
        invite: Invite,
        /// Its room.
        room: InviteRoom,
        ;
        /// Whether the caller is in it already.
        is_member: bool,
    }

    /// `invite.mine`.
    pub struct InviteMine {
        /// The room.
        room_id: RoomId,
    }

    /// `invite.list`.
    pub struct InviteList {
        /// The room.
        room_id: RoomId,
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `invite.revoke`.
    pub struct InviteRevoke {
        /// The room.
        room_id: RoomId,
        /// The code.
        invite_id: InviteId,
    }

    /// `invite.join`.
    pub struct InviteJoin {
        /// The code.
        invite_id: InviteId,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// `membership.get`.
    pub struct MembershipGet {
        /// The rooms; the caller is a member of all.
        room_ids: Set<RoomId, 1, 1000>,
    }

    /// `membership.update`: one's own settings, or another's nickname alone.
    pub struct MembershipUpdate {
        /// The room.
        room_id: RoomId,
        ;
        /// Another member.
        user_id: Option<UserId>,
        /// The name shown here.
        nickname: Patch<Text<0, 32>>,
        /// What notifies.
        notification_type: Option<NotificationType>,
        /// The read marker; may go back, the future is now.
        last_read_at: Option<Timestamp>,
        /// The personal folder.
        category_id: Patch<CategoryId>,
    }

    /// The reply to `membership.update`: `membership` when one's own, else `member`.
    pub struct MembershipUpdateReply {
        ;
        /// One's own.
        membership: Option<Membership>,
        /// Another's.
        member: Option<Member>,
    }

    /// `membership.clearMentions`.
    pub struct MembershipClearMentions {
        /// The room.
        room_id: RoomId,
    }

    /// The reply to `membership.clearMentions`.
    pub struct MembershipReply {
        /// One's own membership.
        membership: Membership,
    }

    /// `category.create`.
    pub struct CategoryCreate {
        /// The name.
        name: Name<1, 100>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// A folder.
    pub struct CategoryReply {
        /// The folder.
        category: Category,
    }

    /// `category.list`.
    pub struct CategoryList {}

    /// `category.update`.
    pub struct CategoryUpdate {
        /// The folder.
        category_id: CategoryId,
        /// Its new name.
        name: Name<1, 100>,
    }

    /// `category.delete`.
    pub struct CategoryDelete {
        /// The folder.
        category_id: CategoryId,
    }

    /// `category.reorder`.
    pub struct CategoryReorder {
        /// The folders in their new order.
        category_ids: Set<CategoryId, 1, 1000>,
    }
}

impl crate::Distinct for MimeCategory {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}
