//! One socket: a `TcpStream`, a bounded out-queue, and one task that reads and drains.
//!
//! Anybody may write: a frame goes straight to the socket when nothing waits before it, else into its
//! lane. An idle connection owns no buffer, channel or timer.

mod out_queue;
mod reader;

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use parlour_protocol::{
    ConnectionId, Event, SessionId, Timestamp, UserEvent, UserId, close::CloseCode, codec::Codec, object::Empty,
};
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use tokio::{
    io::{Interest, Ready},
    net::TcpStream,
    sync::{Notify, futures::Notified},
    time,
};

pub(crate) use self::out_queue::{Lane, Pushed, QueueLimits};
use self::{
    out_queue::{OutQueue, SLICES},
    reader::{Flow, Reader},
};
use super::{codec, heartbeat::Pulse};
use crate::hub::{CatchUps, Subscriptions};

/// After a close frame the peer has this long to answer and to read what is on its way.
const CLOSE_DEADLINE: Duration = Duration::from_secs(5);

/// What one socket may do, and how long things take.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    /// Longest message before hello, bytes.
    pub(crate) pre_hello_frame_bytes: usize,
    /// Longest message after hello, bytes.
    pub(crate) frame_bytes: usize,
    /// Commands being handled; beyond it the socket is not read.
    pub(crate) commands_in_flight: u32,
    /// Frames a second, sustained; 0 lifts the limit.
    pub(crate) frames_per_second: u32,
    /// Frames at once.
    pub(crate) frame_burst: u32,
    /// Events waiting for a slow socket, bytes.
    pub(crate) queue_bytes: usize,
    /// Age of the oldest waiting event.
    pub(crate) queue_age: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            pre_hello_frame_bytes: 16 * 1024,
            frame_bytes: 64 * 1024,
            commands_in_flight: 256,
            frames_per_second: 100,
            frame_burst: 1000,
            queue_bytes: 256 * 1024,
            queue_age: Duration::from_secs(10),
        }
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct ConnectionContext {
    pub(crate) limits: ConnectionLimits,
    /// The coarse clock that stamps what is heard and queued.
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) metrics: SocketMetrics,
}

/// Counters of all sockets.
#[derive(Debug, Clone, Default)]
pub(crate) struct SocketMetrics {
    /// Open sockets.
    pub(crate) connections: Gauge,
    /// Frames received.
    pub(crate) frames: Counter,
    /// Bytes waiting in out-queues.
    pub(crate) queued_bytes: Gauge,
    /// Hints dropped because a socket was slow.
    pub(crate) hints_dropped: Counter,
    /// User events dropped because a socket was slow.
    pub(crate) user_events_dropped: Counter,
}

/// Who is logged in on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionInfo {
    pub(crate) user_id: UserId,
    pub(crate) session_id: SessionId,
    /// When the token ends.
    pub(crate) expires_at: Option<Timestamp>,
}

/// One socket.
pub(crate) struct Connection {
    id: ConnectionId,
    codec: Codec,
    socket: TcpStream,
    out: Mutex<OutQueue>,
    /// Wakes the connection's own task.
    wake: Notify,
    /// Wakes who waits for the queue to drain.
    drained: Notify,
    session: RwLock<Option<Arc<SessionInfo>>>,
    in_flight: AtomicU32,
    /// The pulse at which something was last heard.
    heard: AtomicU32,
    /// The pulse since which a room is behind, plus one; 0 when none is.
    behind_since: AtomicU32,
    echo: AtomicBool,
    said_hello: AtomicBool,
    told_expiring: AtomicBool,
    /// Listed for the flush at the end of a delivery turn.
    touched: AtomicBool,
    /// The task does not read until the queue drains or a command ends.
    stalled: AtomicBool,
    /// Rooms subscribed.
    rooms: AtomicU32,
    /// Held over a whole subscribe, so that they do not mix.
    pub(crate) subscribing: tokio::sync::Mutex<()>,
    /// Locked before any room's lock.
    pub(crate) subscriptions: Mutex<Subscriptions>,
    /// Locked after any room's lock.
    pub(crate) catch_ups: Mutex<CatchUps>,
    context: Arc<ConnectionContext>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("id", &self.id).field("codec", &self.codec).finish_non_exhaustive()
    }
}

