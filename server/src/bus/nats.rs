//! The bus between nodes: NATS, at most once.
//!
//! What this node publishes goes to its own listeners as in a single process and, over one queue, to the others. The
//! nodes' messages of a room have the subject `parlour.room.<id>`, listened to while somebody here needs it; all else
//! has `parlour.nodes`. Nothing waits for NATS: what finds the queue full or the link down is dropped, and whoever
//! may have missed something is told so.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_nats::{Client, ConnectOptions, Event, RequestErrorKind, ServerAddr, Subscriber, connection::State};
use bytes::Bytes;
use futures_util::StreamExt;
use parlour_protocol::RoomId;
use tokio::{
    sync::{Notify, broadcast, mpsc, watch},
    time,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Bus, BusEvent, Link, in_process::InProcessBus, wire};

/// Events that wait to be sent to the other nodes; beyond it they are dropped, and the others told.
const QUEUE: usize = 65_536;
/// Events taken from the queue at once.
const BATCH: usize = 512;
/// Bytes of one message; a larger batch is cut. NATS takes a megabyte.
const MESSAGE_BYTES: usize = 256 * 1024;
/// Messages of one subject that may wait here; beyond it they are lost, and this node repairs.
const SUBSCRIPTION: usize = 16_384;
/// How long a connection to NATS may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Between two proofs that the link works, and how long one may take.
const CANARY_EVERY: Duration = Duration::from_secs(1);
const CANARY_DEADLINE: Duration = Duration::from_secs(1);
/// How long a subscribe waits for its rooms.
const FOLLOW_DEADLINE: Duration = Duration::from_secs(1);
/// Longest pause between two attempts to connect.
const RECONNECT_MAX: Duration = Duration::from_secs(1);
/// The subject of what is for all nodes.
const NODES: &str = "parlour.nodes";
/// Nobody listens to it: that NATS says so proves that it has taken in everything sent before.
const NOBODY: &str = "parlour.nobody";

/// NATS is not reached, or lets nobody in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It is no address.
    #[error("failed to read nats_url: {0}")]
    Address(std::io::Error),
    /// It does not answer as it should.
    #[error("failed to connect to NATS, see nats_url: {0}")]
    Connect(String),
}

/// A bus between nodes.
pub(crate) struct NatsBus {
    local: InProcessBus,
    queue: mpsc::Sender<BusEvent>,
    wanted: Mutex<Wanted>,
    has_wanted: Notify,
    /// The version of [`Wanted`] that NATS has taken in.
    followed: watch::Sender<u64>,
    is_up: AtomicBool,
    /// The link was lost since the last proof that it works.
    was_lost: AtomicBool,
    /// Events that the other nodes did not get since they were told last.
    dropped: AtomicU64,
    /// The link was lost, or a message of it: what else came meanwhile is not known.
    missed: Notify,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Rooms to begin or to end listening to.
#[derive(Default)]
struct Wanted {
    rooms: HashSet<RoomId>,
    changed: HashSet<RoomId>,
    version: u64,
}

impl std::fmt::Debug for NatsBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsBus").field("is_up", &self.is_up).finish_non_exhaustive()
    }
}

