//! People: accounts, sessions, presence, friends.

use crate::{SessionId, Timestamp, UserId};

names! {
    /// Presence: the override until it expires, else by connection.
    pub enum PresenceStatus { Online, Idle, DoNotDisturb, Offline }

    /// Which way a friend request goes.
    pub enum FriendRequestDirection { Incoming, Outgoing }
}

object! {
    /// An account. A deleted one reads "deleted user".
    pub struct User {
        /// The account.
        user_id: UserId,
        ;
        /// The account name.
        name: String,
        /// Image address.
        image: String,
        /// A few words about oneself.
        biography: String,
        /// Whether the account is deleted.
        is_deleted: bool,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When it was last changed.
        updated_at: Option<Timestamp>,
    }

    /// The program that a session was made with.
    pub struct SessionClient {
        ;
        /// Its name.
        name: String,
        /// Its version.
        version: String,
    }

    /// A log-in.
    pub struct Session {
        /// Its id.
        session_id: SessionId,
        ;
        /// The program.
        client: Option<SessionClient>,
        /// The network address last seen.
        address: String,
        /// Whether it is the caller's own.
        is_current: bool,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When it was last used.
        last_seen_at: Option<Timestamp>,
        /// When it ends.
        expires_at: Option<Timestamp>,
    }

    /// Presence and custom status.
    pub struct Status {
        /// Whose.
        user_id: UserId,
        /// Always present.
        status: PresenceStatus,
        ;
        /// Custom status.
        message: String,
        /// When the override ends.
        expires_at: Option<Timestamp>,
    }

    /// A friend.
    pub struct Friend {
        /// Who.
        user: User,
        /// Their presence.
        status: Status,
        /// Since when.
        created_at: Timestamp,
    }

    /// A friend request, seen from one side.
    pub struct FriendRequest {
        /// The other party.
        user: User,
        /// Which way.
        direction: FriendRequestDirection,
        /// When it was made.
        created_at: Timestamp,
    }

    /// A web push address.
    pub struct PushSubscription {
        /// Where pushes go.
        endpoint: String,
        /// When it was made.
        created_at: Timestamp,
        ;
        /// When it ends.
        expiration_time: Option<Timestamp>,
    }
}
