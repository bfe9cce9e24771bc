//! The one task that owns a client's connection, outbox and rooms. Handles talk to it through a bounded
//! channel; it tells what happens through a broadcast that drops the oldest for those who do not read.

mod asks;
mod commands;
mod connect;
mod link;
mod resume;
mod rooms;
mod work;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use parlour_protocol::{
    EphemeralEvent, Event, Operation, RoomId, Secret, Timestamp, UserEvent, UserId,
    frame::ServerFrame,
    operation::{HelloReply, SessionRefresh},
};
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::Instant,
};

pub(crate) use self::connect::Target;
use self::{
    asks::Asks,
    connect::{Failure, Next, Opened, connect},
    link::{Link, Purpose, Turn, Up},
    rooms::{Moment, RoomState, Told},
};
use crate::{
    auth::Credentials,
    backoff::{Backoff, GOOD_LIFE, RESTART_SPREAD},
    builder::Options,
    client::{Client, Close, ConnectionState, Inner},
    command::{Answer, Command},
    error::ConnectErrorKind,
    event::{ClientEvent, RoomEvent},
    outbox::{
        EntryId, Outbox,
        journal::{Journal, Recovered},
    },
    transport::Incoming,
};

/// Commands that handles may have on the way to the driver; beyond it they wait.
const COMMANDS: usize = 256;
/// Frames that are read before the driver looks at its other work.
const FRAMES_A_TURN: usize = 64;
/// Nonces of commands that create no message are kept 7 days by the server; a little less is safe.
const NONCE_LIFE: Duration = Duration::from_secs(6 * 86_400);
/// How long the goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// Why the driver ends.
#[derive(Debug)]
struct End {
    reason: Option<ConnectErrorKind>,
    detail: String,
}

pub(crate) struct Driver {
    target: Arc<Target>,
    credentials: Arc<Credentials>,
    options: Options,
    commands: mpsc::Receiver<Command>,
    close: mpsc::Receiver<Close>,
    events: broadcast::Sender<ClientEvent>,
    state: watch::Sender<ConnectionState>,
    hello: watch::Sender<Option<Arc<HelloReply>>>,
    user: Option<UserId>,
    link: Link,
    backoff: Backoff,
    needs_token: bool,
    renewal: Option<BoxFuture<'static, Option<Secret>>>,
    rooms: HashMap<RoomId, RoomState>,
    /// Rooms that may have something to send.
    busy: BTreeSet<RoomId>,
    /// Rooms that will have something to send.
    later: BTreeSet<(Instant, RoomId)>,
    unsubscribed: Vec<RoomId>,
    outbox: Outbox,
    journal: Option<Journal>,
    waiters: HashMap<EntryId, Answer<serde_json::Value>>,
    asks: Asks,
    closing: Option<Close>,
    end: Option<End>,
}

impl Driver {
    /// Starts the task and gives its first handle.
    pub(crate) fn start(
        target: Target,
        credentials: Credentials,
        options: Options,
        journal: Option<(Journal, Recovered)>,
        outbox_capacity: usize,
        event_capacity: usize,
    ) -> Client {
        let (commands, command_queue) = mpsc::channel(COMMANDS);
        let (close, close_queue) = mpsc::channel(1);
        let (events, _) = broadcast::channel(event_capacity);
        let (state, states) = watch::channel(ConnectionState::Connecting);
        let (hello, hellos) = watch::channel(None);
        let weak_events = events.downgrade();
        let server = target.server.clone();
        let mut driver = Self {
            target: Arc::new(target),
            credentials: Arc::new(credentials),
            options,
            commands: command_queue,
            close: close_queue,
            events,
            state,
            hello,
            user: None,
            link: Link::Waiting(Instant::now()),
            backoff: Backoff::default(),
            needs_token: false,
            renewal: None,
            rooms: HashMap::new(),
            busy: BTreeSet::new(),
            later: BTreeSet::new(),
            unsubscribed: Vec::new(),
            outbox: Outbox::new(outbox_capacity),
            journal: None,
            waiters: HashMap::new(),
            asks: Asks::default(),
            closing: None,
            end: None,
        };
        if let Some((journal, recovered)) = journal {
            driver.recover(journal, recovered);
        }
        let task = tokio::spawn(driver.run());
        let inner = Inner {
            commands,
            close,
            state: states,
            hello: hellos,
            events: weak_events,
            options,
            server,
            driver: Mutex::new(Some(task)),
        };
        Client { inner: Arc::new(inner) }
    }

