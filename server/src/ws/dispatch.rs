//! Commands of one socket: hello first, then each to its function.
//!
//! Sends keep their order, and so do subscribes, each in a line of its own; all other commands run side by side.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
    time::Duration,
};

use parlour_protocol::{
    Command, ErrorCode, ProtocolError, Timestamp,
    close::CloseCode,
    codec::{Codec, decode_command_frame},
    frame::ReplyFrame,
    operation::{
        HelloReply, MessageReply, MessageSend, PingReply, RefreshReply, RoomSubscribe, RoomUnsubscribe, ServerInfo,
        SessionHello, SessionRefresh,
    },
};
use serde::Serialize;

use super::{
    codec,
    connection::{Connection, InFlight, Lane, SessionInfo},
};
use crate::{
    accounts::caller::{Caller, Principal},
    app::AppState,
    directory,
    dispatch::dispatch,
    error::store_error,
    messages::send,
};

/// After this a command answers `unavailable`; what it began goes on or ends by itself.
const COMMAND_DEADLINE: Duration = Duration::from_secs(30);
/// Commands that may wait for the outcome of hello.
const WAITING_FOR_HELLO: usize = 256;

/// The commands of one socket.
#[derive(Debug)]
pub(crate) struct Socket {
    state: Arc<AppState>,
    /// Who the upgrade's bearer header or cookie stands for.
    upgraded: Option<Principal>,
    address: IpAddr,
    commands: Mutex<Commands>,
}

#[derive(Debug, Default)]
struct Commands {
    phase: Phase,
    /// The ids of commands that are not answered yet.
    in_flight: Vec<u64>,
    /// Sends that wait for the one that is being placed; none while no task places any.
    sends: Option<VecDeque<Placing>>,
    /// Subscribes likewise.
    subscribes: Option<VecDeque<Subscribing>>,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    BeforeHello,
    /// Hello is being checked; frames behind it wait.
    Hello(Vec<Vec<u8>>),
    Ready(Arc<Caller>),
}

#[derive(Debug)]
struct Placing {
    ticket: Ticket,
    caller: Arc<Caller>,
    data: MessageSend,
    generation: u64,
}

#[derive(Debug)]
struct Subscribing {
    ticket: Ticket,
    request: SubscribeOrNot,
}

#[derive(Debug)]
enum SubscribeOrNot {
    Subscribe(RoomSubscribe),
    Unsubscribe(RoomUnsubscribe),
}

/// A command that is owed an answer. Its id is free again when it is dropped.
#[derive(Debug)]
struct Ticket {
    id: u64,
    socket: Arc<Socket>,
    connection: Arc<Connection>,
    _in_flight: InFlight,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut commands = self.socket.commands();
        commands.in_flight.retain(|id| *id != self.id);
        if commands.in_flight.is_empty() {
            // An idle connection holds no buffer.
            commands.in_flight = Vec::new();
        }
    }
}

impl Ticket {
    fn answer<T: Serialize>(self, result: Result<T, ProtocolError>) {
        self.connection.reply(&ReplyFrame { id: self.id, result });
    }

    fn refuse(self, error: ProtocolError) {
        self.answer(Err::<(), _>(error));
    }

    /// Answers with data that is encoded already.
    fn answer_encoded(self, result: Result<Vec<u8>, ProtocolError>) {
        match result {
            Ok(data) => {
                let codec = self.connection.codec();
                let frame = codec::message(codec::data_kind(codec), &reply_payload(codec, self.id, &data));
                self.connection.send(Lane::Reply, &frame);
            }
            Err(error) => self.refuse(error),
        }
    }
}

/// `{"id": id, "data": data}` around data that is encoded already.
fn reply_payload(codec: Codec, id: u64, data: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(data.len() + 40);
    match codec {
        Codec::Json => {
            payload.extend_from_slice(format!("{{\"id\":{id},\"data\":").as_bytes());
            payload.extend_from_slice(data);
            payload.push(b'}');
        }
        Codec::MessagePack => {
            // A map of two entries with text keys of two and four bytes.
            payload.extend_from_slice(b"\x82\xa2id");
            payload.extend_from_slice(&codec.encode(&id));
            payload.extend_from_slice(b"\xa4data");
            payload.extend_from_slice(data);
        }
    }
    payload
}

