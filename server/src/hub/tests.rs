//! The hub over real sockets, with a log in memory in place of the store.

mod losses;
mod properties;
mod subscriptions;

use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use parlour_protocol::{
    Command, ControlEvent, DurableEvent, ErrorCode, Event, Nonce, RoleId, RowKey, UserEvent,
    codec::decode_command_frame,
    event::{MessageDeleted, RoleAssignment, UnsubscribeReason},
    frame::ServerFrame,
    object::{Head, Message},
    operation::{SubscribeReply, Verdict},
};
use serde_json::json;

use super::*;
use crate::{
    bus::{BusEvent, in_process::InProcessBus},
    store::{Append, AppendError, ListQuery, LogEntry, LogRead, Origin, PendingAppend, StoreError},
    ws::connection::tests::{Got, Peer, session, sockets},
};

#[derive(Debug)]
struct FakeRoom {
    epoch: String,
    log: Vec<LogEntry>,
    /// Entries before it are not kept.
    kept_from: u64,
}

/// A log per room, and who is a member.
#[derive(Debug)]
pub(super) struct FakeStore {
    bus: InProcessBus,
    rooms: Mutex<HashMap<RoomId, FakeRoom>>,
    members: Mutex<HashSet<(RoomId, UserId)>>,
    is_down: AtomicBool,
    reads: AtomicU64,
}

impl FakeStore {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bus: InProcessBus::new(),
            rooms: Mutex::default(),
            members: Mutex::default(),
            is_down: AtomicBool::new(false),
            reads: AtomicU64::new(0),
        })
    }

    fn create(&self) -> RoomId {
        let room_id = RoomId::new();
        let room = FakeRoom { epoch: "e1".to_owned(), log: Vec::new(), kept_from: 1 };
        lock(&self.rooms).insert(room_id, room);
        room_id
    }

    fn join(&self, room_id: RoomId, user_id: UserId) {
        lock(&self.members).insert((room_id, user_id));
    }

    /// Appends an entry and, unless the bus loses it, publishes it.
    fn append_entry(&self, room_id: RoomId, event: DurableEvent, cause: Option<ConnectionId>, is_lost: bool) -> u64 {
        let mut rooms = lock(&self.rooms);
        let log = &mut rooms.get_mut(&room_id).unwrap().log;
        let (seq, event) = (log.len() as u64 + 1, Arc::new(event));
        log.push(LogEntry { seq, event: Arc::clone(&event) });
        if !is_lost {
            self.bus.publish(BusEvent::Room { room_id, seq, event, cause });
        }
        seq
    }

    fn say(&self, room_id: RoomId) -> u64 {
        self.append_entry(room_id, plain(), None, false)
    }

    fn head(&self, room_id: RoomId) -> u64 {
        lock(&self.rooms)[&room_id].log.len() as u64
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.is_down.load(Ordering::Relaxed) { Err(StoreError::Unavailable("down".into())) } else { Ok(()) }
    }
}

/// An event that a catch-up tells as it is.
fn plain() -> DurableEvent {
    DurableEvent::RoleAssigned(Box::new(RoleAssignment { role_id: RoleId::new(), user_id: UserId::new() }))
}

/// An event that a catch-up may have to fold, so that memory is not enough.
fn folding() -> DurableEvent {
    DurableEvent::MessageDeleted(Box::new(MessageDeleted { row_key: RowKey::from_tick(1), rev: 2 }))
}

/// An event that its causer can be spared.
fn reaction() -> DurableEvent {
    let data = json!({"rowKey": RowKey::from_tick(1), "rev": 2, "emoji": "👍", "userId": UserId::new(), "count": 1});
    DurableEvent::decode("reaction.added", data).unwrap().unwrap()
}

/// A plain event of a size.
fn long(len: usize) -> DurableEvent {
    let event = json!({"emoji": {
        "emojiId": RoleId::new(), "roomId": RoleId::new(), "name": "x".repeat(len), "userId": UserId::new(),
        "mimetype": "image/png", "createdAt": "2026-01-01T00:00:00.000Z"
    }});
    DurableEvent::decode("emoji.created", event).unwrap().unwrap()
}

