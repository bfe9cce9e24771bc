//! Everything a scenario acts with on the client side: the connections and what they are for, the
//! inbox that sorts and audits what arrives, the publishers' frames.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::audit::Auditor;
use crate::client_pool::{Arrival, ClientPool, Happening};
use crate::commands::{self, FIRST_SEND, HELLO, Kind, Position, SUBSCRIBE, SendFrame};
use crate::payload::Payload;
use crate::statistics::Histogram;

/// Connections that may be on their way to being ready at once.
pub(crate) const CONNECT_BURST: usize = 256;
/// Longest wait without any progress.
const STALL: Duration = Duration::from_secs(20);

/// Counts since the last [`Tally::clear`].
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) deliveries: u64,
    /// Wire bytes of live deliveries, frame headers included.
    pub(crate) delivery_bytes: u64,
    /// Reads that brought at least one delivery.
    pub(crate) reads: u64,
    /// Send to arrival of each delivery.
    pub(crate) latency: Histogram,
    pub(crate) acknowledged: u64,
    /// Send to its reply.
    pub(crate) reply_latency: Histogram,
    /// `room.behind` frames: the server dropped live events of a slow connection and resynced it.
    pub(crate) behind: u64,
    pub(crate) caught_up: u64,
    pub(crate) catch_up_bytes: u64,
}

impl Tally {
    pub(crate) fn clear(&mut self) {
        let (mut latency, mut reply_latency) =
            (std::mem::take(&mut self.latency), std::mem::take(&mut self.reply_latency));
        latency.clear();
        reply_latency.clear();
        *self = Self { latency, reply_latency, ..Self::default() };
    }
}

/// Sorts arrivals. What the scenario must act on gathers in the lists, emptied by whoever acts.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) audit: Auditor,
    pub(crate) tally: Tally,
    /// Rooms of messages that every member has now.
    pub(crate) completed: Vec<usize>,
    /// Publishers' connections, once for each reply to a send.
    pub(crate) acknowledged: Vec<usize>,
    /// Connections whose subscribe was answered.
    subscribed: Vec<(usize, Vec<u8>)>,
    /// Connections whose catch-up is done, and when.
    pub(crate) caught_up: Vec<(usize, u64)>,
    opened: Vec<usize>,
    greeted: Vec<usize>,
    failure: Option<String>,
    delivery_hint: usize,
    reply_hint: usize,
    last_read: u64,
}

impl Inbox {
    fn new(audit: Auditor) -> Self {
        Self {
            audit,
            tally: Tally::default(),
            completed: Vec::new(),
            acknowledged: Vec::new(),
            subscribed: Vec::new(),
            caught_up: Vec::new(),
            opened: Vec::new(),
            greeted: Vec::new(),
            failure: None,
            delivery_hint: 0,
            reply_hint: 0,
            last_read: 0,
        }
    }

    #[inline]
    fn take(&mut self, happening: Happening<'_>) {
        match happening {
            Happening::Frame(arrival) => match Kind::of(arrival.text) {
                Kind::Message => self.delivery(&arrival),
                Kind::CatchUp => self.catch_up(&arrival),
                Kind::Reply(id) => self.reply(id, &arrival),
                Kind::Behind => self.tally.behind += 1,
                Kind::OtherEvent => {}
                Kind::Unknown => self.fail(|| format!("not understood: {}", String::from_utf8_lossy(arrival.text))),
            },
            Happening::Open { connection } => self.opened.push(connection),
            Happening::Closed { connection, reason } => {
                self.fail(|| format!("connection {connection} was lost: {reason}"))
            }
        }
    }

    #[inline]
    fn delivery(&mut self, arrival: &Arrival<'_>) {
        // System lines and the like carry no payload of ours.
        let Some(payload) = Payload::find(arrival.text, &mut self.delivery_hint) else {
            return;
        };
        self.tally.deliveries += 1;
        self.tally.delivery_bytes += arrival.bytes as u64;
        if arrival.read != self.last_read {
            self.last_read = arrival.read;
            self.tally.reads += 1;
        }
        if let Some(delivery) = self.audit.deliver(arrival.connection, arrival.text, payload) {
            self.tally.latency.record(arrival.at.saturating_sub(delivery.sent_at));
            if delivery.complete {
                self.completed.push(delivery.room);
            }
        }
    }

    fn catch_up(&mut self, arrival: &Arrival<'_>) {
        self.tally.catch_up_bytes += arrival.bytes as u64;
        for payload in Payload::all(arrival.text) {
            self.tally.caught_up += 1;
            if let Some(delivery) = self.audit.caught_up(arrival.connection, payload)
                && delivery.complete
            {
                self.completed.push(delivery.room);
            }
        }
        let end = &arrival.text[arrival.text.len().saturating_sub(64)..];
        if memchr::memmem::find(end, br#""done":true"#).is_some() {
            self.caught_up.push((arrival.connection, arrival.at));
        }
    }