impl NatsBus {
    /// Connects, and begins to carry events.
    ///
    /// # Errors
    /// When NATS is not reached.
    pub(crate) async fn start(
        urls: &str,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, ConnectError> {
        let addresses: Result<Vec<ServerAddr>, _> = urls.split(',').map(|url| url.trim().parse()).collect();
        let addresses = addresses.map_err(ConnectError::Address)?;
        let (queue, queued) = mpsc::channel(QUEUE);
        let bus = Arc::new(Self {
            local: InProcessBus::new(),
            queue,
            wanted: Mutex::default(),
            has_wanted: Notify::new(),
            followed: watch::Sender::new(0),
            is_up: AtomicBool::new(false),
            was_lost: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            missed: Notify::new(),
            tasks: tasks.clone(),
            stop,
        });
        let client = bus.connect(addresses).await?;
        let nodes = client.subscribe(NODES).await.map_err(|error| ConnectError::Connect(error.to_string()))?;
        ping(&client).await.map_err(ConnectError::Connect)?;
        bus.is_up.store(true, Ordering::Release);
        tasks.spawn(Arc::clone(&bus).hear(nodes, bus.stop.child_token()));
        tasks.spawn(Arc::clone(&bus).send(client.clone(), queued));
        tasks.spawn(Arc::clone(&bus).keep_subscriptions(client.clone()));
        tasks.spawn(Arc::clone(&bus).watch_link(client));
        Ok(bus)
    }

    async fn connect(self: &Arc<Self>, addresses: Vec<ServerAddr>) -> Result<Client, ConnectError> {
        let bus = Arc::downgrade(self);
        let options = ConnectOptions::new()
            .name("parlour")
            .no_echo()
            .connection_timeout(CONNECT)
            .request_timeout(Some(CANARY_DEADLINE))
            .ping_interval(Duration::from_secs(5))
            .subscription_capacity(SUBSCRIPTION)
            .reconnect_delay_callback(|attempts| {
                let pause = Duration::from_millis(50 << attempts.min(5));
                pause.min(RECONNECT_MAX)
            })
            .event_callback(move |event| {
                let bus = bus.clone();
                async move {
                    if let Some(bus) = bus.upgrade() {
                        bus.note(&event);
                    }
                }
            });
        options.connect(addresses).await.map_err(|error| ConnectError::Connect(error.to_string()))
    }

    fn note(&self, event: &Event) {
        match event {
            Event::Connected => tracing::info!("connected to NATS"),
            Event::Disconnected => {
                tracing::warn!("the link to NATS is lost; events of other nodes come from the store until it is back");
                self.is_up.store(false, Ordering::Release);
                self.was_lost.store(true, Ordering::Release);
            }
            Event::SlowConsumer(_) => {
                tracing::warn!("messages of other nodes came faster than they were taken; repairing from the store");
                self.missed.notify_one();
            }
            event => tracing::info!(%event, "NATS"),
        }
    }

    /// Takes in what a subject brings.
    async fn hear(self: Arc<Self>, mut subject: Subscriber, end: CancellationToken) {
        while let Some(message) = end.run_until_cancelled(subject.next()).await.flatten() {
            for event in wire::events(message.payload) {
                match event {
                    Some(event) => self.local.publish(event),
                    None => tracing::warn!("another node told something that this version does not know"),
                }
            }
        }
        // When the link is gone it ends by itself.
        drop(time::timeout(CANARY_DEADLINE, subject.unsubscribe()).await);
    }

    /// Sends what is queued, what is of one subject in one message.
    async fn send(self: Arc<Self>, client: Client, mut queue: mpsc::Receiver<BusEvent>) {
        let mut events = Vec::with_capacity(BATCH);
        loop {
            let taken = tokio::select! {
                biased;
                taken = queue.recv_many(&mut events, BATCH) => taken,
                () = self.stop.cancelled() => 0,
            };
            if taken == 0 {
                // The last words leave before the process ends.
                drop(time::timeout(CANARY_DEADLINE, client.flush()).await);
                return;
            }
            let count = events.len() as u64;
            if client.connection_state() != State::Connected || !self.send_batch(&client, events.drain(..)).await {
                events.clear();
                self.dropped.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    async fn send_batch(&self, client: &Client, events: impl Iterator<Item = BusEvent>) -> bool {
        let mut messages: Vec<(Option<RoomId>, Vec<u8>)> = Vec::new();
        let mut open: HashMap<Option<RoomId>, usize> = HashMap::new();
        for event in events {
            let subject = wire::room_of(&event);
            let place = open.get(&subject).copied().filter(|place| messages[*place].1.len() < MESSAGE_BYTES);
            let place = place.unwrap_or_else(|| {
                messages.push((subject, Vec::with_capacity(1024)));
                open.insert(subject, messages.len() - 1);
                messages.len() - 1
            });
            wire::push(&mut messages[place].1, &event);
        }
        for (subject, message) in messages {
            let subject = subject.map_or_else(|| NODES.to_owned(), subject_of);
            // The client's own queue is bounded: it does not wait for a link that is gone.
            match time::timeout(CANARY_DEADLINE, client.publish(subject, message.into())).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, "an event was not sent to the other nodes");
                    return false;
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Begins and ends listening to rooms.
    async fn keep_subscriptions(self: Arc<Self>, client: Client) {
        let mut heard: HashMap<RoomId, CancellationToken> = HashMap::new();
        while self.stop.run_until_cancelled(self.has_wanted.notified()).await.is_some() {
            let (changed, version) = {
                let mut wanted = lock(&self.wanted);
                let changed: Vec<(RoomId, bool)> = std::mem::take(&mut wanted.changed)
                    .into_iter()
                    .map(|room_id| (room_id, wanted.rooms.contains(&room_id)))
                    .collect();
                (changed, wanted.version)
            };
            for (room_id, is_wanted) in changed {
                if !is_wanted {
                    if let Some(end) = heard.remove(&room_id) {
                        end.cancel();
                    }
                } else if let Entry::Vacant(vacant) = heard.entry(room_id) {
                    match self.stop.run_until_cancelled(client.subscribe(subject_of(room_id))).await {
                        Some(Ok(subject)) => {
                            let end = self.stop.child_token();
                            self.tasks.spawn(Arc::clone(&self).hear(subject, end.clone()));
                            vacant.insert(end);
                        }
                        Some(Err(error)) => tracing::warn!(%error, room.id = %room_id, "a room is not listened to"),
                        None => return,
                    }
                }
            }
            // While the link is down the client keeps what it has to subscribe; the store is read until then.
            if let Err(error) = ping(&client).await {
                tracing::debug!(%error, "NATS did not confirm a subscription");
            }
            self.followed.send_replace(version);
        }
    }

    /// Proves every second that the link works, and tells of what was lost when it did not.
    async fn watch_link(self: Arc<Self>, client: Client) {
        let mut was_up = true;
        loop {
            let is_told = tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.missed.notified() => true,
                () = time::sleep(CANARY_EVERY) => false,
            };
            let is_up = match ping(&client).await {
                Ok(()) => true,
                Err(error) => {
                    if was_up {
                        tracing::warn!(%error, "NATS does not answer");
                    }
                    false
                }
            };
            self.is_up.store(is_up, Ordering::Release);
            was_up &= !self.was_lost.swap(false, Ordering::AcqRel);
            if (is_up && !was_up) || is_told {
                self.local.publish(BusEvent::Missed);
            }
            if is_up {
                let dropped = self.dropped.swap(0, Ordering::Relaxed);
                if dropped > 0 || !was_up {
                    tracing::warn!(dropped, "events were not sent to the other nodes; they repair from the store");
                    let mut message = Vec::new();
                    wire::push(&mut message, &BusEvent::Missed);
                    if client.publish(NODES, message.into()).await.is_err() {
                        self.dropped.fetch_add(dropped.max(1), Ordering::Relaxed);
                    }
                }
            }
            was_up = is_up;
        }
    }
}

impl Bus for NatsBus {
    fn publish(&self, event: BusEvent) {
        self.local.publish(event.clone());
        if self.queue.try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn publish_here(&self, event: BusEvent) {
        self.local.publish(event);
    }

    fn sent(&self) -> u64 {
        self.local.sent()
    }

    fn listen(&self) -> broadcast::Receiver<BusEvent> {
        self.local.listen()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn follow(&self, room_id: RoomId) {
        let mut wanted = lock(&self.wanted);
        wanted.rooms.insert(room_id);
        wanted.changed.insert(room_id);
        wanted.version += 1;
        drop(wanted);
        self.has_wanted.notify_one();
    }

    fn unfollow(&self, room_id: RoomId) {
        let mut wanted = lock(&self.wanted);
        wanted.rooms.remove(&room_id);
        wanted.changed.insert(room_id);
        wanted.version += 1;
        drop(wanted);
        self.has_wanted.notify_one();
    }

    fn followed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let version = lock(&self.wanted).version;
            if *self.followed.borrow() >= version || self.link() == Link::Down {
                return;
            }
            let mut followed = self.followed.subscribe();
            let waited = time::timeout(FOLLOW_DEADLINE, followed.wait_for(|done| *done >= version)).await;
            if waited.is_err() {
                tracing::warn!("NATS is slow to listen to rooms; the store is compared meanwhile");
            }
        })
    }

    fn link(&self) -> Link {
        if self.is_up.load(Ordering::Acquire) { Link::Up } else { Link::Down }
    }
}

fn subject_of(room_id: RoomId) -> String {
    format!("parlour.room.{room_id}")
}

/// Waits until NATS has taken in what was sent to it before.
async fn ping(client: &Client) -> Result<(), String> {
    if client.connection_state() != State::Connected {
        return Err("not connected".to_owned());
    }
    match time::timeout(CANARY_DEADLINE, client.request(NOBODY, Bytes::new())).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