#[async_trait]
impl MessageStore for FakeStore {
    async fn append(&self, _: Append) -> PendingAppend {
        unreachable!("the hub does not append")
    }

    fn generation(&self) -> u64 {
        0
    }

    async fn find_nonce(&self, _: RoomId, _: UserId, _: Origin, _: &Nonce) -> Result<Option<Message>, AppendError> {
        unreachable!("the hub does not send")
    }

    async fn heads(&self, room_ids: &[RoomId]) -> Result<Vec<(RoomId, Head)>, StoreError> {
        self.check()?;
        let rooms = lock(&self.rooms);
        let head = |id: &RoomId| {
            let room = rooms.get(id)?;
            Some((*id, Head { epoch: room.epoch.clone(), seq: room.log.len() as u64 }))
        };
        Ok(room_ids.iter().filter_map(head).collect())
    }

    async fn read_log(&self, room_id: RoomId, after: u64, up_to: u64, max: usize) -> Result<LogRead, StoreError> {
        tokio::task::yield_now().await;
        self.check()?;
        self.reads.fetch_add(1, Ordering::Relaxed);
        let rooms = lock(&self.rooms);
        let room = &rooms[&room_id];
        if up_to - after > max as u64 || after + 1 < room.kept_from {
            return Ok(LogRead::OutOfReach);
        }
        let entries = room.log.iter().filter(|entry| entry.seq > after && entry.seq <= up_to).cloned().collect();
        Ok(LogRead::Entries { entries, seq: up_to })
    }

    async fn list(&self, _: ListQuery) -> Result<Vec<Message>, StoreError> {
        unreachable!("the hub does not list")
    }

    async fn get(&self, _: RoomId, _: &[RowKey]) -> Result<Vec<Message>, StoreError> {
        unreachable!("the hub does not read messages")
    }

    async fn canary(&self) -> Result<(), StoreError> {
        self.check()
    }
}

/// The bus of the fake store.
#[derive(Debug)]
struct FakeBus(Arc<FakeStore>);

impl Bus for FakeBus {
    fn publish(&self, event: BusEvent) {
        self.0.bus.publish(event);
    }

    fn sent(&self) -> u64 {
        self.0.bus.sent()
    }

    fn listen(&self) -> tokio::sync::broadcast::Receiver<BusEvent> {
        self.0.bus.listen()
    }
}