    fn recover(&mut self, mut journal: Journal, recovered: Recovered) {
        if recovered.damaged > 0 {
            tracing::warn!(lines = recovered.damaged, "the outbox file was damaged; what could be read is kept");
        }
        let now = Timestamp::now();
        for (id, letter) in recovered.letters {
            let is_message = matches!(letter.op.as_str(), "message.send" | "message.forward");
            if !is_message && now.since(letter.added_at) > NONCE_LIFE {
                tracing::warn!(op = letter.op, "too old to be repeated safely; dropped from the outbox");
                if let Err(error) = journal.done(id) {
                    tracing::warn!(%error, "the outbox file cannot be written");
                }
                continue;
            }
            self.outbox.restore(id, letter);
        }
        self.journal = Some(journal);
    }

    async fn run(mut self) {
        let end = loop {
            let now = Instant::now();
            self.on_time(now);
            self.pump(now);
            if let Some(end) = self.end.take() {
                break end;
            }
            if self.is_done(now) {
                break End { reason: None, detail: "closed by the program".into() };
            }
            let wake = self.next_wake(now);
            let takes_commands = self.closing.is_none() && self.asks.has_room();
            tokio::select! {
                turn = self.link.turn() => self.on_turn(turn),
                command = self.commands.recv(), if takes_commands => match command {
                    Some(command) => self.on_commands(command).await,
                    None => break End { reason: None, detail: "dropped by the program".into() },
                },
                Some(close) = self.close.recv(), if self.closing.is_none() => self.closing = Some(close),
                secret = renewed(&mut self.renewal) => self.on_renewed(secret),
                () = tokio::time::sleep_until(wake) => {}
            }
            self.compact().await;
        };
        self.finish(end).await;
    }

    fn is_done(&self, now: Instant) -> bool {
        let is_empty = self.outbox.len() == 0 && self.asks.is_empty();
        self.closing.as_ref().is_some_and(|close| is_empty || now >= close.deadline)
    }

    fn next_wake(&mut self, now: Instant) -> Instant {
        let mut wake = now + Duration::from_secs(3600);
        let later = self.later.first().map(|(at, _)| *at);
        let closing = self.closing.as_ref().map(|close| close.deadline);
        for at in [later, closing].into_iter().flatten() {
            wake = wake.min(at);
        }
        let work = [self.outbox.next_wake(now), self.asks.next_wake(now)];
        if let Link::Up(up) = &self.link {
            wake = wake.min(up.next_wake());
            let pace = up.pace_wake(now);
            // Whatever waits for the pace of frames is ready when there is a frame for it.
            if pace > now {
                wake = wake.min(pace);
            }
            for at in work.into_iter().flatten() {
                wake = wake.min(at);
            }
        }
        wake
    }

    /// What is due by the clock.
    fn on_time(&mut self, now: Instant) {
        while let Some((at, room_id)) = self.later.first().copied().filter(|(at, _)| *at <= now) {
            self.later.remove(&(at, room_id));
            self.busy.insert(room_id);
        }
        let Link::Up(up) = &mut self.link else { return };
        if up.is_dead(now) {
            return self.lost(Failure::new(Next::Backoff, "the server is silent"), now);
        }
        if up.is_ping_due(now) {
            let ping = parlour_protocol::operation::SessionPing {};
            if up.send(parlour_protocol::operation::SessionPing::NAME, &ping, Purpose::Ping, now).is_err() {
                tracing::warn!("the server's frame limit has no room for a ping");
            }
        }
        for purpose in up.overdue(now) {
            self.unanswered(purpose, now);
        }
    }

