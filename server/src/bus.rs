//! The bus: what happened on a node, told to everybody who delivers.
//!
//! It is a hint. Whoever misses something finds it in the store.

pub(crate) mod in_process;

use std::sync::Arc;

use parlour_protocol::{ConnectionId, DurableEvent, EphemeralEvent, RoomId, SessionId, UserEvent, UserId};
use tokio::sync::broadcast;

/// Something to deliver.
#[derive(Debug, Clone)]
pub enum BusEvent {
    /// An entry of a room's log, published after its commit, in the order of `seq`.
    Room {
        /// The room.
        room_id: RoomId,
        /// The place in the room's log.
        seq: u64,
        /// What happened.
        event: Arc<DurableEvent>,
        /// The socket that caused it; none for what the server wrote itself.
        cause: Option<ConnectionId>,
    },
    /// A hint to a room.
    Ephemeral {
        /// The room.
        room_id: RoomId,
        /// What happens.
        event: Arc<EphemeralEvent>,
        /// The socket that caused it.
        cause: ConnectionId,
    },
    /// To all connections of a user.
    User {
        /// The user.
        user_id: UserId,
        /// What happened.
        event: Arc<UserEvent>,
    },
    /// To all connections of several users.
    Users {
        /// The users.
        user_ids: Arc<[UserId]>,
        /// What happened.
        event: Arc<UserEvent>,
    },
    /// A session ended: its sockets close with 4401.
    SessionEnded {
        /// The session.
        session_id: SessionId,
    },
    /// An account was disabled or deleted: all its sockets close with 4401.
    UserEnded {
        /// The account.
        user_id: UserId,
    },
}

/// Carries events between those who cause them and those who deliver them, at most once.
pub trait Bus: Send + Sync + std::fmt::Debug {
    /// Tells everybody. Never waits and never fails: a listener that is too slow learns that it lagged.
    fn publish(&self, event: BusEvent);

    /// How many events its listeners were sent so far; each is counted before it is sent.
    fn sent(&self) -> u64;

    /// Listens from now on. A listener that lags by more than the bus holds gets
    /// [`broadcast::error::RecvError::Lagged`] and repairs from the store.
    fn listen(&self) -> broadcast::Receiver<BusEvent>;
}