pub(super) struct World {
    store: Arc<FakeStore>,
    hub: Arc<Hub>,
    _tasks: TaskTracker,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut HubLimits)) -> Self {
        let store = FakeStore::new();
        let (asked, told) = (Arc::clone(&store), Arc::clone(&store));
        let access = Access {
            check: Box::new(move |room_id, user_id| {
                let is_member = lock(&asked.members).contains(&(room_id, user_id));
                Box::pin(async move { if is_member { Ok(()) } else { Err(ProtocolError::no_access()) } })
            }),
            apply: Box::new(move |room_id, _, event| match event {
                DurableEvent::MemberLeft(left) => {
                    lock(&told.members).remove(&(room_id, left.user_id));
                }
                DurableEvent::RoleRevoked(revoked) => {
                    lock(&told.members).remove(&(room_id, revoked.user_id));
                }
                _ => {}
            }),
            forget: Box::new(|_| {}),
        };
        let mut limits = HubLimits {
            connection: ConnectionLimits { frames_per_second: 0, ..ConnectionLimits::default() },
            heartbeat: HeartbeatLimits::default(),
            max_catch_up: 1000,
            strikes: 3,
            connections_per_user: 100,
            connections_per_address: 1000,
            flush_window: Duration::ZERO,
        };
        change(&mut limits);
        let bus = Arc::new(FakeBus(Arc::clone(&store)));
        let hub = Hub::new(Arc::clone(&store) as Arc<dyn MessageStore>, bus, access, limits, CancellationToken::new());
        let tasks = TaskTracker::new();
        hub.start(&tasks);
        Self { store, hub, _tasks: tasks }
    }

    /// A logged-in client.
    async fn connect(&self, codec: Codec) -> Client {
        self.connect_as(codec, UserId::new()).await
    }

    async fn connect_as(&self, codec: Codec, user_id: UserId) -> Client {
        let (server, client) = sockets().await;
        let hub = Arc::clone(&self.hub);
        let info = SessionInfo { user_id, ..session() };
        let session_id = info.session_id;
        let handle = move |connection: &Arc<Connection>, message: &[u8]| {
            let frame = decode_command_frame(connection.codec(), message).unwrap();
            let (hub, connection, info) = (Arc::clone(&hub), Arc::clone(connection), info.clone());
            match Command::decode(&frame.op, &frame.data).unwrap() {
                Command::SessionHello(_) => {
                    if hub.register_user(&connection, info).is_ok() {
                        connection.reply(&json!({"id": frame.id, "data": {"connectionId": connection.id()}}));
                    }
                }
                Command::SessionPing(_) => {
                    let heads = hub.heads_for(&connection);
                    connection.reply_in_order(&json!({"id": frame.id, "data": {"heads": heads}}));
                }
                Command::RoomSubscribe(request) => {
                    tokio::spawn(async move { hub.subscribe(&connection, frame.id, request).await });
                }
                Command::RoomUnsubscribe(request) => {
                    tokio::spawn(async move { hub.unsubscribe(&connection, frame.id, request).await });
                }
                other => panic!("{other:?}"),
            }
        };
        self.hub.serve_socket(Taken { stream: server, early: Bytes::new() }, codec, None, handle);
        let mut client = Client {
            peer: Peer::new(client),
            codec,
            user_id,
            session_id,
            id: ConnectionId::new(),
            views: HashMap::new(),
            asked: HashMap::new(),
            user_events: Vec::new(),
            last_id: 0,
        };
        client.command("session.hello", json!({})).await;
        if let Got::Message(message) = client.peer.next().await {
            let ServerFrame::Reply(reply) = client.codec.decode_server_frame(&message).unwrap() else {
                panic!("no hello reply")
            };
            client.id = serde_json::from_value(reply.result.unwrap()["connectionId"].clone()).unwrap();
        }
        client
    }
}

/// What a client knows of a room, by the rules of the protocol.
#[derive(Debug, Default, Clone)]
struct View {
    sub: u64,
    verdict: Option<Verdict>,
    error: Option<ErrorCode>,
    epoch: String,
    position: u64,
    is_live: bool,
    /// Every seq that was delivered.
    seen: Vec<u64>,
    /// Jumps over what cannot be caught up.
    gaps: usize,
    behind: usize,
    pages: usize,
    advanced: Vec<u64>,
    ended: Option<UnsubscribeReason>,
    hints: usize,
}

struct Client {
    peer: Peer,
    codec: Codec,
    user_id: UserId,
    session_id: SessionId,
    id: ConnectionId,
    views: HashMap<RoomId, View>,
    asked: HashMap<u64, Vec<(RoomId, Option<u64>)>>,
    user_events: Vec<UserEvent>,
    last_id: u64,
}

impl Client {
    async fn command(&mut self, op: &str, data: serde_json::Value) -> u64 {
        self.last_id += 1;
        let frame = self.codec.encode(&json!({"id": self.last_id, "op": op, "data": data}));
        let first = if self.codec == Codec::Json { 0x81 } else { 0x82 };
        self.peer.send(first, &frame).await;
        self.last_id
    }

    /// Sends a subscribe; a position is `since`.
    async fn ask(&mut self, rooms: &[(RoomId, Option<u64>)], echo: bool) -> u64 {
        let list: Vec<_> = rooms
            .iter()
            .map(|(room_id, since)| {
                let epoch = self.views.get(room_id).map_or("e1", |view| &view.epoch);
                let epoch = if epoch.is_empty() { "e1" } else { epoch };
                match since {
                    Some(seq) => json!({"roomId": room_id, "since": {"epoch": epoch, "seq": seq}}),
                    None => json!({"roomId": room_id}),
                }
            })
            .collect();
        let id = self.command("room.subscribe", json!({"rooms": list, "echo": echo})).await;
        self.asked.insert(id, rooms.to_vec());
        id
    }