    fn reply(&mut self, id: u64, arrival: &Arrival<'_>) {
        if commands::is_error(arrival.text) {
            let text = String::from_utf8_lossy(arrival.text).into_owned();
            return self.fail(|| format!("connection {}: the server refused: {text}", arrival.connection));
        }
        match id {
            HELLO => self.greeted.push(arrival.connection),
            FIRST_SEND.. => {
                self.tally.acknowledged += 1;
                self.acknowledged.push(arrival.connection);
                if let Some(payload) = Payload::find(arrival.text, &mut self.reply_hint) {
                    self.tally.reply_latency.record(arrival.at.saturating_sub(payload.sent_at()));
                }
            }
            SUBSCRIBE.. => self.subscribed.push((arrival.connection, arrival.text.to_vec())),
            _ => {}
        }
    }

    fn fail(&mut self, text: impl FnOnce() -> String) {
        if self.failure.is_none() {
            self.failure = Some(text());
        }
    }
}

/// What a connection is for.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) token: String,
    /// Rooms it subscribes as soon as it is greeted.
    pub(crate) rooms: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) pool: ClientPool,
    pub(crate) inbox: Inbox,
    clients: Vec<Client>,
    rooms: Vec<String>,
    /// Head of each room as the last subscribe reply told it.
    heads: Vec<Option<Position>>,
    /// Where subscriptions start; `None`: live.
    pub(crate) since: Vec<Option<Position>>,
    publishers: Vec<Publisher>,
    sent: Vec<u64>,
    ready: usize,
    opened: usize,
}

#[derive(Debug, Default)]
struct Publisher {
    next_id: u64,
    frames: Vec<Option<Box<(SendFrame, u64)>>>,
}

impl Stage {
    /// Connections 0 to `publishers` − 1 only send; the others are members of their rooms from now on.
    pub(crate) fn new(
        address: SocketAddr,
        rooms: Vec<String>,
        publishers: usize,
        clients: Vec<Client>,
    ) -> Result<Self> {
        let mut audit = Auditor::new(rooms.iter().cloned(), clients.len());
        for (connection, client) in clients.iter().enumerate() {
            for room in &client.rooms {
                audit.join(connection, *room);
            }
        }
        Ok(Self {
            pool: ClientPool::new(address)?,
            inbox: Inbox::new(audit),
            heads: vec![None; rooms.len()],
            since: vec![None; rooms.len()],
            publishers: (0..publishers).map(|_| Publisher { next_id: FIRST_SEND, frames: Vec::new() }).collect(),
            sent: vec![0; rooms.len()],
            rooms,
            clients,
            ready: 0,
            opened: 0,
        })
    }

    pub(crate) fn rooms(&self) -> &[String] {
        &self.rooms
    }

    /// Messages sent to a room so far.
    pub(crate) fn sent(&self, room: usize) -> u64 {
        self.sent[room]
    }