impl Socket {
    /// The commands of a socket from `address`; `upgraded` is who its upgrade request was made by.
    pub(crate) fn new(state: Arc<AppState>, upgraded: Option<Principal>, address: IpAddr) -> Arc<Self> {
        Arc::new(Self { state, upgraded, address, commands: Mutex::default() })
    }

    /// Takes one whole message from the client. Does not block.
    pub(crate) fn on_message(self: &Arc<Self>, connection: &Arc<Connection>, payload: &[u8]) {
        let incoming = match decode_command_frame(connection.codec(), payload) {
            Ok(incoming) => incoming,
            Err(error) => return connection.close(CloseCode::BadFrame, &error.to_string()),
        };
        let is_hello = incoming.op == "session.hello";
        let mut commands = self.commands();
        let caller = match &mut commands.phase {
            Phase::BeforeHello if !is_hello => {
                drop(commands);
                let error = ProtocolError::new(ErrorCode::Unauthenticated, "say session.hello first");
                return connection.reply(&ReplyFrame::<()> { id: incoming.id, result: Err(error) });
            }
            Phase::BeforeHello => None,
            Phase::Hello(waiting) if waiting.len() < WAITING_FOR_HELLO => return waiting.push(payload.to_vec()),
            Phase::Hello(_) => return connection.close(CloseCode::TooMany, "retryAfterMs=1000"),
            Phase::Ready(caller) => Some(Arc::clone(caller)),
        };
        if commands.in_flight.contains(&incoming.id) {
            drop(commands);
            let error = ProtocolError::bad_request("a command with this id is in flight");
            return connection.reply(&ReplyFrame::<()> { id: incoming.id, result: Err(error) });
        }
        commands.in_flight.push(incoming.id);
        if caller.is_none() {
            commands.phase = Phase::Hello(Vec::new());
        }
        drop(commands);
        let ticket = Ticket {
            id: incoming.id,
            socket: Arc::clone(self),
            connection: Arc::clone(connection),
            _in_flight: connection.begin_command(),
        };
        match caller {
            Some(caller) => self.take_in(ticket, caller, &incoming.op, &incoming.data),
            None => match Command::decode(&incoming.op, &incoming.data) {
                Ok(Command::SessionHello(data)) => drop(self.state.tasks.spawn(Arc::clone(self).hello(ticket, data))),
                Ok(_) => ticket.refuse(ProtocolError::new(ErrorCode::Unauthenticated, "say session.hello first")),
                Err(error) => {
                    self.commands().phase = Phase::BeforeHello;
                    ticket.refuse(error);
                }
            },
        }
    }

    fn begin(self: &Arc<Self>, ticket: Ticket, caller: Arc<Caller>, command: Command) {
        match command {
            Command::SessionHello(_) => ticket.refuse(ProtocolError::bad_request("hello was said already")),
            Command::SessionPing(_) => {
                let heads = self.state.hub.heads_for(&ticket.connection);
                let reply = PingReply { time: Timestamp::now(), heads };
                ticket.connection.reply_in_order(&ReplyFrame { id: ticket.id, result: Ok(reply) });
            }
            Command::SessionRefresh(data) => {
                self.state.tasks.spawn(Arc::clone(self).refresh(ticket, caller, data));
            }
            Command::RoomSubscribe(data) => {
                self.subscribe(Subscribing { ticket, request: SubscribeOrNot::Subscribe(data) });
            }
            Command::RoomUnsubscribe(data) => {
                self.subscribe(Subscribing { ticket, request: SubscribeOrNot::Unsubscribe(data) });
            }
            Command::MessageSend(data) => {
                let generation = self.state.store.generation();
                self.place(Placing { ticket, caller, data, generation });
            }
            command => {
                let state = Arc::clone(&self.state);
                let codec = ticket.connection.codec();
                self.state.tasks.spawn(async move {
                    let outcome = within_deadline(dispatch(&state, &caller, command, codec)).await;
                    ticket.answer_encoded(outcome);
                });
            }
        }
    }