/// A command being handled; counts against the connection's limit until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Connection>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.0.unstall();
    }
}

impl Connection {
    /// A connection over a stream whose handshake is done.
    pub(crate) fn new(socket: TcpStream, codec: Codec, context: Arc<ConnectionContext>) -> Arc<Self> {
        context.metrics.connections.inc();
        Arc::new(Self {
            id: ConnectionId::new(),
            codec,
            socket,
            out: Mutex::default(),
            wake: Notify::new(),
            drained: Notify::new(),
            session: RwLock::new(None),
            in_flight: AtomicU32::new(0),
            heard: AtomicU32::new(context.pulse.now()),
            behind_since: AtomicU32::new(0),
            echo: AtomicBool::new(true),
            said_hello: AtomicBool::new(false),
            told_expiring: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            rooms: AtomicU32::new(0),
            subscribing: tokio::sync::Mutex::new(()),
            subscriptions: Mutex::default(),
            catch_ups: Mutex::default(),
            context,
        })
    }

    pub(crate) fn id(&self) -> ConnectionId {
        self.id
    }

    /// How its frames are encoded.
    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Who is logged in; none before hello.
    pub(crate) fn session(&self) -> Option<Arc<SessionInfo>> {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Logs the connection in, or swaps its token. Longer frames are taken from now on.
    pub(crate) fn set_session(&self, session: SessionInfo) {
        self.told_expiring.store(false, Ordering::Relaxed);
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(session));
        self.said_hello.store(true, Ordering::Release);
    }

    /// Whether the connection is logged in.
    pub(crate) fn said_hello(&self) -> bool {
        self.said_hello.load(Ordering::Acquire)
    }

    /// Whether it receives what it caused itself.
    pub(crate) fn echo(&self) -> bool {
        self.echo.load(Ordering::Relaxed)
    }

    pub(crate) fn set_echo(&self, echo: bool) {
        self.echo.store(echo, Ordering::Relaxed);
    }

    /// Whether frames of different rooms never meet in a turn.
    pub(crate) fn is_in_one_room(&self) -> bool {
        self.rooms.load(Ordering::Relaxed) <= 1
    }

