//! Connections, sessions and accounts.

use std::collections::BTreeMap;

use crate::{
    ConnectionId, Int, Name, Patch, RoomId, Secret, SessionId, Set, Text, Timestamp, UserId, limits::Limits,
    object::User,
};

/// A page's size.
pub type Limit = Int<1, 1000>;
/// An opaque place in a list.
pub type Cursor = Text<0, 1024>;

object! {
    /// `session.hello`: the first command of a connection.
    pub struct SessionHello {
        ;
        /// Left out when the upgrade carried a bearer header or the cookie.
        token: Option<Secret>,
        /// The program.
        client: Option<ClientInfo>,
    }

    /// The program that a connection comes from.
    pub struct ClientInfo {
        /// Its name.
        name: Text<0, 100>,
        /// Its version.
        version: Text<0, 50>,
    }

    /// The reply to `session.hello`.
    pub struct HelloReply {
        /// This socket.
        connection_id: ConnectionId,
        /// This log-in.
        session_id: SessionId,
        /// Who is logged in.
        user: User,
        /// The server.
        server: ServerInfo,
        /// The pace of pings, in ms.
        heartbeat_ms: u64,
        /// Every limit a client can meet.
        limits: Limits,
    }

    /// The server.
    pub struct ServerInfo {
        /// Its version.
        version: String,
        /// Its clock.
        time: Timestamp,
    }

    /// `session.ping`.
    pub struct SessionPing {}

    /// The reply to `session.ping`.
    pub struct PingReply {
        /// The server's clock.
        time: Timestamp,
        ;
        /// Subscribed rooms whose head changed since the last answer.
        heads: BTreeMap<RoomId, u64>,
    }

    /// `session.refresh`: swaps the token of a connection.
    pub struct SessionRefresh {
        /// A token of the same user.
        token: Secret,
    }

    /// The reply to `session.refresh`.
    pub struct RefreshReply {
        /// The session of the new token.
        session_id: SessionId,
        ;
        /// When it ends.
        expires_at: Option<Timestamp>,
    }

    /// `session.list`.
    pub struct SessionList {}

    /// `session.revoke`: one session, or all others.
    pub struct SessionRevoke {
        ;
        /// The session to end.
        session_id: Option<SessionId>,
        /// All but the caller's own.
        #[serde(deserialize_with = "crate::wire::given")]
        others: Option<bool>,
    }

    /// `user.get`.
    pub struct UserGet {
        /// Whom.
        user_ids: Set<UserId, 1, 1000>,
    }

    /// `user.search`: by the start of the name.
    pub struct UserSearch {
        /// The start of the name.
        query: Name<1, 100>,
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// `user.update`: at least one field.
    pub struct UserUpdate {
        ;
        /// The account name.
        name: Option<Name<1, 100>>,
        /// Image address.
        image: Patch<Text<0, 2048>>,
        /// A few words about oneself.
        biography: Patch<Text<0, 160>>,
    }

    /// The reply to `user.update`.
    pub struct UserReply {
        /// The account.
        user: User,
    }
}