    /// Checks who speaks; on success the connection is logged in and what waited behind hello is taken in.
    async fn hello(self: Arc<Self>, ticket: Ticket, data: SessionHello) {
        let connection = Arc::clone(&ticket.connection);
        match within_deadline(self.log_in(&connection, data)).await {
            Ok((caller, reply)) => {
                ticket.answer(Ok(reply));
                self.open(&connection, Arc::new(caller));
            }
            Err(error) => {
                let is_final = error.code == ErrorCode::Unauthenticated;
                ticket.refuse(error);
                let phase = std::mem::take(&mut self.commands().phase);
                if is_final {
                    connection.close(CloseCode::Unauthenticated, "no valid token");
                } else if let Phase::Hello(waiting) = phase {
                    // What waited is answered as what it is now: said before hello.
                    for payload in waiting {
                        self.on_message(&connection, &payload);
                    }
                }
            }
        }
    }

    async fn log_in(
        &self,
        connection: &Arc<Connection>,
        data: SessionHello,
    ) -> Result<(Caller, HelloReply), ProtocolError> {
        let principal = match data.token {
            Some(token) => self.state.accounts.authenticate(token.expose(), self.address).await?,
            None => self.upgraded.clone().ok_or_else(|| {
                ProtocolError::new(ErrorCode::Unauthenticated, "hello needs a token when the upgrade carried none")
            })?,
        };
        let user = directory::accounts::user(&self.state.db, principal.user_id).await.map_err(store_error)?;
        let user = user.ok_or_else(|| ProtocolError::new(ErrorCode::Unauthenticated, "no such account"))?;
        self.state.accounts.note_client(&principal, data.client.as_ref(), self.address);
        let session = session_info(&principal);
        if self.state.hub.register_user(connection, session).is_err() {
            return Err(ProtocolError::new(ErrorCode::RateLimited, "too many connections").retry_after(60_000));
        }
        self.state.accounts.check_again(&principal).await?;
        let reply = HelloReply {
            connection_id: connection.id(),
            session_id: principal.session_id,
            user,
            server: ServerInfo { version: env!("CARGO_PKG_VERSION").to_owned(), time: Timestamp::now() },
            heartbeat_ms: self.state.heartbeat_ms,
            limits: self.state.limits.clone(),
        };
        Ok((Caller::new(&principal, Some(connection.id()), self.address), reply))
    }

    /// Takes in what waited behind hello, in order, and whatever comes meanwhile behind that.
    fn open(self: &Arc<Self>, connection: &Arc<Connection>, caller: Arc<Caller>) {
        loop {
            let waiting = match &mut self.commands().phase {
                Phase::Hello(waiting) if !waiting.is_empty() => std::mem::take(waiting),
                phase => {
                    *phase = Phase::Ready(caller);
                    return;
                }
            };
            for payload in waiting {
                self.take_in_waiting(connection, &caller, &payload);
            }
        }
    }

    /// A frame that waited behind hello, while the phase still holds back later ones.
    fn take_in_waiting(self: &Arc<Self>, connection: &Arc<Connection>, caller: &Arc<Caller>, payload: &[u8]) {
        let Ok(incoming) = decode_command_frame(connection.codec(), payload) else {
            return connection.close(CloseCode::BadFrame, "not a command frame");
        };
        let is_repeat = {
            let mut commands = self.commands();
            let is_repeat = commands.in_flight.contains(&incoming.id);
            if !is_repeat {
                commands.in_flight.push(incoming.id);
            }
            is_repeat
        };
        if is_repeat {
            let error = ProtocolError::bad_request("a command with this id is in flight");
            return connection.reply(&ReplyFrame::<()> { id: incoming.id, result: Err(error) });
        }
        let ticket = Ticket {
            id: incoming.id,
            socket: Arc::clone(self),
            connection: Arc::clone(connection),
            _in_flight: connection.begin_command(),
        };
        self.take_in(ticket, Arc::clone(caller), &incoming.op, &incoming.data);
    }

    /// Charges, decodes and begins a command.
    fn take_in(self: &Arc<Self>, ticket: Ticket, caller: Arc<Caller>, op: &str, data: &str) {
        let is_free = matches!(op, "session.ping" | "session.hello");
        if !is_free && let Err(error) = self.state.charge(&caller, op) {
            return ticket.refuse(error);
        }
        match Command::decode(op, data) {
            Ok(command) => self.begin(ticket, caller, command),
            Err(error) => ticket.refuse(error),
        }
    }