    fn on_turn(&mut self, turn: Turn) {
        let now = Instant::now();
        match turn {
            Turn::Dial => self.dial(),
            Turn::Dialled(Ok(opened)) => self.connected(opened, now),
            Turn::Dialled(Err(failure)) => {
                self.link = Link::Waiting(now);
                self.lost(failure, now);
            }
            Turn::Incoming(incoming) => {
                let mut next = Some(incoming);
                for _ in 0..FRAMES_A_TURN {
                    let Some(incoming) = next.take() else { break };
                    self.on_incoming(incoming, now);
                    next = self.link.up().and_then(|up| up.transport.next().now_or_never());
                }
                if let Some(incoming) = next {
                    self.on_incoming(incoming, now);
                }
            }
        }
    }

    fn dial(&mut self) {
        let (target, credentials) = (Arc::clone(&self.target), Arc::clone(&self.credentials));
        let needs_token = std::mem::take(&mut self.needs_token);
        self.state.send_replace(ConnectionState::Connecting);
        self.link = Link::Dialing(Box::pin(async move {
            if needs_token {
                credentials.discard().await;
            }
            connect(target, credentials).await
        }));
    }

    fn connected(&mut self, opened: Opened, now: Instant) {
        let Opened { transport, hello, early } = opened;
        let user_id = hello.user.user_id;
        if let Err(detail) = self.claim(user_id) {
            self.end = Some(End { reason: Some(ConnectErrorKind::Outbox), detail });
            self.link = Link::Waiting(now + GOODBYE);
            return;
        }
        let user = Arc::new(hello.user.clone());
        let hello = Arc::new(hello);
        self.hello.send_replace(Some(Arc::clone(&hello)));
        self.state.send_replace(ConnectionState::Connected);
        tracing::debug!(conn.id = %hello.connection_id, user.id = %user_id, "connected");
        self.link = Link::Up(Box::new(Up::new(transport, hello, now)));
        for (room_id, room) in &mut self.rooms {
            room.connected(user_id);
            self.busy.insert(*room_id);
        }
        self.emit(ClientEvent::Connected { user });
        for frame in early {
            self.on_frame(frame, now);
        }
    }