    /// Subscribes one room and reads up to the reply.
    async fn subscribe(&mut self, room_id: RoomId, since: Option<u64>) -> View {
        let id = self.ask(&[(room_id, since)], true).await;
        while self.asked.contains_key(&id) {
            self.step().await;
        }
        self.views[&room_id].clone()
    }

    /// Reads until the client's position in a room.
    async fn read_to(&mut self, room_id: RoomId, position: u64) {
        while self.views[&room_id].position < position || !self.views[&room_id].is_live {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        match self.peer.next().await {
            Got::Message(message) => self.take(&message),
            Got::Ping => {}
            other => panic!("{other:?}"),
        }
    }

    fn take(&mut self, message: &[u8]) {
        match self.codec.decode_server_frame(message).unwrap() {
            ServerFrame::Reply(reply) => {
                let Some(asked) = self.asked.remove(&reply.id) else { return };
                let reply: SubscribeReply = serde_json::from_value(reply.result.unwrap()).unwrap();
                assert_eq!(reply.rooms.len(), asked.len());
                for ((room_id, since), answer) in asked.into_iter().zip(reply.rooms) {
                    assert_eq!(answer.room_id, room_id);
                    let view = self.views.entry(room_id).or_default();
                    if answer.verdict == Verdict::Error {
                        view.error = answer.error.map(|error| error.code);
                        continue;
                    }
                    assert!(answer.sub > view.sub, "a new number for every subscription");
                    view.sub = answer.sub;
                    view.verdict = Some(answer.verdict);
                    view.epoch = answer.epoch;
                    view.ended = None;
                    match answer.verdict {
                        Verdict::Exact => {
                            view.position = since.unwrap();
                            view.is_live = false;
                        }
                        Verdict::Live => {
                            view.position = answer.seq;
                            view.is_live = true;
                        }
                        _ => {
                            view.gaps += 1;
                            view.position = answer.seq;
                            view.is_live = true;
                        }
                    }
                }
            }
            ServerFrame::Event(Some(event)) => self.take_event(event),
            ServerFrame::Event(None) => panic!("an unknown event"),
        }
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::Durable { room_id, seq, .. } => {
                let view = self.views.get_mut(&room_id).unwrap();
                assert!(view.ended.is_none(), "an event after the end");
                if seq <= view.position || !view.is_live {
                    // Only on the way to a new subscription may old ones still come.
                    assert!(!self.asked.is_empty() || view.seen.contains(&seq), "{seq} at {view:?}");
                    return;
                }
                assert_eq!(seq, view.position + 1, "a hole");
                view.position = seq;
                view.seen.push(seq);
            }
            Event::Control { room_id, sub, seq, event } => {
                let view = self.views.get_mut(&room_id).unwrap();
                if sub != view.sub {
                    return;
                }
                match event {
                    ControlEvent::CatchUp(page) => {
                        assert!(!view.is_live, "a page without need");
                        view.pages += 1;
                        for entry in page.entries {
                            assert!(entry.seq > view.position, "an entry twice");
                            view.position = entry.seq;
                            view.seen.push(entry.seq);
                        }
                        assert!(page.seq >= view.position);
                        view.position = page.seq;
                        view.is_live = page.done;
                    }
                    ControlEvent::Advanced(_) => {
                        assert_eq!(seq, Some(view.position + 1));
                        view.position += 1;
                        view.advanced.push(view.position);
                    }
                    ControlEvent::Behind(behind) => {
                        assert_eq!(behind.seq, view.position, "behind from what was delivered last");
                        view.behind += 1;
                        if behind.verdict == Verdict::Gap {
                            view.gaps += 1;
                            view.position = behind.head;
                            view.is_live = true;
                        } else {
                            view.is_live = false;
                        }
                    }
                    ControlEvent::Unsubscribed(unsubscribed) => view.ended = Some(unsubscribed.reason),
                }
            }
            Event::Ephemeral { room_id, .. } => self.views.get_mut(&room_id).unwrap().hints += 1,
            Event::User(event) => self.user_events.push(event),
        }
    }
}