    async fn refresh(self: Arc<Self>, ticket: Ticket, caller: Arc<Caller>, data: SessionRefresh) {
        let outcome = within_deadline(async {
            let principal = self.state.accounts.authenticate(data.token.expose(), self.address).await?;
            if principal.user_id != caller.user_id {
                return Err(ProtocolError::new(ErrorCode::Forbidden, "the token is another user's"));
            }
            Ok(principal)
        });
        match outcome.await {
            Ok(principal) => {
                self.state.hub.set_session(&ticket.connection, session_info(&principal));
                if let Err(error) = self.state.accounts.check_again(&principal).await {
                    ticket.connection.close(CloseCode::Unauthenticated, "the session has ended");
                    return ticket.refuse(error);
                }
                let renewed = Caller::new(&principal, caller.connection_id, self.address);
                self.commands().phase = Phase::Ready(Arc::new(renewed));
                ticket.answer(Ok(RefreshReply {
                    session_id: principal.session_id,
                    expires_at: Some(principal.expires_at),
                }));
            }
            Err(error) => ticket.refuse(error),
        }
    }

    /// Gives sends their places in the order received.
    fn place(self: &Arc<Self>, placing: Placing) {
        let mut commands = self.commands();
        if let Some(line) = &mut commands.sends {
            return line.push_back(placing);
        }
        commands.sends = Some(VecDeque::new());
        drop(commands);
        let socket = Arc::clone(self);
        let mut placed = Box::pin(async move {
            let mut next = Some(placing);
            while let Some(placing) = next {
                socket.place_one(placing).await;
                next = socket.next(|commands| &mut commands.sends);
            }
        });
        // Mostly nothing has to be waited for; only what has to gets a task.
        if placed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.state.tasks.spawn(placed);
        }
    }

    async fn place_one(&self, placing: Placing) {
        let Placing { ticket, caller, data, generation } = placing;
        match within_deadline(send::place(&self.state, &caller, data, generation)).await {
            Ok(placed) => {
                let state = Arc::clone(&self.state);
                self.state.tasks.spawn(async move {
                    let outcome = within_deadline(placed.outcome(&state)).await;
                    ticket.answer(outcome.map(|message| MessageReply { message }));
                });
            }
            Err(error) => ticket.refuse(error),
        }
    }

    /// Subscribes and unsubscribes in the order received.
    fn subscribe(self: &Arc<Self>, subscribing: Subscribing) {
        let mut commands = self.commands();
        if let Some(line) = &mut commands.subscribes {
            return line.push_back(subscribing);
        }
        commands.subscribes = Some(VecDeque::new());
        drop(commands);
        let socket = Arc::clone(self);
        self.state.tasks.spawn(async move {
            let mut next = Some(subscribing);
            while let Some(Subscribing { ticket, request }) = next {
                let hub = &socket.state.hub;
                match request {
                    SubscribeOrNot::Subscribe(data) => hub.subscribe(&ticket.connection, ticket.id, data).await,
                    SubscribeOrNot::Unsubscribe(data) => hub.unsubscribe(&ticket.connection, ticket.id, data).await,
                }
                drop(ticket);
                next = socket.next(|commands| &mut commands.subscribes);
            }
        });
    }

    /// The next in a line; the line ends when nobody waits.
    fn next<T>(&self, line: impl FnOnce(&mut Commands) -> &mut Option<VecDeque<T>>) -> Option<T> {
        let mut commands = self.commands();
        let line = line(&mut commands);
        let next = line.as_mut().and_then(VecDeque::pop_front);
        if next.is_none() {
            *line = None;
        }
        next
    }

    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_info(principal: &Principal) -> SessionInfo {
    SessionInfo { user_id: principal.user_id, session_id: principal.session_id, expires_at: Some(principal.expires_at) }
}

async fn within_deadline<T>(work: impl Future<Output = Result<T, ProtocolError>>) -> Result<T, ProtocolError> {
    tokio::time::timeout(COMMAND_DEADLINE, work)
        .await
        .unwrap_or_else(|_| Err(ProtocolError::new(ErrorCode::Unavailable, "the server took too long; try again")))
}