    /// The outbox and the rooms are one account's.
    fn claim(&mut self, user_id: UserId) -> Result<(), String> {
        if self.user.replace(user_id).is_some_and(|known| known != user_id) {
            return Err("the token is another account's than before".into());
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        match journal.owner() {
            Some(owner) if owner != user_id => Err("the outbox file is another account's".into()),
            Some(_) => Ok(()),
            None => journal.set_owner(user_id).map_err(|error| error.to_string()),
        }
    }

    /// The connection is gone, or was not made.
    fn lost(&mut self, failure: Failure, now: Instant) {
        if let Link::Up(up) = std::mem::replace(&mut self.link, Link::Waiting(now)) {
            if now.duration_since(up.since) >= GOOD_LIFE {
                self.backoff.reset();
            }
            self.abandon(up);
        }
        let unit = rand::random::<f64>();
        let wait = match failure.next {
            Next::Stop(reason) => {
                self.end = Some(End { reason, detail: failure.reason });
                return;
            }
            Next::Spread => RESTART_SPREAD.mul_f64(unit),
            Next::After(wait) => wait,
            Next::Backoff => self.backoff.next(unit),
            Next::NewToken => {
                self.needs_token = true;
                self.backoff.next(unit)
            }
        };
        tracing::debug!(reason = failure.reason, wait_ms = wait.as_millis(), "not connected");
        let reason: Arc<str> = failure.reason.into();
        self.link = Link::Waiting(now + wait);
        self.state.send_replace(ConnectionState::Waiting { reason: Arc::clone(&reason), until: now + wait });
        self.emit(ClientEvent::Disconnected { reason, retry_in: wait });
    }

    fn abandon(&mut self, up: Box<Up>) {
        let moment = self.moment();
        for purpose in up.into_purposes() {
            match purpose {
                Purpose::Ask(id) => self.asks.requeue(id),
                Purpose::Page { room_id, read, page } => {
                    if let Some(room) = self.rooms.get_mut(&room_id) {
                        room.read_failed(read, &page, None, moment);
                    }
                }
                // The outbox and the rooms are told as a whole.
                Purpose::Letter(_) | Purpose::Late(_) | Purpose::Subscribe(_) => {}
                Purpose::Ping | Purpose::Refresh | Purpose::Unsubscribe => {}
            }
        }
        self.outbox.disconnected();
        self.rooms.values_mut().for_each(RoomState::disconnected);
        self.unsubscribed.clear();
    }

    fn on_incoming(&mut self, incoming: Incoming, now: Instant) {
        let Link::Up(up) = &mut self.link else { return };
        up.heard(now);
        match incoming {
            Incoming::Sign => {}
            Incoming::Ended(end) => self.lost(end.into(), now),
            Incoming::Frame(bytes) => match up.transport.codec().decode_server_frame(&bytes) {
                Ok(frame) => self.on_frame(frame, now),
                // If it was a durable event the next one shows the hole.
                Err(error) => tracing::warn!(%error, "a frame of the server could not be read"),
            },
        }
    }

    fn on_frame(&mut self, frame: ServerFrame, now: Instant) {
        match frame {
            ServerFrame::Reply(reply) => self.on_reply(reply, now),
            ServerFrame::Event(Some(event)) => self.on_event(event),
            // Of a newer server. If it was a durable one, the next shows a hole, and the catch-up closes it.
            ServerFrame::Event(None) => {}
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Durable { room_id, seq, event } => {
                self.in_room(room_id, |room, moment, told| room.durable(seq, event, moment, told));
            }
            Event::Control { room_id, sub, seq, event } => {
                let seq = seq.unwrap_or(0);
                self.in_room(room_id, |room, moment, told| room.control(sub, seq, event, moment, told));
            }
            Event::Ephemeral { room_id, event: EphemeralEvent::TypingStarted(typing) } => {
                self.in_room(room_id, |_, _, told| told.push(RoomEvent::Typing(Arc::from(typing))));
            }
            Event::User(event) => {
                if matches!(event, UserEvent::SessionExpiring(_)) && self.renewal.is_none() {
                    let credentials = Arc::clone(&self.credentials);
                    self.renewal = Some(Box::pin(async move { credentials.renew().await }));
                }
                self.emit(ClientEvent::User(Arc::new(event)));
            }
        }
    }

    fn on_renewed(&mut self, secret: Option<Secret>) {
        self.renewal = None;
        let now = Instant::now();
        if let (Some(token), Some(up)) = (secret, self.link.up())
            && up.send(SessionRefresh::NAME, &SessionRefresh { token }, Purpose::Refresh, now).is_err()
        {
            tracing::warn!("the new token does not fit a frame");
        }
    }

    /// Lets a room take something in, and sees to what comes of it.
    fn in_room(&mut self, room_id: RoomId, turn: impl FnOnce(&mut RoomState, Moment, &mut Told)) {
        let moment = self.moment();
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let mut told = Told::new();
        turn(room, moment, &mut told);
        if room.has_work(moment.now) {
            self.busy.insert(room_id);
        }
        if let Some(at) = room.wake() {
            self.later.insert((at, room_id));
        }
        if room.is_ended() {
            self.rooms.remove(&room_id);
        }
        for event in told {
            self.emit(ClientEvent::Room { room_id, event });
        }
    }

    fn moment(&self) -> Moment {
        Moment { now: Instant::now(), unit: rand::random::<f64>() }
    }

    fn emit(&self, event: ClientEvent) {
        if self.events.send(event).is_err() {
            tracing::trace!("nobody listens");
        }
    }

    async fn finish(mut self, end: End) {
        if let Link::Up(up) = std::mem::replace(&mut self.link, Link::Waiting(Instant::now()))
            && tokio::time::timeout(GOODBYE, up.transport.close()).await.is_err()
        {
            tracing::debug!("the server did not say goodbye");
        }
        self.emit(ClientEvent::Closed { reason: end.reason });
        let remaining = self.outbox.len();
        // Nobody can be told anything from here on: commands find the channel closed.
        self.state.send_replace(ConnectionState::Closed { reason: end.reason, detail: end.detail.into() });
        if let Some(close) = self.closing.take()
            && close.answer.send(remaining).is_err()
        {
            tracing::trace!("nobody waits for the close");
        }
    }
}

async fn renewed(renewal: &mut Option<BoxFuture<'static, Option<Secret>>>) -> Option<Secret> {
    match renewal {
        Some(renewal) => renewal.await,
        None => std::future::pending().await,
    }
}
