//! Roles, moderation, notes and the word filter.

use crate::{
    Distinct, Int, Name, Nonce, Patch, Permissions, RoleId, RoomId, Set, Text, UserId,
    object::{Filter, FilterAction, ModerationAction, ModerationLogEntry, Note, Role},
    operation::{Cursor, Limit},
};

/// A role's place.
pub type RolePosition = Int<0, { i32::MAX as i64 }>;
/// The length of a timeout, in ms.
pub type TimeoutMs = Int<1, 604_800_000>;

object! {
    /// `role.create`.
    pub struct RoleCreate {
        /// The room.
        room_id: RoomId,
        /// The name.
        name: Name<1, 100>,
        ;
        /// The colour.
        color: Option<Text<0, 9>>,
        /// What it grants; nothing by default.
        permissions: Option<Permissions>,
        /// Higher has more authority; 0 by default.
        position: Option<RolePosition>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// A role.
    pub struct RoleReply {
        /// The role.
        role: Role,
    }

    /// `role.update`: at least one field.
    pub struct RoleUpdate {
        /// The room.
        room_id: RoomId,
        /// The role.
        role_id: RoleId,
        ;
        /// The name.
        name: Option<Name<1, 100>>,
        /// The colour.
        color: Patch<Text<0, 9>>,
        /// What it grants.
        permissions: Option<Permissions>,
        /// Its place.
        position: Option<RolePosition>,
    }

    /// `role.delete`.
    pub struct RoleDelete {
        /// The room.
        room_id: RoomId,
        /// The role.
        role_id: RoleId,
    }

    /// `role.assign`.
    pub struct RoleAssign {
        /// The room.
        room_id: RoomId,
        /// The role.
        role_id: RoleId,
        /// To whom.
        user_id: UserId,
    }

    /// `role.revoke`.
    pub struct RoleRevoke {
        /// The room.
        room_id: RoomId,
        /// The role.
        role_id: RoleId,
        /// From whom.
        user_id: UserId,
    }

    /// `role.list`.
    pub struct RoleList {
        /// The rooms; the caller is a member of all.
        room_ids: Set<RoomId, 1, 1000>,
    }

    /// `role.members`.
    pub struct RoleMembers {
        /// The room.
        room_id: RoomId,
        /// Whose roles.
        user_ids: Set<UserId, 1, 1000>,
    }

    /// `role.permissions`.
    pub struct RolePermissions {
        /// The rooms.
        room_ids: Set<RoomId, 1, 1000>,
    }

    /// `moderation.execute`.
    pub struct ModerationExecute {
        /// The room.
        room_id: RoomId,
        /// The target.
        user_id: UserId,
        /// What to do.
        r#type: ModerationAction,
        ;
        /// Why.
        reason: Option<Text<0, 2000>>,
        /// The length of a timeout, in ms; with TimeoutUser only.
        duration_ms: Option<TimeoutMs>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `moderation.execute`.
    pub struct ModerationReply {
        /// What was done.
        entry: ModerationLogEntry,
    }

    /// `moderation.bans`.
    pub struct ModerationBans {
        /// The room.
        room_id: RoomId,
        ;
        /// Part of the name.
        query: Option<Text<0, 100>>,
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `moderation.unban`.
    pub struct ModerationUnban {
        /// The room.
        room_id: RoomId,
        /// Who.
        user_id: UserId,
    }

    /// `moderation.log`.
    pub struct ModerationLog {
        /// The room.
        room_id: RoomId,
        ;
        /// By whom.
        actor_user_id: Option<UserId>,
        /// To whom.
        target_user_id: Option<UserId>,
        /// What.
        r#type: Option<ModerationAction>,
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `note.create`.
    pub struct NoteCreate {
        /// The room.
        room_id: RoomId,
        /// About whom.
        user_id: UserId,
        /// The text.
        note: Name<1, 2000>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `note.create`.
    pub struct NoteReply {
        /// The note.
        note: Note,
    }

    /// `note.list`.
    pub struct NoteList {
        /// The room.
        room_id: RoomId,
        /// About whom.
        user_id: UserId,
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `note.count`.
    pub struct NoteCount {
        /// The room.
        room_id: RoomId,
        /// About whom.
        user_id: UserId,
    }

    /// `filter.get`.
    pub struct FilterGet {
        /// The room.
        room_id: RoomId,
    }

    /// The reply to `filter.get` and `filter.set`.
    pub struct FilterReply {
        /// The filter.
        filter: Filter,
    }

    /// `filter.set`.
    pub struct FilterSet {
        /// The room.
        room_id: RoomId,
        /// The words.
        words: Set<FilterWordInput, 0, 1000>,
        ;
        /// What happens on a match; Reject by default.
        action: Option<FilterAction>,
        /// How long a Timeout is, in ms; with Timeout, and only then.
        timeout_duration_ms: Option<TimeoutMs>,
    }

    /// A word of a filter to set.
    pub struct FilterWordInput {
        /// The word.
        word: Name<1, 100>,
        ;
        /// Whether it matches as a whole word only.
        match_whole_word: Option<bool>,
    }
}

impl Distinct for FilterWordInput {
    type Key = String;

    fn key(&self) -> String {
        self.word.to_lowercase()
    }
}
