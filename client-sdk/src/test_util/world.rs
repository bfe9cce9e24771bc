//! What the scripted server knows, and how it answers.

use std::collections::{BTreeMap, HashMap, VecDeque};

use parlour_protocol::{
    ConnectionId, ControlEvent, DurableEvent, ErrorCode, Event, Permissions, ProtocolError, RoomId, SessionId,
    Timestamp, UserEvent, UserId,
    codec::Codec,
    event::{Behind, CatchUp, RoomAdded, UnsubscribeReason, Unsubscribed},
    frame::ReplyFrame,
    limits::Limits,
    object::{Empty, Head, Membership, Page, Room, RoomType, RoomView, User},
    operation::{
        HelloReply, MessageGet, MessageGetReply, MessageList, MessageListReply, MessageReply, MessageSend, Order,
        PingReply, ReactionReply, RevReply, RoomSubscribe, RoomUnsubscribe, ServerInfo, SessionHello, SubscribeReply,
        Subscribed, Verdict,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::{EventFault, Fault, LogEntry, RoomModel};

/// A command that the server received.
#[derive(Debug, Clone)]
pub struct Received {
    /// The connection, counted from 1.
    pub connection: u64,
    /// The operation.
    pub op: String,
    /// Its data.
    pub data: Value,
    /// When.
    pub at: Instant,
}

/// What goes to a connection.
#[derive(Debug)]
pub(super) enum Out {
    Frame(Vec<u8>),
    Close(u16, String),
    Cut,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) user: Option<UserId>,
    pub(super) codec: Codec,
    pub(super) out: mpsc::Sender<Out>,
    subs: HashMap<RoomId, u64>,
    echo: bool,
    next_sub: u64,
    held: Option<Event>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) rooms: BTreeMap<RoomId, RoomModel>,
    pub(super) connections: BTreeMap<u64, Connection>,
    pub(super) received: Vec<Received>,
    pub(super) tokens: HashMap<String, UserId>,
    pub(super) faults: VecDeque<(String, Fault)>,
    pub(super) event_faults: VecDeque<EventFault>,
    pub(super) is_silent: bool,
    pub(super) clock: i64,
    pub(super) limits: Limits,
    pub(super) heartbeat_ms: u64,
    pub(super) latency: std::time::Duration,
    pub(super) max_catch_up: u64,
    failing: HashMap<RoomId, Instant>,
    last_connection: u64,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            rooms: BTreeMap::new(),
            connections: BTreeMap::new(),
            received: Vec::new(),
            tokens: HashMap::new(),
            faults: VecDeque::new(),
            event_faults: VecDeque::new(),
            is_silent: false,
            clock: 1_772_366_400_000,
            limits: Limits::default(),
            heartbeat_ms: 15_000,
            latency: std::time::Duration::from_millis(5),
            max_catch_up: 1000,
            failing: HashMap::new(),
            last_connection: 0,
        }
    }

    pub(super) fn open(&mut self, codec: Codec, out: mpsc::Sender<Out>) -> u64 {
        self.last_connection += 1;
        let connection =
            Connection { user: None, codec, out, subs: HashMap::new(), echo: true, next_sub: 0, held: None };
        self.connections.insert(self.last_connection, connection);
        self.last_connection
    }

    /// A frame of a client.
    pub(super) fn receive(&mut self, id: u64, bytes: &[u8]) {
        let Some(codec) = self.connections.get(&id).map(|connection| connection.codec) else { return };
        let incoming = parlour_protocol::codec::decode_command_frame(codec, bytes).expect("a client's frame is one");
        let (command, op) = (incoming.id, incoming.op.into_owned());
        let data: Value = serde_json::from_str(&incoming.data).expect("a client's data is JSON");
        self.received.push(Received { connection: id, op: op.clone(), data: data.clone(), at: Instant::now() });
        let place = self.faults.iter().position(|(faulty, _)| *faulty == op);
        let fault = place.and_then(|place| self.faults.remove(place)).map(|(_, fault)| fault);
        let room_id: Option<RoomId> = data["roomId"].as_str().and_then(|text| text.parse().ok());
        let is_failing = op == "message.send"
            && room_id.and_then(|room_id| self.failing.get(&room_id)).is_some_and(|until| Instant::now() < *until);
        let unavailable = || ProtocolError::new(ErrorCode::Unavailable, "behind one that failed");
        match fault {
            _ if is_failing => self.reply::<Empty>(id, command, Err(unavailable())),
            None => self.carry_out(id, command, &op, &data, true),
            Some(Fault::Refuse(error)) => {
                self.fail_behind(&error, room_id);
                self.reply::<Empty>(id, command, Err(error));
            }
            Some(Fault::FailAfter(error)) => {
                self.carry_out(id, command, &op, &data, false);
                self.fail_behind(&error, room_id);
                self.reply::<Empty>(id, command, Err(error));
            }
            Some(Fault::LoseReply) => self.carry_out(id, command, &op, &data, false),
            Some(Fault::LoseCommand) => {}
            Some(Fault::CutAfter) => {
                self.carry_out(id, command, &op, &data, false);
                self.put(id, Out::Cut);
            }
            Some(Fault::CutBefore) => self.put(id, Out::Cut),
        }
    }

    /// Sends that were received behind a failed one fail too, until its answer can have arrived.
    fn fail_behind(&mut self, error: &ProtocolError, room_id: Option<RoomId>) {
        if let Some(room_id) = room_id.filter(|_| error.code.is_ambiguous()) {
            self.failing.insert(room_id, Instant::now() + self.latency);
        }
    }

    fn carry_out(&mut self, id: u64, command: u64, op: &str, data: &Value, replies: bool) {
        let user = self.connections.get(&id).and_then(|connection| connection.user);
        let Some(user) = user else {
            let result = if op == "session.hello" { self.hello(id, data) } else { Err(no_token()) };
            let is_refused = result.is_err();
            self.reply(id, command, result);
            if is_refused {
                self.put(id, Out::Close(4401, "unauthenticated".into()));
            }
            return;
        };
        let mut after: Vec<Event> = Vec::new();
        let mut published: Vec<(RoomId, LogEntry)> = Vec::new();
        let result = match op {
            "session.ping" => Ok(json!(self.ping(id))),
            "session.refresh" => Ok(json!({ "sessionId": SessionId::new() })),
            "room.subscribe" => Ok(json!(self.subscribe(id, &parse::<RoomSubscribe>(data), &mut after))),
            "room.unsubscribe" => {
                let rooms = parse::<RoomUnsubscribe>(data);
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.subs.retain(|room_id, _| !rooms.room_ids.contains(room_id));
                }
                Ok(json!({}))
            }
            "message.send" => self.send(user, &parse(data), &mut published),
            "message.list" => self.list(&parse(data)),
            "message.get" => self.get(&parse(data)),
            "message.edit" | "message.delete" | "reaction.add" | "reaction.remove" => {
                self.change(user, op, data, &mut published)
            }
            "room.list" => {
                let items = self.rooms.values().map(|room| self.view(room, user)).collect();
                Ok(json!(Page { items, next_cursor: String::new(), has_more: false }))
            }
            "room.get" => {
                let room_id = data["roomId"].as_str().and_then(|text| text.parse().ok());
                let room = room_id.and_then(|room_id: RoomId| self.rooms.get(&room_id));
                room.map(|room| json!(self.view(room, user))).ok_or_else(ProtocolError::no_access)
            }
            "dm.list" => Ok(json!(Page::<RoomView>::default())),
            "typing.start" => Ok(json!({})),
            _ => Err(ProtocolError::new(ErrorCode::Unsupported, op)),
        };
        for (room_id, entry) in published {
            self.publish(room_id, &entry, Some(id));
        }
        if replies {
            self.reply(id, command, result);
        }
        for event in after {
            self.emit(id, &event);
        }
    }

    fn hello(&mut self, id: u64, data: &Value) -> Result<Value, ProtocolError> {
        let hello = parse::<SessionHello>(data);
        let token = hello.token.ok_or_else(no_token)?;
        let user = *self.tokens.get(token.expose()).ok_or_else(no_token)?;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.user = Some(user);
        }
        let latest = self.rooms.values().map(RoomModel::latest_millis).max().unwrap_or(0);
        Ok(json!(HelloReply {
            connection_id: ConnectionId::new(),
            session_id: SessionId::new(),
            user: person(user),
            server: ServerInfo { version: "0.0.0".into(), time: Timestamp::from_millis(self.clock.max(latest)) },
            heartbeat_ms: self.heartbeat_ms,
            limits: self.limits.clone(),
        }))
    }

    fn ping(&self, id: u64) -> PingReply {
        let subs = self.connections.get(&id).into_iter().flat_map(|connection| connection.subs.keys());
        let heads = subs.filter_map(|room_id| Some((*room_id, self.rooms.get(room_id)?.head()))).collect();
        PingReply { time: Timestamp::from_millis(self.clock), heads }
    }

    fn subscribe(&mut self, id: u64, request: &RoomSubscribe, after: &mut Vec<Event>) -> SubscribeReply {
        let Some(connection) = self.connections.get_mut(&id) else { return SubscribeReply { rooms: vec![] } };
        connection.echo = request.echo.unwrap_or(true);
        let mut rooms = Vec::new();
        for asked in request.rooms.iter() {
            let Some(room) = self.rooms.get(&asked.room_id) else {
                let error = Some(ProtocolError::no_access());
                let (room_id, verdict) = (asked.room_id, Verdict::Error);
                rooms.push(Subscribed { room_id, verdict, sub: 0, epoch: String::new(), seq: 0, error });
                continue;
            };
            connection.next_sub += 1;
            let sub = connection.next_sub;
            connection.subs.insert(asked.room_id, sub);
            let head = room.head();
            let verdict = match asked.since.as_ref().map(|since| (since.epoch.as_str(), since.seq.unsigned())) {
                None => Verdict::Live,
                Some((epoch, seq)) if epoch != room.epoch || seq > head => Verdict::Reset,
                Some((_, seq)) if !room.reaches(seq) || head - seq > self.max_catch_up => Verdict::Gap,
                Some((_, seq)) => {
                    let pages = room.catch_up(seq, self.limits.catch_up_page as usize);
                    after.extend(pages.into_iter().map(|page| control(asked.room_id, sub, catch_up(page))));
                    Verdict::Exact
                }
            };
            let epoch = room.epoch.clone();
            rooms.push(Subscribed { room_id: asked.room_id, verdict, sub, epoch, seq: head, error: None });
        }
        SubscribeReply { rooms }
    }

    fn send(
        &mut self,
        user: UserId,
        send: &MessageSend,
        published: &mut Vec<(RoomId, LogEntry)>,
    ) -> Result<Value, ProtocolError> {
        let room = self.rooms.get_mut(&send.room_id).ok_or_else(ProtocolError::no_access)?;
        let nonce = send.nonce.as_ref().map(|nonce| nonce.as_str().to_owned());
        if let Some((message, is_alive)) = nonce.as_deref().and_then(|nonce| room.first_result(user, nonce)) {
            let row_key = Some(message.row_key);
            let gone = || ProtocolError { row_key, ..ProtocolError::not_found("already sent and deleted since") };
            return if is_alive { Ok(json!(MessageReply { message })) } else { Err(gone()) };
        }
        let text = send.message.as_ref().map_or("", |body| body.as_str());
        let entry = room.create(user, text, nonce.as_deref(), send.reply_row_key);
        let DurableEvent::MessageCreated(created) = &entry.event else {
            return Err(ProtocolError::new(ErrorCode::Internal, ""));
        };
        let message = created.message.clone();
        published.push((send.room_id, entry));
        Ok(json!(MessageReply { message }))
    }

    fn list(&self, list: &MessageList) -> Result<Value, ProtocolError> {
        let room = self.rooms.get(&list.room_id).ok_or_else(ProtocolError::no_access)?;
        let limit = list.limit.map_or(15, |limit| usize::try_from(limit.get()).unwrap_or(15));
        let (items, has_more) = match list.order {
            Some(Order::Asc) => room.list_newer(list.cursor, limit),
            Some(Order::Desc) | None => room.list(list.cursor, limit),
        };
        let next_cursor = items.last().filter(|_| has_more).map_or(String::new(), |last| last.row_key.to_string());
        let as_of = room.head();
        let reply =
            MessageListReply { items, next_cursor, has_more, prev_cursor: String::new(), has_more_newer: false, as_of };
        Ok(json!(reply))
    }

    fn get(&self, get: &MessageGet) -> Result<Value, ProtocolError> {
        let room = self.rooms.get(&get.room_id).ok_or_else(ProtocolError::no_access)?;
        let items = get.row_keys.iter().filter_map(|row_key| room.messages.get(row_key).cloned()).collect();
        Ok(json!(MessageGetReply { items, rest: vec![], as_of: room.head() }))
    }

    fn change(
        &mut self,
        user: UserId,
        op: &str,
        data: &Value,
        published: &mut Vec<(RoomId, LogEntry)>,
    ) -> Result<Value, ProtocolError> {
        let text = |field: &str| data[field].as_str().unwrap_or_default().to_owned();
        let bad = |_| ProtocolError::bad_request("a bad key");
        let (room_id, row_key) = (text("roomId").parse().map_err(bad)?, text("rowKey").parse().map_err(bad)?);
        let room = self.rooms.get_mut(&room_id).ok_or_else(ProtocolError::no_access)?;
        let emoji = text("emoji");
        let held = room.messages.get(&row_key).ok_or_else(|| ProtocolError::not_found("no such message"))?;
        let has_reacted = held.reactions.iter().any(|held| held.emoji == emoji && held.user_ids.contains(&user));
        let entry = match op {
            "message.edit" => room.edit(row_key, &text("message")),
            "message.delete" => room.delete(row_key),
            "reaction.add" if has_reacted => None,
            "reaction.remove" if !has_reacted => None,
            _ => room.react(row_key, user, &emoji),
        };
        published.extend(entry.map(|entry| (room_id, entry)));
        let Some(message) = room.messages.get(&row_key) else { return Ok(json!(RevReply { rev: 0 })) };
        if op == "message.edit" {
            return Ok(json!(MessageReply { message: message.clone() }));
        }
        let found = message.reactions.iter().find(|reaction| reaction.emoji == emoji).cloned();
        let gone = parlour_protocol::object::Reaction { emoji, count: 0, user_ids: vec![] };
        Ok(json!(ReactionReply { reaction: found.unwrap_or(gone), rev: message.rev }))
    }

    fn view(&self, room: &RoomModel, user: UserId) -> RoomView {
        RoomView {
            room: Room {
                room_id: room.room_id,
                r#type: RoomType::Room,
                name: "a room".into(),
                topic: String::new(),
                image: String::new(),
                user_id: Some(user),
                is_read_only: false,
                is_invite_paused: false,
                slowmode_ms: None,
                max_file_size_bytes: None,
                allowed_mime_categories: vec![],
                created_at: None,
                updated_at: None,
                last_activity_at: None,
            },
            membership: Membership {
                room_id: room.room_id,
                user_id: user,
                nickname: String::new(),
                notification_type: None,
                last_read_at: None,
                last_message_at: None,
                unread_count: 0,
                mention_count: 0,
                timeout_until: None,
                is_hidden: false,
                category_id: None,
                created_at: None,
            },
            permissions: Permissions::default(),
            is_room_owner: true,
            top_role_position: -1,
            head: Some(Head { epoch: room.epoch.clone(), seq: room.head() }),
            participants: vec![],
            participant_count: 0,
        }
    }

    /// Delivers a log entry to everybody who is subscribed.
    pub(super) fn publish(&mut self, room_id: RoomId, entry: &LogEntry, cause: Option<u64>) {
        let event = Event::Durable { room_id, seq: entry.seq, event: entry.event.clone() };
        let spared = matches!(
            entry.event,
            DurableEvent::MessageCreated(_) | DurableEvent::ReactionAdded(_) | DurableEvent::ReactionRemoved(_)
        );
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            let Some(connection) = self.connections.get(&id) else { continue };
            let Some(sub) = connection.subs.get(&room_id).copied() else { continue };
            if cause == Some(id) && !connection.echo && spared {
                let advanced = ControlEvent::Advanced(Box::new(Empty {}));
                self.emit(id, &Event::Control { room_id, sub, seq: Some(entry.seq), event: advanced });
            } else {
                self.emit_live(id, event.clone());
            }
        }
    }

    fn emit_live(&mut self, id: u64, event: Event) {
        let held = self.connections.get_mut(&id).and_then(|connection| connection.held.take());
        match self.event_faults.pop_front().unwrap_or(EventFault::Pass) {
            EventFault::Pass => self.emit(id, &event),
            EventFault::Drop => {}
            EventFault::Duplicate => {
                self.emit(id, &event);
                self.emit(id, &event);
            }
            EventFault::Swap => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.held = Some(event);
                }
            }
        }
        if let Some(held) = held {
            self.emit(id, &held);
        }
    }

    /// Falls behind in a room: goes on from the store.
    pub(super) fn fall_behind(&mut self, room_id: RoomId, delivered: u64) {
        let Some(room) = self.rooms.get(&room_id) else { return };
        let head = room.head();
        let verdict = if head - delivered > self.max_catch_up { Verdict::Gap } else { Verdict::Exact };
        let pages = if verdict == Verdict::Exact { room.catch_up(delivered, 100) } else { vec![] };
        let subs: Vec<_> =
            self.connections.iter().filter_map(|(id, held)| Some((*id, *held.subs.get(&room_id)?))).collect();
        for (id, sub) in subs {
            let behind = ControlEvent::Behind(Box::new(Behind { verdict, seq: delivered, head }));
            self.emit(id, &control(room_id, sub, behind));
            for page in &pages {
                self.emit(id, &control(room_id, sub, catch_up(page.clone())));
            }
        }
    }

    /// Ends a room's subscriptions.
    pub(super) fn end(&mut self, room_id: RoomId, reason: UnsubscribeReason) {
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            let sub = self.connections.get_mut(&id).and_then(|connection| connection.subs.remove(&room_id));
            if let Some(sub) = sub {
                let ended = ControlEvent::Unsubscribed(Box::new(Unsubscribed { reason }));
                self.emit(id, &control(room_id, sub, ended));
            }
        }
    }

    /// Tells a user that a room has appeared.
    pub(super) fn announce(&mut self, room_id: RoomId) {
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            let user = self.connections.get(&id).and_then(|connection| connection.user);
            let (Some(user), Some(room)) = (user, self.rooms.get(&room_id)) else { continue };
            let view = self.view(room, user);
            let added = RoomAdded { view, reason: parlour_protocol::event::AddReason::Joined };
            self.emit(id, &Event::User(UserEvent::RoomAdded(Box::new(added))));
        }
    }

    fn emit(&mut self, id: u64, event: &Event) {
        if let Some(connection) = self.connections.get(&id) {
            let frame = connection.codec.encode(event);
            self.put(id, Out::Frame(frame));
        }
    }

    fn reply<T: Serialize>(&mut self, id: u64, command: u64, result: Result<T, ProtocolError>) {
        if let Some(connection) = self.connections.get(&id) {
            let frame = connection.codec.encode(&ReplyFrame { id: command, result });
            self.put(id, Out::Frame(frame));
        }
    }

    pub(super) fn put(&mut self, id: u64, out: Out) {
        if let Some(connection) = self.connections.get(&id) {
            connection.out.try_send(out).expect("the scripted server's queue is long enough");
        }
    }
}

fn control(room_id: RoomId, sub: u64, event: ControlEvent) -> Event {
    Event::Control { room_id, sub, seq: None, event }
}

fn catch_up(page: CatchUp) -> ControlEvent {
    ControlEvent::CatchUp(Box::new(page))
}

fn parse<T: DeserializeOwned>(data: &Value) -> T {
    serde_json::from_value(data.clone()).expect("a client's command is of the protocol")
}

fn no_token() -> ProtocolError {
    ProtocolError::new(ErrorCode::Unauthenticated, "no valid token")
}

/// A person as hello shows them.
fn person(user_id: UserId) -> User {
    User {
        user_id,
        name: "Ada".into(),
        image: String::new(),
        biography: String::new(),
        is_deleted: false,
        created_at: None,
        updated_at: None,
    }
}
