//! One connection: ids, commands under way, the pace of frames, and signs of life. All of it ends with
//! the socket, so that nothing of an old one can harm the next.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use parlour_protocol::{RoomId, RowKey, codec::Codec, limits::Limits, operation::HelloReply};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::connect::{Failure, Opened};
use crate::{
    outbox::EntryId,
    pace::Pace,
    timeline::Read,
    transport::{Incoming, Transport},
};

/// How long a command waits for its answer before it is given up on this connection.
const ANSWER_DEADLINE: Duration = Duration::from_secs(20);

/// The connection, or the way to one.
pub(crate) enum Link {
    Waiting(Instant),
    Dialing(BoxFuture<'static, Result<Opened, Failure>>),
    Up(Box<Up>),
}

/// What the link came to.
#[expect(clippy::large_enum_variant, reason = "it lives for one turn of the loop")]
pub(crate) enum Turn {
    Dial,
    Dialled(Result<Opened, Failure>),
    Incoming(Incoming),
}

impl Link {
    pub(crate) async fn turn(&mut self) -> Turn {
        match self {
            Self::Waiting(at) => {
                sleep_until(*at).await;
                Turn::Dial
            }
            Self::Dialing(dial) => Turn::Dialled(dial.await),
            Self::Up(up) => Turn::Incoming(up.transport.next().await),
        }
    }

    pub(crate) fn up(&mut self) -> Option<&mut Up> {
        match self {
            Self::Up(up) => Some(up),
            Self::Waiting(_) | Self::Dialing(_) => None,
        }
    }
}

/// What a command under way is for.
#[derive(Debug)]
pub(crate) enum Purpose {
    Ping,
    Refresh,
    Unsubscribe,
    Subscribe(Vec<RoomId>),
    Letter(EntryId),
    /// A send that was given up on and repeated.
    Late(EntryId),
    Ask(u64),
    Page {
        room_id: RoomId,
        read: Read,
        page: Page,
    },
}

/// A read that the client makes for a timeline.
#[derive(Debug, Clone)]
pub(crate) enum Page {
    Newest,
    Older(Option<RowKey>),
    Again(Vec<RowKey>),
}

#[derive(Debug)]
struct Flight {
    purpose: Purpose,
    sent_at: Instant,
}

/// A connection that has said hello.
pub(crate) struct Up {
    pub(crate) transport: Transport,
    pub(crate) hello: Arc<HelloReply>,
    pub(crate) since: Instant,
    next_id: u64,
    flights: HashMap<u64, Flight>,
    /// Sends given up on, whose answer may still come.
    late: HashMap<u64, EntryId>,
    pace: Pace,
    heard_at: Instant,
    ping_at: Instant,
    heartbeat: Duration,
}

impl Up {
    pub(crate) fn new(transport: Transport, hello: Arc<HelloReply>, now: Instant) -> Self {
        let heartbeat = Duration::from_millis(hello.heartbeat_ms.max(1));
        let limits = &hello.limits;
        Self {
            pace: Pace::new(limits.frames_per_second, limits.frame_burst, now),
            transport,
            since: now,
            next_id: 2,
            flights: HashMap::new(),
            late: HashMap::new(),
            heard_at: now,
            ping_at: now + heartbeat,
            heartbeat,
            hello,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.hello.limits
    }

    /// Commands that may be sent now.
    pub(crate) fn budget(&mut self, now: Instant) -> usize {
        if !self.transport.has_room() {
            return 0;
        }
        // Some room is left for pings and subscriptions.
        let most = (self.limits().commands_in_flight as usize * 3 / 4).max(1);
        most.saturating_sub(self.flights.len()).min(self.pace.available(now))
    }

    /// When there is a budget again, if the pace is what it waits for.
    pub(crate) fn pace_wake(&self, now: Instant) -> Instant {
        now + self.pace.wait()
    }

    /// Sends a command. Gives the purpose back when it does not fit a frame.
    pub(crate) fn send<T: Serialize>(
        &mut self,
        op: &str,
        data: &T,
        purpose: Purpose,
        now: Instant,
    ) -> Result<(), Purpose> {
        let frame = encode(self.transport.codec(), self.next_id, op, data);
        if frame.len() > self.limits().frame_bytes as usize {
            return Err(purpose);
        }
        self.transport.send(frame);
        self.pace.spend();
        self.flights.insert(self.next_id, Flight { purpose, sent_at: now });
        self.next_id += 1;
        Ok(())
    }

    /// A reply has come: what it is for.
    pub(crate) fn landed(&mut self, id: u64) -> Option<Purpose> {
        let flight = self.flights.remove(&id).map(|flight| flight.purpose);
        flight.or_else(|| self.late.remove(&id).map(Purpose::Late))
    }

    /// Commands that have waited too long for their answer.
    pub(crate) fn overdue(&mut self, now: Instant) -> Vec<Purpose> {
        let is_overdue = |flight: &Flight| now.duration_since(flight.sent_at) >= ANSWER_DEADLINE;
        let ids: Vec<_> = self.flights.iter().filter(|(_, flight)| is_overdue(flight)).map(|(id, _)| *id).collect();
        let mut overdue: Vec<_> = ids.into_iter().filter_map(|id| Some((id, self.flights.remove(&id)?))).collect();
        overdue.sort_by_key(|(id, _)| *id);
        let late = overdue.iter().filter_map(|(id, flight)| match flight.purpose {
            Purpose::Letter(entry) => Some((*id, entry)),
            _ => None,
        });
        self.late.extend(late);
        overdue.into_iter().map(|(_, flight)| flight.purpose).collect()
    }

    /// Everything under way, when the connection is gone.
    pub(crate) fn into_purposes(self: Box<Self>) -> Vec<Purpose> {
        self.flights.into_values().map(|flight| flight.purpose).collect()
    }

    /// Something came: the server lives.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// Whether the server has been silent for so long that it must be gone.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        now >= self.dead_at()
    }

    fn dead_at(&self) -> Instant {
        self.heard_at + self.heartbeat.mul_f64(2.5)
    }

    /// Whether a ping is due; the next one is then a heartbeat away.
    pub(crate) fn is_ping_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.ping_at;
        if is_due {
            self.ping_at = now + self.heartbeat;
        }
        is_due
    }

    /// When this connection needs to be looked at again.
    pub(crate) fn next_wake(&self) -> Instant {
        let wake = self.ping_at.min(self.dead_at());
        match self.flights.values().map(|flight| flight.sent_at).min() {
            Some(oldest) => wake.min(oldest + ANSWER_DEADLINE),
            None => wake,
        }
    }
}

#[derive(Serialize)]
struct Outgoing<'a, T> {
    id: u64,
    op: &'a str,
    data: &'a T,
}

pub(crate) fn encode<T: Serialize>(codec: Codec, id: u64, op: &str, data: &T) -> Vec<u8> {
    codec.encode(&Outgoing { id, op, data })
}
