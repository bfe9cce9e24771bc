//! One task for the time of all connections: pings, silence, the hello deadline, expiring tokens.
//!
//! Connections lie in a wheel of slots by the tick at which they are due; they own no timers. The tick
//! count is also the coarse clock that stamps what is heard and queued.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parlour_protocol::{Event, Timestamp, UserEvent, close::CloseCode, event::SessionExpiring};
use tokio::time::{self, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::{
    codec,
    connection::{Connection, Lane},
};

/// Length of a tick.
const TICK: Duration = Duration::from_millis(250);
/// Slots of the wheel: the longest delay is one round.
const SLOTS: u32 = 256;
/// A room may be behind for this long, then 4413.
const BEHIND_LIMIT: Duration = Duration::from_secs(60);
/// `session.expiring` comes this long before the end.
const EXPIRY_NOTICE_MS: i64 = 60_000;

/// The coarse clock: ticks since the start.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    now: AtomicU32,
}

impl Pulse {
    /// The present tick.
    pub(crate) fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// Ticks in a duration, rounded up.
    pub(crate) fn ticks(&self, duration: Duration) -> u32 {
        u32::try_from(duration.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u32::MAX)
    }

    /// Milliseconds in ticks.
    pub(crate) fn millis(&self, ticks: u32) -> u64 {
        u64::from(ticks) * 250
    }

    /// Lets `ticks` pass.
    pub(crate) fn advance(&self, ticks: u32) {
        self.now.fetch_add(ticks, Ordering::Relaxed);
    }
}

/// When connections are pinged and given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeartbeatLimits {
    /// The pace of pings.
    pub(crate) interval: Duration,
    /// From the handshake to hello.
    pub(crate) hello: Duration,
}

impl Default for HeartbeatLimits {
    fn default() -> Self {
        Self { interval: Duration::from_secs(15), hello: Duration::from_secs(10) }
    }
}

/// The wheel.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    pulse: Arc<Pulse>,
    limits: HeartbeatLimits,
    slots: Mutex<Vec<Vec<Due>>>,
}

/// A visit that is due at a tick.
#[derive(Debug)]
enum Due {
    /// Ping, and see whether the peer still lives.
    Beat(Weak<Connection>),
    /// See to the end of the token that expires then.
    Expiry(Weak<Connection>, Timestamp),
}

impl Heartbeat {
    pub(crate) fn new(pulse: Arc<Pulse>, limits: HeartbeatLimits) -> Arc<Self> {
        let slots = Mutex::new((0..SLOTS).map(|_| Vec::new()).collect());
        Arc::new(Self { pulse, limits, slots })
    }

    /// Watches a new connection.
    pub(crate) fn watch(&self, connection: &Arc<Connection>) {
        self.schedule(Due::Beat(Arc::downgrade(connection)), self.pulse.ticks(self.limits.hello) + 1);
    }

    /// Watches the end of a connection's token; an earlier token is no longer watched.
    pub(crate) fn watch_expiry(&self, connection: &Arc<Connection>) {
        if let Some(expires_at) = connection.session().and_then(|session| session.expires_at) {
            self.schedule(Due::Expiry(Arc::downgrade(connection), expires_at), 1);
        }
    }

