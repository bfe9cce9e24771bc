//! The scripted server's sockets and its script.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use parlour_protocol::{
    RoomId, RowKey, UserId, codec::Codec, event::UnsubscribeReason, limits::Limits, object::Message,
};
use tokio::{
    io::DuplexStream,
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        Message as WsMessage,
        handshake::server::{Request, Response},
        http::{HeaderValue, header},
        protocol::CloseFrame,
    },
};

use super::{
    EventFault, Fault, Received, RoomModel,
    world::{Out, World},
};
use crate::{Client, ClientBuilder, builder::Dialer, transport::BoxStream};

const QUEUE: usize = 100_000;

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    tasks: Mutex<JoinSet<()>>,
    frozen: watch::Sender<bool>,
    refused: Mutex<usize>,
    dials: Mutex<Vec<Instant>>,
}

/// A server in this process. Clones are the same server.
#[derive(Debug, Clone)]
pub struct FakeServer {
    shared: Arc<Shared>,
    user: UserId,
    other: UserId,
}

impl Default for FakeServer {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeServer {
    /// A server without rooms, with the token `token` of one account.
    pub fn new() -> Self {
        let mut world = World::new();
        let user = UserId::new();
        world.tokens.insert("token".into(), user);
        let shared = Shared {
            world: Mutex::new(world),
            tasks: Mutex::new(JoinSet::new()),
            frozen: watch::channel(false).0,
            refused: Mutex::new(0),
            dials: Mutex::new(Vec::new()),
        };
        Self { shared: Arc::new(shared), user, other: UserId::new() }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client of this server, with its token.
    pub fn client(&self) -> ClientBuilder {
        // Tasks hold the shared state weakly: when the test drops the server, they end.
        let shared = Arc::downgrade(&self.shared);
        let dialer: Dialer = Arc::new(move || {
            let shared = shared.upgrade();
            Box::pin(async move {
                let shared = shared.ok_or(io::ErrorKind::ConnectionRefused)?;
                dial(&shared)
            })
        });
        Client::builder("http://fake.invalid").token("token").dialer(dialer)
    }

    /// The account of the token.
    pub fn user(&self) -> UserId {
        self.user
    }

    /// Somebody else.
    pub fn other(&self) -> UserId {
        self.other
    }

    /// Lets another token in, or the account in by another token.
    pub fn add_token(&self, token: &str, user: UserId) {
        self.world().tokens.insert(token.into(), user);
    }

    /// Takes a token back.
    pub fn revoke_token(&self, token: &str) {
        self.world().tokens.remove(token);
    }

    /// Makes a room.
    pub fn create_room(&self) -> RoomId {
        let room_id = RoomId::new();
        self.world().rooms.insert(room_id, RoomModel::new(room_id));
        room_id
    }

    /// Looks at a room, or changes what nobody is told of.
    pub fn with_room<T>(&self, room_id: RoomId, look: impl FnOnce(&mut RoomModel) -> T) -> T {
        look(self.world().rooms.get_mut(&room_id).expect("the room exists"))
    }

    /// Removes a room without a word.
    pub fn remove_room(&self, room_id: RoomId) {
        self.world().rooms.remove(&room_id);
    }

    /// The messages of a room, oldest first.
    pub fn messages(&self, room_id: RoomId) -> Vec<Message> {
        self.with_room(room_id, |room| room.messages.values().rev().cloned().collect())
    }

    /// Somebody else writes.
    pub fn post(&self, room_id: RoomId, text: &str) -> RowKey {
        let mut world = self.world();
        let room = world.rooms.get_mut(&room_id).expect("the room exists");
        let entry = room.create(self.other, text, None, None);
        let row_key = *room.messages.keys().next().expect("it was created");
        world.publish(room_id, &entry, None);
        row_key
    }

    /// Somebody else changes, and everybody is told.
    pub fn change(&self, room_id: RoomId, change: impl FnOnce(&mut RoomModel) -> Option<super::LogEntry>) {
        let mut world = self.world();
        let entry = change(world.rooms.get_mut(&room_id).expect("the room exists"));
        if let Some(entry) = entry {
            world.publish(room_id, &entry, None);
        }
    }

    /// What happens to the next command of an operation. Several queue up.
    pub fn script(&self, op: &str, fault: Fault) {
        self.world().faults.push_back((op.into(), fault));
    }

    /// What happens to the next live events.
    pub fn script_events(&self, faults: impl IntoIterator<Item = EventFault>) {
        self.world().event_faults.extend(faults);
    }

    /// Everything received so far.
    pub fn received(&self) -> Vec<Received> {
        self.world().received.clone()
    }

    /// Commands of one operation received so far.
    pub fn received_of(&self, op: &str) -> Vec<Received> {
        self.received().into_iter().filter(|received| received.op == op).collect()
    }

    /// When clients dialled.
    pub fn dials(&self) -> Vec<Instant> {
        self.shared.dials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses the next connections.
    pub fn refuse_dials(&self, count: usize) {
        *self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner) = count;
    }

    /// Breaks all sockets.
    pub fn cut(&self) {
        self.to_all(|| Out::Cut);
    }

    /// Closes all sockets with a code.
    pub fn close(&self, code: u16, reason: &str) {
        self.to_all(|| Out::Close(code, reason.into()));
    }

    fn to_all(&self, out: impl Fn() -> Out) {
        let mut world = self.world();
        let ids: Vec<_> = world.connections.keys().copied().collect();
        for id in ids {
            world.put(id, out());
        }
    }

    /// Half-open: the sockets stay, and nothing goes in or out any more. Later connections are as they were.
    pub fn freeze(&self) {
        self.shared.frozen.send_replace(true);
        self.world().connections.clear();
        self.shared.frozen.send_replace(false);
    }

    /// Answers nothing any more to commands, although the sockets live.
    pub fn set_silent(&self, is_silent: bool) {
        self.world().is_silent = is_silent;
    }

    /// Steps the server's clock.
    pub fn step_clock(&self, millis: i64) {
        self.world().clock += millis;
    }

    /// Sets the limits of later hellos.
    pub fn set_limits(&self, limits: Limits) {
        self.world().limits = limits;
    }

    /// Sets how much a catch-up may have.
    pub fn set_max_catch_up(&self, entries: u64) {
        self.world().max_catch_up = entries;
    }

    /// Drops everybody's live events of a room and goes on from the store.
    pub fn fall_behind(&self, room_id: RoomId, delivered: u64) {
        self.world().fall_behind(room_id, delivered);
    }

    /// Ends everybody's subscription of a room.
    pub fn end(&self, room_id: RoomId, reason: UnsubscribeReason) {
        self.world().end(room_id, reason);
    }

    /// Tells everybody that a room has appeared.
    pub fn announce(&self, room_id: RoomId) {
        self.world().announce(room_id);
    }
}

fn dial(shared: &Arc<Shared>) -> io::Result<BoxStream> {
    shared.dials.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
    let mut refused = shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
    if *refused > 0 {
        *refused -= 1;
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let (client, server) = tokio::io::duplex(64 << 10);
    let mut tasks = shared.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    tasks.spawn(serve(Arc::downgrade(shared), server));
    Ok(Box::new(client))
}

async fn serve(shared: std::sync::Weak<Shared>, stream: DuplexStream) {
    let mut codec = Codec::Json;
    let choose = |request: &Request, mut response: Response| {
        let wanted = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).and_then(|value| value.to_str().ok());
        codec = wanted.and_then(Codec::from_subprotocol).unwrap_or_default();
        let chosen = HeaderValue::from_static(codec.subprotocol());
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr_async(stream, choose).await else { return };
    let (out, mut queue) = mpsc::channel(QUEUE);
    let Some(opened) = shared.upgrade() else { return };
    let (id, latency) = {
        let mut world = opened.world.lock().unwrap_or_else(PoisonError::into_inner);
        (world.open(codec, out), world.latency)
    };
    let mut frozen = opened.frozen.subscribe();
    drop(opened);
    let mut waiting: std::collections::VecDeque<(Instant, Out)> = std::collections::VecDeque::new();
    loop {
        let next_at = waiting.front().map_or_else(far_away, |(at, _)| *at);
        tokio::select! {
            biased;
            changed = frozen.changed() => {
                if changed.is_err() { return }
                // Nothing is read, written or closed from here on, as on a half-open connection.
                std::future::pending::<()>().await;
            }
            Some(out) = queue.recv() => waiting.push_back((Instant::now() + latency, out)),
            () = sleep_until(next_at) => match waiting.pop_front() {
                Some((_, Out::Frame(frame))) => {
                    let message = match codec {
                        Codec::Json => WsMessage::text(String::from_utf8(frame).unwrap_or_default()),
                        Codec::MessagePack => WsMessage::binary(frame),
                    };
                    if socket.send(message).await.is_err() { break }
                }
                Some((_, Out::Close(code, reason))) => {
                    let frame = CloseFrame { code: code.into(), reason: reason.into() };
                    if socket.close(Some(frame)).await.is_err() { break }
                }
                Some((_, Out::Cut)) | None => break,
            },
            message = socket.next() => {
                let Some(Ok(message)) = message else { break };
                let Some(shared) = shared.upgrade() else { return };
                let mut world = shared.world.lock().unwrap_or_else(PoisonError::into_inner);
                if message.is_text() || message.is_binary() {
                    if !world.is_silent {
                        world.receive(id, &message.into_data());
                    }
                } else if message.is_close() {
                    break;
                }
            }
        }
    }
    if let Some(shared) = shared.upgrade() {
        shared.world.lock().unwrap_or_else(PoisonError::into_inner).connections.remove(&id);
    }
}

fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(86_400)
}
