//! Delivery: rooms, their listeners, and what each of them still has to get.
//!
//! One task receives the bus in order, applies every event to its room and writes each room's batch to
//! its live members. A subscription that cannot be live (it has just come back, its socket is slow, the
//! bus lost something) reads the store until the room's hot tail covers the rest; then, under the
//! room's lock, it gets that rest and is live. Locks are taken in the order subscriptions, room, queue.

mod catch_up;
mod deliver;
mod frames;
pub(crate) mod metrics;
mod room;
mod subscribe;
mod sweep;
mod tail;
mod users;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    future::Future,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use parlour_protocol::{
    ConnectionId, DurableEvent, ProtocolError, RoomId, SessionId, Timestamp, UserId, close::CloseCode, codec::Codec,
    limits::Limits,
};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::room::Room;
use self::{metrics::HubMetrics, room::Seat, tail::TailBytes, users::Users};
use crate::{
    bus::{Bus, NodePresence},
    store::MessageStore,
    ws::{
        connection::{Connection, ConnectionContext, ConnectionLimits, SessionInfo},
        heartbeat::{Heartbeat, HeartbeatLimits, Pulse},
        upgrade::{Handshake, Taken},
    },
};

/// Catch-ups that read the store at once; others wait their turn.
const STORE_READS: usize = 32;

/// From our 101 to the stream.
const UPGRADE_DEADLINE: Duration = Duration::from_secs(10);

/// The future of an access check.
pub(crate) type AccessCheck = Pin<Box<dyn Future<Output = Result<(), ProtocolError>> + Send>>;

/// What takes in the entries of a room's log.
pub(crate) type TakeIn = Box<dyn Fn(RoomId, u64, &DurableEvent) + Send + Sync>;

/// Who may read a room, as the room state cache knows it.
pub(crate) struct Access {
    /// Whether a user may read a room: `forbidden` if not, `unavailable` if that cannot be known now.
    pub(crate) check: Box<dyn Fn(RoomId, UserId) -> AccessCheck + Send + Sync>,
    /// Takes in a log entry before the next one is delivered. Must not block.
    pub(crate) apply: TakeIn,
    /// Forgets a room: log entries were missed.
    pub(crate) forget: Box<dyn Fn(RoomId) + Send + Sync>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Access")
    }
}

/// Bounds of delivery.
#[derive(Debug, Clone)]
pub(crate) struct HubLimits {
    pub(crate) connection: ConnectionLimits,
    pub(crate) heartbeat: HeartbeatLimits,
    /// Log entries that are caught up; beyond it `gap`.
    pub(crate) max_catch_up: u64,
    /// How often a subscription may be behind again soon after a resync; then 4413.
    pub(crate) strikes: u8,
    /// Sockets of one user; beyond it 4429.
    pub(crate) connections_per_user: usize,
    /// Sockets of one address; beyond it 4429.
    pub(crate) connections_per_address: usize,
    /// How long a busy room's batch gathers before it is written; zero writes at once.
    pub(crate) flush_window: Duration,
}

impl HubLimits {
    /// The bounds that a server tells its clients.
    pub(crate) fn from_protocol(limits: &Limits, heartbeat: Duration) -> Self {
        let connection = ConnectionLimits {
            pre_hello_frame_bytes: limits.pre_hello_frame_bytes as usize,
            frame_bytes: limits.frame_bytes as usize,
            commands_in_flight: limits.commands_in_flight,
            frames_per_second: limits.frames_per_second,
            frame_burst: limits.frame_burst,
            ..ConnectionLimits::default()
        };
        Self {
            connection,
            heartbeat: HeartbeatLimits { interval: heartbeat, hello: Duration::from_millis(limits.hello_timeout_ms) },
            max_catch_up: limits.max_catch_up.into(),
            strikes: 3,
            connections_per_user: limits.connections_per_user as usize,
            connections_per_address: limits.connections_per_address as usize,
            flush_window: Duration::ZERO,
        }
    }
}

/// The subscriptions of one connection.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// Sorted by room.
    list: Vec<Subscription>,
    last_sub: u32,
    /// The connection is gone; nothing is added any more.
    closed: bool,
}

#[derive(Debug)]
struct Subscription {
    room: Arc<Room>,
    seat: Seat,
    /// The head that `session.ping` told last.
    told: u64,
}

/// Catch-ups of one connection, done one after the other by one task while there are any.
#[derive(Debug, Default)]
pub(crate) struct CatchUps {
    queue: VecDeque<catch_up::Job>,
    running: bool,
}

