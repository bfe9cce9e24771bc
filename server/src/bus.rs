//! The bus: what happened on a node, told to everybody who delivers.
//!
//! It is a hint. Whoever misses something finds it in the store.

#[cfg(test)]
mod conformance;
pub(crate) mod in_process;
#[cfg(feature = "nats")]
pub(crate) mod nats;
#[cfg(feature = "nats")]
mod wire;

use std::{future::Future, pin::Pin, sync::Arc};

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
    /// Who is on another node. A hint; each node tells its own listeners.
    Presence(Arc<NodePresence>),
    /// Events of other nodes were lost, and nobody knows which: whoever listens repairs from the store.
    Missed,
}

/// What a node tells the others of those who are connected to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePresence {
    /// The node, by a number of its own that it draws at its start.
    pub node: uuid::Uuid,
    /// Whether `here` is everybody; else whoever came since the last time.
    pub is_whole: bool,
    /// Who is connected.
    pub here: Vec<UserId>,
    /// Who went.
    pub gone: Vec<UserId>,
    /// Whose override or custom status changed.
    pub changed: Vec<UserId>,
}

/// Whether what happens on other nodes arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It does, or there are no others.
    Up,
    /// The store alone tells of it, later.
    Down,
}

/// Carries events between those who cause them and those who deliver them, at most once.
pub trait Bus: Send + Sync + std::fmt::Debug {
    /// Tells everybody. Never waits and never fails: a listener that is too slow learns that it lagged.
    fn publish(&self, event: BusEvent);

    /// Tells the listeners of this node alone.
    fn publish_here(&self, event: BusEvent) {
        self.publish(event);
    }

    /// How many events its listeners were sent so far; each is counted before it is sent.
    fn sent(&self) -> u64;

    /// Listens from now on. A listener that lags by more than the bus holds gets
    /// [`broadcast::error::RecvError::Lagged`] and repairs from the store.
    fn listen(&self) -> broadcast::Receiver<BusEvent>;

    /// Whether there may be other nodes.
    fn is_shared(&self) -> bool {
        false
    }

    /// What other nodes tell of this room is listened to, soon.
    fn follow(&self, _room_id: RoomId) {}

    /// Nobody here needs this room any more.
    fn unfollow(&self, _room_id: RoomId) {}

    /// Waits until the rooms followed before now are listened to: their heads are read after that. Gives up soon when
    /// the link is down.
    fn followed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }

    /// Whether other nodes are heard.
    fn link(&self) -> Link {
        Link::Up
    }
}
