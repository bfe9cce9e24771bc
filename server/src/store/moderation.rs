//! Changes of a room's roles and members that moderators, and the word filter, make.

use parlour_protocol::{
    RoleId, RowKey, Timestamp, UserId,
    event::RoleDelta,
    object::{ModerationLogEntry, Role},
};

use super::{JobClaim, Origin};
use crate::directory::nonces::FirstResult;

/// A change of roles. One that changes nothing stores nothing.
#[derive(Debug, Clone)]
pub enum RoleChange {
    /// A new role, unless the room has `most` already.
    Create {
        /// The role.
        role: Role,
        /// Roles that a room has at most, `@everyone` included.
        most: u32,
        /// What a repeat answers.
        first: Option<FirstResult>,
    },
    /// New settings of a role; `updated_at` is set by the store.
    Update {
        /// Which.
        role_id: RoleId,
        /// What is different.
        changes: RoleDelta,
    },
    /// The end of a role.
    Delete {
        /// Which.
        role_id: RoleId,
    },
    /// A role for a member.
    Assign {
        /// Which.
        role_id: RoleId,
        /// Whose.
        user_id: UserId,
    },
    /// A role taken from a member.
    Revoke {
        /// Which.
        role_id: RoleId,
        /// Whose.
        user_id: UserId,
    },
}

/// A moderator's action, with its entry in the moderation log.
#[derive(Debug, Clone)]
pub struct Moderate {
    /// The entry: who did what to whom.
    pub entry: ModerationLogEntry,
    /// What follows.
    pub effect: Effect,
    /// What a repeat answers.
    pub first: Option<FirstResult>,
}

/// What a moderator's action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but the entry.
    Nothing,
    /// The membership ends.
    Kick,
    /// The membership ends, if there is one, and nobody comes back.
    Ban {
        /// Whether the messages of the banned are purged.
        purges: bool,
    },
    /// A ban ends.
    Unban,
    /// The member may not write until then.
    Timeout(Timestamp),
}

/// What the word filter does about a rejected message, once for each.
#[derive(Debug, Clone)]
pub struct Automod {
    /// The author.
    pub user_id: UserId,
    /// What was rejected.
    pub rejected: RejectedMessage,
    /// The entry in the moderation log; none when it is rejected and nothing more.
    pub entry: Option<ModerationLogEntry>,
    /// Until when they may not write; never shortens.
    pub until: Option<Timestamp>,
}

/// A rejected message; one with the same origin and nonce is the same.
#[derive(Debug, Clone)]
pub struct RejectedMessage {
    /// Where it came from.
    pub origin: Origin,
    /// What makes it the same; none is always another.
    pub nonce: Option<String>,
    /// The room's slowmode in ms, when it holds for this author: refused before anything else.
    pub slowmode_ms: Option<u64>,
    /// The job that it was posted for: cancelled in the same commit.
    pub job: Option<JobClaim>,
}

/// Messages of one purge, ended together.
#[derive(Debug, Clone)]
pub struct Purge {
    /// Which; those that are gone already are left out.
    pub row_keys: Vec<RowKey>,
}