/// Delivery on this node.
#[derive(Debug)]
pub(crate) struct Hub {
    store: Arc<dyn MessageStore>,
    bus: Arc<dyn Bus>,
    access: Access,
    limits: HubLimits,
    metrics: HubMetrics,
    context: Arc<ConnectionContext>,
    heartbeat: Arc<Heartbeat>,
    rooms: Mutex<HashMap<RoomId, Arc<Room>>>,
    connections: Mutex<HashMap<ConnectionId, Arc<Connection>>>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
    users: Users,
    store_reads: Semaphore,
    tail_bytes: TailBytes,
    sweep_now: Notify,
    /// How many of the bus's events have been applied to their rooms, and the news that it has grown.
    applied: AtomicU64,
    has_applied: Notify,
    /// Whether delivery waits because other nodes are not heard.
    held: watch::Sender<bool>,
    /// Sockets and catch-ups; drained at shutdown.
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Hub {
    /// A hub; its tasks begin with [`Hub::start`]. `shutdown` ends them at once: [`Hub::drain`] comes first.
    pub(crate) fn new(
        store: Arc<dyn MessageStore>,
        bus: Arc<dyn Bus>,
        access: Access,
        limits: HubLimits,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        let metrics = HubMetrics::default();
        let pulse = Arc::new(Pulse::default());
        let context = Arc::new(ConnectionContext {
            limits: limits.connection.clone(),
            pulse: Arc::clone(&pulse),
            metrics: metrics.sockets.clone(),
        });
        Arc::new(Self {
            store,
            bus,
            access,
            heartbeat: Heartbeat::new(pulse, limits.heartbeat),
            limits,
            metrics,
            context,
            rooms: Mutex::default(),
            connections: Mutex::default(),
            addresses: Mutex::default(),
            users: Users::default(),
            store_reads: Semaphore::new(STORE_READS),
            tail_bytes: TailBytes::default(),
            sweep_now: Notify::new(),
            applied: AtomicU64::new(0),
            has_applied: Notify::new(),
            held: watch::Sender::new(false),
            tasks: TaskTracker::new(),
            shutdown,
        })
    }

    /// Begins to deliver: everything published on the bus from now on reaches its listeners.
    pub(crate) fn start(self: &Arc<Self>, tasks: &TaskTracker) {
        let receiver = self.bus.listen();
        self.applied.store(self.bus.sent(), Ordering::Release);
        tasks.spawn(deliver::run(Arc::clone(self), receiver));
        tasks.spawn(sweep::run(Arc::clone(self)));
        tasks.spawn(Arc::clone(&self.heartbeat).run(self.shutdown.clone()));
    }

    /// Holds delivery, or lets it go on: what was lost meanwhile is repaired first.
    pub(crate) fn hold(&self, held: bool) {
        let changed = self.held.send_if_modified(|present| std::mem::replace(present, held) != held);
        if changed && held {
            tracing::warn!("neither the store nor the bus tells of other nodes: nothing is delivered until one does");
        } else if changed {
            tracing::info!("other nodes are heard again; repairing from the store");
        }
    }

    pub(crate) fn metrics(&self) -> &HubMetrics {
        &self.metrics
    }

    /// Answers a request for `/v1/ws` and, when it is one, lives with the socket: see [`Hub::serve_socket`].
    pub(crate) fn upgrade(
        self: &Arc<Self>,
        mut request: Request,
        address: Option<IpAddr>,
        handle: impl Fn(&Arc<Connection>, &[u8]) + Send + Sync + 'static,
    ) -> Response {
        let handshake = match Handshake::check(&mut request) {
            Ok(handshake) => handshake,
            Err(rejection) => return rejection.into_response(),
        };
        let response = handshake.response();
        let hub = Arc::clone(self);
        self.tasks.spawn(async move {
            let codec = handshake.codec;
            match tokio::time::timeout(UPGRADE_DEADLINE, handshake.take()).await {
                Ok(Ok(taken)) => hub.serve_socket(taken, codec, address, handle),
                Ok(Err(error)) => tracing::debug!(%error, "an upgrade failed"),
                Err(_) => tracing::debug!("an upgrade was not completed in time"),
            }
        });
        response
    }

    /// Lives with one upgraded socket until it ends. `address` is what counts against the limit per address.
    ///
    /// `handle` gets every whole message in order; it must not block, and spawns what has to wait.
    pub(crate) fn serve_socket(
        self: &Arc<Self>,
        taken: Taken,
        codec: Codec,
        address: Option<IpAddr>,
        handle: impl Fn(&Arc<Connection>, &[u8]) + Send + Sync + 'static,
    ) {
        let connection = Connection::new(taken.stream, codec, Arc::clone(&self.context));
        let admitted = self.admit(address);
        if !admitted {
            connection.close(CloseCode::TooMany, "retryAfterMs=60000");
        }
        lock(&self.connections).insert(connection.id(), Arc::clone(&connection));
        if self.tasks.is_closed() {
            connection.close(CloseCode::GoingAway, "");
        }
        self.heartbeat.watch(&connection);
        let attached = Attached { hub: Arc::clone(self), connection, address: address.filter(|_| admitted) };
        self.tasks.spawn(async move {
            Arc::clone(&attached.connection).run(taken.early, handle).await;
            drop(attached);
        });
    }

    /// Logs a connection in and attaches its user stream: user events from now on reach it.
    ///
    /// # Errors
    /// When the user has too many connections; the connection is closed with 4429.
    pub(crate) fn register_user(&self, connection: &Arc<Connection>, session: SessionInfo) -> Result<(), TooMany> {
        // Under this lock the connection cannot be taken off the lists while it is put on one.
        let connections = lock(&self.connections);
        if !connections.contains_key(&connection.id())
            || !self.users.insert(connection, session.user_id, self.limits.connections_per_user)
        {
            drop(connections);
            connection.close(CloseCode::TooMany, "retryAfterMs=60000");
            return Err(TooMany);
        }
        self.set_session(connection, session);
        Ok(())
    }

    /// Swaps the token of a logged-in connection for another one of the same user.
    pub(crate) fn set_session(&self, connection: &Arc<Connection>, session: SessionInfo) {
        connection.set_session(session);
        self.heartbeat.watch_expiry(connection);
    }

    /// Moves the end of a session's connections: it was renewed by other means than theirs.
    pub(crate) fn renew_session(&self, user_id: UserId, session_id: SessionId, expires_at: Timestamp) {
        for connection in self.users.connections(user_id) {
            if connection.session().is_some_and(|session| session.session_id == session_id) {
                self.set_session(&connection, SessionInfo { user_id, session_id, expires_at: Some(expires_at) });
            }
        }
    }

    /// Ends the connections of a session with 4401.
    pub(crate) fn end_session(&self, session_id: SessionId) {
        for connection in self.users.connections_where(None, |session| session.session_id == session_id) {
            self.revoke(&connection);
        }
    }

    /// Ends all connections of a user with 4401.
    pub(crate) fn end_user(&self, user_id: UserId) {
        for connection in self.users.connections_where(Some(user_id), |_| true) {
            self.revoke(&connection);
        }
    }

    /// Whether a user has a connection on this node.
    pub(crate) fn is_connected(&self, user_id: UserId) -> bool {
        self.users.contains(user_id)
    }

    /// Waits until somebody's first connection came or last one went.
    pub(crate) async fn moved(&self) {
        self.users.moved().await;
    }

    /// Whose first connection came or last one went, since the last time.
    pub(crate) fn take_moved(&self) -> HashSet<UserId> {
        self.users.take_moved()
    }

    /// What other nodes told of who is there, since the last time.
    pub(crate) fn take_elsewhere(&self) -> Vec<Arc<NodePresence>> {
        self.users.take_elsewhere()
    }

    /// Who listens to rooms on this node: at most `most`, and nobody of a room with more than `crowd` listeners.
    pub(crate) fn listeners(&self, room_ids: &[RoomId], crowd: usize, most: usize) -> HashSet<UserId> {
        let mut listeners = HashSet::new();
        for room in room_ids.iter().filter_map(|room_id| self.find_room(*room_id)) {
            let state = room.lock();
            if state.members.len() > crowd {
                continue;
            }
            for (_, member) in &state.members {
                if listeners.len() >= most {
                    return listeners;
                }
                listeners.insert(member.user_id);
            }
        }
        listeners
    }

    /// How many connections a user has on this node.
    #[cfg(test)]
    pub(crate) fn connections_of(&self, user_id: UserId) -> usize {
        self.users.count(user_id)
    }

    /// Tells every client to come back elsewhere (1001) and waits until they are gone, at most `deadline`.
    pub(crate) async fn drain(&self, deadline: Duration) {
        self.tasks.close();
        let connections: Vec<_> = lock(&self.connections).values().cloned().collect();
        for connection in connections {
            connection.close(CloseCode::GoingAway, "");
        }
        if tokio::time::timeout(deadline, self.tasks.wait()).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "sockets were still open at the drain deadline");
        }
    }

    /// The room on this node; from its making on, the bus reaches it.
    fn room(&self, room_id: RoomId) -> Arc<Room> {
        let mut rooms = lock(&self.rooms);
        let room = rooms.entry(room_id).or_insert_with(|| {
            self.metrics.rooms.inc();
            self.bus.follow(room_id);
            Arc::new(Room::new(room_id, Arc::clone(&self.tail_bytes)))
        });
        Arc::clone(room)
    }

    fn find_room(&self, room_id: RoomId) -> Option<Arc<Room>> {
        lock(&self.rooms).get(&room_id).cloned()
    }

    fn now(&self) -> u32 {
        self.context.pulse.now()
    }

    fn admit(&self, address: Option<IpAddr>) -> bool {
        let Some(address) = address else { return true };
        let mut addresses = lock(&self.addresses);
        let count = addresses.entry(address).or_default();
        let admitted = *count < self.limits.connections_per_address;
        if admitted {
            *count += 1;
        }
        admitted
    }

    fn dismiss(&self, address: IpAddr) {
        let mut addresses = lock(&self.addresses);
        if let Some(count) = addresses.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }
}

/// The user has as many connections as one may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

/// Takes a connection off every list when its task ends, however it ends.
struct Attached {
    hub: Arc<Hub>,
    connection: Arc<Connection>,
    address: Option<IpAddr>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Heard only when the task panicked; else the connection is closed already.
        self.connection.close(CloseCode::Internal, "");
        self.connection.flush();
        lock(&self.hub.connections).remove(&self.connection.id());
        self.hub.users.remove(&self.connection);
        self.hub.leave_all(&self.connection);
        if let Some(address) = self.address {
            self.hub.dismiss(address);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