    /// Turns the wheel until shutdown.
    pub(crate) async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let mut ticks = time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks.tick().await;
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            self.pulse.advance(1);
            self.turn(Timestamp::now());
        }
    }

    /// Visits the connections that are due at this tick.
    fn turn(&self, wall: Timestamp) {
        let now = self.pulse.now();
        let due = std::mem::take(&mut self.slots()[slot(now)]);
        for due in due {
            let next = match &due {
                Due::Beat(connection) => connection.upgrade().and_then(|connection| self.beat(&connection, now)),
                Due::Expiry(connection, expires_at) => {
                    connection.upgrade().and_then(|connection| self.expire(&connection, *expires_at, wall))
                }
            };
            if let Some(delay) = next {
                self.schedule(due, delay);
            }
        }
    }

    /// Pings; the ticks to the next visit, none when the connection is over.
    fn beat(&self, connection: &Connection, now: u32) -> Option<u32> {
        connection.backlog()?;
        if !connection.said_hello() {
            connection.close(CloseCode::TimedOut, "no hello in time");
            return None;
        }
        let interval = self.pulse.ticks(self.limits.interval);
        let Some(patience) = (interval * 5 / 2).checked_sub(connection.silent_for(now)) else {
            connection.close(CloseCode::TimedOut, "nothing was heard");
            return None;
        };
        if connection.behind_for(now).is_some_and(|ticks| ticks > self.pulse.ticks(BEHIND_LIMIT)) {
            connection.close(CloseCode::Behind, "behind for too long");
            return None;
        }
        connection.send(Lane::Reply, &codec::EMPTY_PING);
        Some(jittered(interval).min(patience + 1))
    }

    /// Announces the end of a token, or ends the connection with it.
    fn expire(&self, connection: &Connection, expires_at: Timestamp, wall: Timestamp) -> Option<u32> {
        connection.backlog()?;
        if connection.session()?.expires_at != Some(expires_at) {
            return None;
        }
        let left = expires_at.as_millis() - wall.as_millis();
        if left <= 0 {
            connection.close(CloseCode::Unauthenticated, "the token has expired");
            return None;
        }
        let next = if left > EXPIRY_NOTICE_MS {
            left - EXPIRY_NOTICE_MS
        } else {
            if connection.tell_expiring() {
                let in_ms = left.unsigned_abs();
                let event = Event::User(UserEvent::SessionExpiring(Box::new(SessionExpiring { in_ms })));
                connection.send(Lane::Control, &connection.encode(&event));
            }
            left
        };
        Some(self.pulse.ticks(Duration::from_millis(next.unsigned_abs())))
    }

    fn schedule(&self, due: Due, delay: u32) {
        let tick = self.pulse.now().wrapping_add(delay.clamp(1, SLOTS - 1));
        self.slots()[slot(tick)].push(due);
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, Vec<Vec<Due>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn slot(tick: u32) -> usize {
    (tick % SLOTS) as usize
}

/// Between 80 and 100 % of a delay, so that connections made together do not beat together.
fn jittered(ticks: u32) -> u32 {
    let fifth = (ticks / 5).max(1);
    ticks - rand::random_range(0..=fifth).min(ticks.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parlour_protocol::codec::Codec;

    use super::*;
    use crate::ws::connection::{
        ConnectionContext, ConnectionLimits, SessionInfo, SocketMetrics,
        tests::{Got, Peer, session, sockets},
    };

    struct Bench {
        heartbeat: Arc<Heartbeat>,
        connection: Arc<Connection>,
        peer: Peer,
        wall: i64,
    }

    async fn start() -> Bench {
        let pulse = Arc::new(Pulse::default());
        let heartbeat = Heartbeat::new(Arc::clone(&pulse), HeartbeatLimits::default());
        let context =
            ConnectionContext { limits: ConnectionLimits::default(), pulse, metrics: SocketMetrics::default() };
        let (server, client) = sockets().await;
        let connection = Connection::new(server, Codec::Json, Arc::new(context));
        heartbeat.watch(&connection);
        tokio::spawn(Arc::clone(&connection).run(Bytes::new(), |_, _| {}));
        Bench { heartbeat, connection, peer: Peer::new(client), wall: 1_000_000 }
    }

    impl Bench {
        /// Lets seconds pass.
        fn pass(&mut self, seconds: u32) {
            for _ in 0..seconds * 4 {
                self.heartbeat.pulse.advance(1);
                self.wall += 250;
                self.heartbeat.turn(Timestamp::from_millis(self.wall));
            }
        }
    }

    #[tokio::test]
    async fn no_hello_in_time_is_closed() {
        let mut bench = start().await;
        bench.pass(10);
        assert!(bench.connection.backlog().is_some(), "ten seconds are allowed");
        bench.pass(1);
        assert!(matches!(bench.peer.next().await, Got::Close(4408, _)));
    }

    #[tokio::test]
    async fn pings_come_at_the_pace_and_a_pong_keeps_the_connection() {
        let mut bench = start().await;
        bench.connection.set_session(session());
        for _ in 0..20 {
            bench.pass(15);
            assert_eq!(bench.peer.next().await, Got::Ping);
            bench.peer.send(0x8A, b"").await;
            bench.peer.send(0x89, b"").await;
            while bench.peer.next().await != Got::Pong(vec![]) {}
        }
        assert!(bench.connection.backlog().is_some());
    }

    #[tokio::test]
    async fn bl_115_a_silent_peer_is_gone_after_two_and_a_half_intervals() {
        let mut bench = start().await;
        bench.connection.set_session(session());
        bench.pass(37);
        assert!(bench.connection.backlog().is_some());
        bench.pass(2);
        assert!(bench.connection.backlog().is_none());
        while !matches!(bench.peer.next().await, Got::Close(4408, _)) {}
    }

    #[tokio::test]
    async fn the_end_of_a_token_is_announced_and_then_enforced() {
        let mut bench = start().await;
        let expires_at = Some(Timestamp::from_millis(bench.wall + 90_000));
        bench.connection.set_session(SessionInfo { expires_at, ..session() });
        bench.heartbeat.watch_expiry(&bench.connection);
        for _ in 0..3 {
            bench.pass(13);
            bench.peer.send(0x89, b"").await;
            loop {
                match bench.peer.next().await {
                    Got::Pong(_) => break,
                    Got::Message(message) => {
                        assert_eq!(message, br#"{"event":"session.expiring","data":{"inMs":60000}}"#);
                    }
                    Got::Ping => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        // A new token: the end of the old one no longer counts.
        let expires_at = Some(Timestamp::from_millis(bench.wall + 30_000));
        bench.connection.set_session(SessionInfo { expires_at, ..session() });
        bench.heartbeat.watch_expiry(&bench.connection);
        bench.pass(29);
        assert!(bench.connection.backlog().is_some());
        bench.pass(2);
        while !matches!(bench.peer.next().await, Got::Close(4401, _)) {}
    }
}