    pub(crate) fn set_rooms(&self, rooms: usize) {
        self.rooms.store(u32::try_from(rooms).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Counts a command until the guard is dropped.
    pub(crate) fn begin_command(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Encodes a frame of the protocol as this connection reads it.
    pub(crate) fn encode<T: serde::Serialize + ?Sized>(&self, frame: &T) -> Bytes {
        codec::encode(self.codec, frame)
    }

    /// Sends a reply, which may overtake events.
    pub(crate) fn reply<T: serde::Serialize + ?Sized>(&self, reply: &T) {
        self.send(Lane::Reply, &self.encode(reply));
    }

    /// Sends a reply in order with events: `room.subscribe`, `room.unsubscribe`, `session.ping`.
    pub(crate) fn reply_in_order<T: serde::Serialize + ?Sized>(&self, reply: &T) {
        self.send(Lane::Control, &self.encode(reply));
    }

    /// Sends a finished frame: now when nothing waits, else by its lane.
    pub(crate) fn send(&self, lane: Lane, frame: &Bytes) -> Pushed {
        let mut out = self.out();
        if out.refuses() {
            return Pushed::Dropped;
        }
        if !out.is_empty() {
            return self.push(&mut out, lane, frame);
        }
        // Commands that were committed together are answered together: the task writes all at hand at once.
        if lane == Lane::Reply && self.in_flight.load(Ordering::Relaxed) > 1 {
            let pushed = self.push(&mut out, lane, frame);
            drop(out);
            self.wake.notify_one();
            return pushed;
        }
        match self.socket.try_write(frame) {
            Ok(written) if written == frame.len() => return Pushed::Taken,
            Ok(written) => {
                out.push_rest(frame.slice(written..));
                self.count_queue(written, frame.len());
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let pushed = self.push(&mut out, lane, frame);
                drop(out);
                self.wake.notify_one();
                return pushed;
            }
            Err(_) => self.kill(&mut out),
        }
        drop(out);
        self.wake.notify_one();
        Pushed::Taken
    }

    /// Queues a frame without writing; [`Connection::flush`] follows before the turn ends.
    ///
    /// The flag says whether this call is the one that has to see to the flush.
    pub(crate) fn send_later(&self, lane: Lane, frame: &Bytes) -> (Pushed, bool) {
        let pushed = self.push(&mut self.out(), lane, frame);
        (pushed, !self.touched.swap(true, Ordering::Relaxed))
    }

    /// Writes what waits, as far as the socket takes it.
    pub(crate) fn flush(&self) {
        self.touched.store(false, Ordering::Relaxed);
        let mut out = self.out();
        if !self.drain(&mut out) {
            drop(out);
            self.wake.notify_one();
        }
    }

    /// Waits until less than half of the bound is queued.
    ///
    /// # Errors
    /// When the connection closes meanwhile.
    pub(crate) async fn drained(&self) -> Result<(), Closing> {
        loop {
            let drained = self.drained.notified();
            match self.backlog() {
                None => return Err(Closing),
                Some(bytes) if bytes <= self.context.limits.queue_bytes / 2 => return Ok(()),
                Some(_) => drained.await,
            }
        }
    }

    /// Bytes waiting; none when the connection is closing.
    pub(crate) fn backlog(&self) -> Option<usize> {
        let out = self.out();
        (!out.refuses()).then(|| out.bytes())
    }

    /// Ends the connection; what waits is sent first where that makes sense for the code.
    pub(crate) fn close(&self, code: CloseCode, reason: &str) {
        self.close_with(code.code(), reason, &[]);
    }

    /// Ends the connection as [`Connection::close`] does, with these frames before the close.
    pub(crate) fn close_after(&self, last: &[Bytes], code: CloseCode, reason: &str) {
        self.close_with(code.code(), reason, last);
    }

    fn close_with(&self, code: u16, reason: &str, last: &[Bytes]) {
        let finish = matches!(CloseCode::from_code(code), Some(CloseCode::Normal | CloseCode::GoingAway));
        let mut out = self.out();
        let before = out.bytes();
        out.close(codec::close(code, reason), finish, last);
        self.count_queue(before, out.bytes());
        drop(out);
        tracing::debug!(conn.id = %self.id, code, reason, "closing");
        self.wake.notify_one();
        self.drained.notify_waiters();
    }

    /// Marks a room of the connection as behind, or all as caught up.
    pub(crate) fn set_behind(&self, behind: bool) {
        if !behind {
            self.behind_since.store(0, Ordering::Relaxed);
        } else if self.behind_since.load(Ordering::Relaxed) == 0 {
            self.behind_since.store(self.context.pulse.now().wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Ticks since which a room has been behind.
    pub(super) fn behind_for(&self, now: u32) -> Option<u32> {
        let since = self.behind_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(now.wrapping_sub(since))
    }

    /// Ticks since something was heard.
    pub(super) fn silent_for(&self, now: u32) -> u32 {
        now.wrapping_sub(self.heard.load(Ordering::Relaxed))
    }

    /// Whether the expiry is told for the first time.
    pub(super) fn tell_expiring(&self) -> bool {
        !self.told_expiring.swap(true, Ordering::Relaxed)
    }

    /// Reads until the connection ends, handing whole messages to `handle`, which must not block.
    ///
    /// `early` is what the client sent behind its handshake.
    pub(crate) async fn run(self: Arc<Self>, early: Bytes, handle: impl Fn(&Arc<Self>, &[u8])) {
        let mut reader = Reader::new(self.codec, &self.context.limits, early);
        let mut flow = reader.resume(&self, &handle);
        loop {
            let reads = match flow {
                Flow::Read => true,
                Flow::Stalled => false,
                Flow::End => break,
            };
            let (queued, refuses) = {
                let out = self.out();
                (!out.is_empty(), out.refuses())
            };
            if refuses {
                break;
            }
            match self.ready(reads, queued).await {
                Err(_) => break,
                Ok(None) => {}
                Ok(Some(ready)) => {
                    if queued && ready.is_writable() {
                        self.drain(&mut self.out());
                    }
                    if reads && (ready.is_readable() || ready.is_read_closed()) {
                        flow = reader.read(&self, &handle);
                        continue;
                    }
                }
            }
            if !reads {
                flow = reader.resume(&self, &handle);
            }
        }
        drop(reader);
        self.out().stop();
        self.drained.notify_waiters();
        // Boxed: only an ending connection pays for its timer.
        Box::pin(self.finish()).await;
    }

    /// Waits for the socket or for a wake; none is a wake.
    async fn ready(&self, reads: bool, writes: bool) -> io::Result<Option<Ready>> {
        let interest = match (reads, writes) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (true, false) => Interest::READABLE,
            (false, true) => Interest::WRITABLE,
            (false, false) => {
                self.wake.notified().await;
                return Ok(None);
            }
        };
        let wake: Notified<'_> = self.wake.notified();
        tokio::select! {
            biased;
            () = wake => Ok(None),
            ready = self.socket.ready(interest) => ready.map(Some),
        }
    }

    /// Sends what is left, closes our half and lets the peer close its own.
    async fn finish(&self) {
        let orderly = time::timeout(CLOSE_DEADLINE, async {
            while !self.out().is_empty() {
                if self.drain(&mut self.out()) {
                    break;
                }
                self.socket.writable().await?;
            }
            socket2::SockRef::from(&self.socket).shutdown(Shutdown::Write)?;
            // Closing with unread input would reset the connection under our close frame.
            let mut sink = [0; 1024];
            loop {
                self.socket.readable().await?;
                match self.socket.try_read(&mut sink) {
                    Ok(0) => return Ok::<(), io::Error>(()),
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    Ok(_) | Err(_) => {}
                }
            }
        })
        .await;
        tracing::debug!(conn.id = %self.id, orderly = matches!(orderly, Ok(Ok(()))), "closed");
        let mut out = self.out();
        self.count_queue(out.bytes(), 0);
        self.kill(&mut out);
    }

    fn push(&self, out: &mut OutQueue, lane: Lane, frame: &Bytes) -> Pushed {
        let limits = &self.context.limits;
        let limits = QueueLimits { bytes: limits.queue_bytes, age: self.context.pulse.ticks(limits.queue_age) };
        let before = out.bytes();
        let pushed = out.push(lane, frame, self.context.pulse.now(), limits);
        self.count_queue(before, out.bytes());
        match (lane, pushed) {
            (Lane::Ephemeral, Pushed::Dropped) => {
                self.context.metrics.hints_dropped.inc();
            }
            (Lane::User, Pushed::Dropped) => {
                self.context.metrics.user_events_dropped.inc();
            }
            _ => {}
        }
        if out.is_swamped() {
            out.close(codec::close(CloseCode::Behind.code(), "replies are not read"), false, &[]);
            self.wake.notify_one();
        }
        pushed
    }

    /// Writes until the queue is empty (true) or the socket is full.
    fn drain(&self, out: &mut OutQueue) -> bool {
        let before = out.bytes();
        let done = self.write_out(out);
        self.count_queue(before, out.bytes());
        if out.bytes() <= self.context.limits.queue_bytes / 2 {
            if before > 0 {
                self.drained.notify_waiters();
            }
            self.unstall();
        }
        done
    }

    fn write_out(&self, out: &mut OutQueue) -> bool {
        loop {
            if out.bytes() == 0 && out.take_user_behind() {
                let event = Event::User(UserEvent::UserBehind(Box::new(Empty {})));
                out.push_rest(self.encode(&event));
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let written = match out.slices(&mut slices) {
                0 => return true,
                1 => self.socket.try_write(&slices[0]),
                count => self.socket.try_write_vectored(&slices[..count]),
            };
            match written {
                Ok(written) => out.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => {
                    self.kill(out);
                    return true;
                }
            }
        }
    }

    fn kill(&self, out: &mut OutQueue) {
        out.kill();
        self.wake.notify_one();
        self.drained.notify_waiters();
    }

    /// Whether another command may be begun.
    fn takes_commands(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) < self.context.limits.commands_in_flight
            && self.out().bytes() <= self.context.limits.queue_bytes
    }

    fn unstall(&self) {
        if self.stalled.load(Ordering::SeqCst) {
            self.wake.notify_one();
        }
    }

    fn count_queue(&self, before: usize, after: usize) {
        if before != after {
            self.context.metrics.queued_bytes.inc_by(after as i64 - before as i64);
        }
    }

    fn out(&self) -> MutexGuard<'_, OutQueue> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.context.metrics.connections.dec();
    }
}

/// The connection is closing; nothing more can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closing;

#[cfg(test)]
pub(crate) mod tests;