    pub(crate) fn sent_in_all(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// From now on, subscriptions start where the rooms stood when last subscribed.
    pub(crate) fn resume_from_heads(&mut self) {
        self.since.clone_from(&self.heads);
    }

    /// Forgets which rooms a connection is for, without leaving them in the audit's eyes.
    pub(crate) fn take_rooms(&mut self, connection: usize) -> Vec<usize> {
        std::mem::take(&mut self.clients[connection].rooms)
    }

    /// One turn of the pool and the chores that follow from it.
    ///
    /// # Errors
    /// A connection was lost, a command refused, or something was not understood.
    pub(crate) fn turn(&mut self, wait: Duration) -> Result<()> {
        let inbox = &mut self.inbox;
        self.pool.turn(wait, |happening| inbox.take(happening))?;
        if let Some(failure) = self.inbox.failure.take() {
            bail!(failure);
        }
        for connection in self.inbox.opened.drain(..) {
            self.pool.queue(connection, &commands::hello(&self.clients[connection].token));
        }
        for connection in std::mem::take(&mut self.inbox.greeted) {
            if self.clients[connection].rooms.is_empty() {
                self.ready += 1;
            } else {
                let rooms = std::mem::take(&mut self.clients[connection].rooms);
                self.subscribe(connection, SUBSCRIBE, &rooms);
                self.clients[connection].rooms = rooms;
            }
        }
        for (connection, reply) in std::mem::take(&mut self.inbox.subscribed) {
            self.note_heads(connection, &reply)?;
            self.ready += 1;
        }
        Ok(())
    }

    pub(crate) fn subscribe(&mut self, connection: usize, id: u64, rooms: &[usize]) {
        let wanted = rooms.iter().map(|room| (self.rooms[*room].as_str(), self.since[*room].as_ref()));
        let frame = commands::subscribe(id, wanted);
        self.pool.queue(connection, &frame);
    }

    /// Subscribes rooms with a connection that is no member of them, and leaves again: only their heads are wanted.
    pub(crate) fn learn_heads(&mut self, connection: usize, rooms: &[usize]) -> Result<()> {
        self.ready = 0;
        self.subscribe(connection, SUBSCRIBE, rooms);
        self.until("the rooms' heads", |stage| stage.ready == 1)?;
        let room_ids: Vec<&str> = rooms.iter().map(|room| self.rooms[*room].as_str()).collect();
        let frame = commands::command(SUBSCRIBE + 1, "room.unsubscribe", &json!({"roomIds": room_ids}));
        self.pool.queue(connection, &frame);
        self.until("leaving the rooms", |stage| stage.ready == 2)
    }

    fn note_heads(&mut self, connection: usize, reply: &[u8]) -> Result<()> {
        let reply: Value = serde_json::from_slice(reply)?;
        for (index, entry) in reply["data"]["rooms"].as_array().into_iter().flatten().enumerate() {
            let verdict = entry["verdict"].as_str().unwrap_or_default();
            if !matches!(verdict, "live" | "exact") {
                bail!("connection {connection}: subscribe was answered {entry}");
            }
            let room_id = entry["roomId"].as_str().unwrap_or_default();
            let asked = self.clients[connection].rooms.get(index).copied();
            let room = asked.filter(|room| self.rooms[*room] == room_id);
            let room = room.or_else(|| self.rooms.iter().position(|id| id == room_id)).context("a foreign room")?;
            let epoch = entry["epoch"].as_str().context("a subscribe reply without epoch")?.to_owned();
            self.heads[room] = Some(Position { epoch, seq: entry["seq"].as_u64().unwrap_or(0) });
        }
        Ok(())
    }

    /// Opens the connections of `numbers` (new or dropped ones) and waits until all are greeted and subscribed.
    ///
    /// # Errors
    /// No progress for 20 s, or as [`Self::turn`].
    pub(crate) fn bring_up(&mut self, numbers: impl IntoIterator<Item = usize>, burst: usize) -> Result<()> {
        self.ready = 0;
        let mut started = 0;
        let mut numbers = numbers.into_iter().peekable();
        let mut progress = (Instant::now(), 0);
        while numbers.peek().is_some() || self.ready < started {
            while started - self.ready < burst {
                let Some(number) = numbers.next() else {
                    break;
                };
                if number == self.opened {
                    self.pool.open()?;
                    self.opened += 1;
                } else {
                    self.pool.reopen(number)?;
                }
                started += 1;
                if started % 32 == 0 {
                    self.turn(Duration::ZERO)?;
                }
            }
            self.turn(Duration::from_millis(100))?;
            if self.ready > progress.1 {
                progress = (Instant::now(), self.ready);
            }
            if progress.0.elapsed() > STALL {
                bail!("{} of {started} connections became ready, none of them in the last 20 s", self.ready);
            }
        }
        Ok(())
    }

    /// Queues the next message of a publisher in a room.
    pub(crate) fn send(&mut self, publisher: usize, room: usize) {
        let now = self.pool.now();
        let Publisher { next_id, frames } = &mut self.publishers[publisher];
        if frames.len() <= room {
            frames.resize_with(room + 1, || None);
        }
        let rooms = &self.rooms;
        let slot = frames[room].get_or_insert_with(|| Box::new((SendFrame::new(&rooms[room], room, publisher), 0)));
        let (frame, sequence) = &mut **slot;
        self.pool.queue(publisher, frame.fill(*next_id, *sequence, now));
        *sequence += 1;
        *next_id += 1;
        self.sent[room] += 1;
    }

    /// Turns until `done`, which sees the stage after every turn.
    ///
    /// # Errors
    /// `what` did not come to an end within 20 s, or as [`Self::turn`].
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + STALL;
        while !done(self) {
            self.turn(Duration::from_millis(100))?;
            if Instant::now() > deadline {
                bail!("{what}: not finished after 20 s");
            }
        }
        Ok(())
    }

    /// The final audit over all rooms.
    pub(crate) fn audit(&mut self) -> Result<()> {
        let Self { inbox, sent, .. } = self;
        inbox.audit.close(|room| sent[room])
    }
}
