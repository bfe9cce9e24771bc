//! From a position to live: pages from memory or from the store, at the pace of the socket.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parlour_protocol::{ErrorCode, event::UnsubscribeReason, operation::Verdict};
use tokio::time;

use super::{
    CatchUps, Hub, Room, Seat,
    frames::{self, Page},
    lock,
    room::{Feed, RoomState},
};
use crate::{
    store::{LogEntry, LogRead, StoreError},
    ws::{
        codec,
        connection::{Closing, Connection, Lane},
    },
};

/// Behind again within this time of a resync is a strike.
pub(super) const SOON: Duration = Duration::from_secs(10);
/// Live frames handed over in one piece when a catch-up ends, bytes.
const HANDOVER: usize = 128 * 1024;
/// Catch-up pages sent from memory in one go, bytes.
const PAGES_AT_ONCE: usize = 192 * 1024;
/// A pause after the store did not answer.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// A subscription to bring to live.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) room: Arc<Room>,
    pub(super) seat: Seat,
    /// What was read before the reply.
    pub(super) folded: Option<Folded>,
}

/// A part of the log as the store folded it.
#[derive(Debug)]
pub(super) struct Folded {
    pub(super) entries: VecDeque<LogEntry>,
    pub(super) up_to: u64,
}

/// What a job needs next.
enum Next {
    /// It is live, or over.
    Done,
    /// Something was sent; look again when the socket has taken it.
    Again,
    Access,
    Read {
        position: u64,
        up_to: u64,
    },
}

impl Hub {
    /// Queues a job for the connection's catch-up task.
    pub(super) fn enqueue(self: &Arc<Self>, connection: &Arc<Connection>, job: Job) {
        let mut catch_ups = lock(&connection.catch_ups);
        catch_ups.queue.push_back(job);
        if !std::mem::replace(&mut catch_ups.running, true) {
            let hub = Arc::clone(self);
            let connection = Arc::clone(connection);
            self.tasks.spawn(async move { hub.catch_all_up(&connection).await });
        }
    }

    async fn catch_all_up(self: Arc<Self>, connection: &Arc<Connection>) {
        loop {
            let job = {
                let mut catch_ups = lock(&connection.catch_ups);
                let Some(job) = catch_ups.queue.pop_front() else {
                    *catch_ups = CatchUps::default();
                    connection.set_behind(false);
                    return;
                };
                job
            };
            if let Err(Closing) = self.catch_up(connection, job).await {
                lock(&connection.catch_ups).queue.clear();
            }
        }
    }

    async fn catch_up(self: &Arc<Self>, connection: &Arc<Connection>, job: Job) -> Result<(), Closing> {
        let Job { room, seat, mut folded } = job;
        loop {
            connection.drained().await?;
            let next = match &mut folded {
                Some(some) => {
                    let next = self.send_page(&room, seat, some);
                    if some.entries.is_empty() {
                        folded = None;
                    }
                    next
                }
                None => self.step(&room, seat),
            };
            match next {
                Next::Done => return Ok(()),
                Next::Again => {}
                Next::Access => self.check_access(connection, &room, seat).await,
                Next::Read { position, up_to } => match self.read(&room, position, up_to).await {
                    Ok(LogRead::Entries { entries, seq }) => {
                        folded = Some(Folded { entries: entries.into(), up_to: seq });
                    }
                    Ok(LogRead::OutOfReach) => self.give_up(&room, seat, position),
                    Err(error) => {
                        tracing::warn!(room.id = %room.id, %error, "a catch-up waits for the store");
                        time::sleep(STORE_PAUSE).await;
                    }
                },
            }
        }
    }

    /// Reads the folded log, a bounded number of readers at once.
    ///
    /// What was read and needed no folding goes to the hot tail, for those who come next.
    pub(super) async fn read(&self, room: &Room, position: u64, up_to: u64) -> Result<LogRead, StoreError> {
        let _permit = self.store_reads.acquire().await;
        let max_entries = usize::try_from(self.limits.max_catch_up).unwrap_or(usize::MAX);
        let read = self.store.read_log(room.id, position, up_to, max_entries).await;
        if let Ok(LogRead::Entries { entries, .. }) = &read {
            let mut state = room.lock();
            let head = state.head();
            state.tail.seed(position, entries, head);
        }
        read
    }

    /// One step without waiting.
    fn step(&self, room: &Room, seat: Seat) -> Next {
        let mut state = room.lock();
        let head = state.head();
        let Some(member) = state.member(seat) else { return Next::Done };
        if !member.is_checked {
            return Next::Access;
        }
        match member.feed {
            Feed::Live { .. } => Next::Done,
            Feed::Paused { position } => {
                if self.go_live(&mut state, seat, position) {
                    return Next::Done;
                }
                if let Some(member) = state.member(seat) {
                    member.feed = Feed::Behind { position };
                }
                Next::Again
            }
            Feed::Behind { position } if head - position > self.limits.max_catch_up => {
                drop(state);
                self.give_up(room, seat, position);
                Next::Again
            }
            Feed::Behind { position } => {
                member.feed = Feed::CatchingUp { position };
                let frame =
                    frames::behind(member.connection.codec(), room.id, seat.sub, position, head, Verdict::Exact);
                member.connection.send(Lane::Control, &frame);
                Next::Again
            }
            Feed::CatchingUp { position } => {
                if state.tail.covers(position, head) && state.tail.is_folded_after(position) {
                    return if self.catch_up_from_tail(&mut state, seat) { Next::Done } else { Next::Again };
                }
                Next::Read { position, up_to: head }
            }
        }
    }

    /// Sends pages out of the hot tail; true when the subscription is live after it.
    ///
    /// False is either a part sent (the position has moved) or nothing, when memory does not reach.
    pub(super) fn catch_up_from_tail(&self, state: &mut RoomState, seat: Seat) -> bool {
        let (room_id, head) = (state.id, state.head());
        let mut sent = 0;
        loop {
            let Some(member) = state.members.get_mut(seat.slot).filter(|member| member.sub == seat.sub) else {
                return true;
            };
            let Feed::CatchingUp { position } = member.feed else { return false };
            if !member.is_checked || !state.tail.covers(position, head) || !state.tail.is_folded_after(position) {
                return false;
            }
            if sent > PAGES_AT_ONCE || member.connection.backlog().is_none_or(|bytes| bytes > PAGES_AT_ONCE) {
                return false;
            }
            let codec = member.connection.codec();
            let page = state.tail.page(codec, position);
            let seq = page.seq();
            let done = seq == head;
            let frame = page.finish(room_id, seat.sub, seq, done);
            sent += frame.len();
            member.connection.send(Lane::Control, &frame);
            self.metrics.pages.inc();
            member.feed = Feed::CatchingUp { position: seq };
            if done {
                return self.go_live(state, seat, head);
            }
        }
    }

    /// Hands over what the tail holds after a position and makes the subscription live; false when the
    /// tail does not reach, or holds more than a socket should get at once.
    pub(super) fn go_live(&self, state: &mut RoomState, seat: Seat, position: u64) -> bool {
        let head = state.head();
        if !state.tail.covers(position, head) {
            return false;
        }
        let Some(member) = state.members.get_mut(seat.slot).filter(|member| member.sub == seat.sub) else {
            return true;
        };
        if position < head {
            let rest = state.tail.joined_for(&member.connection, seat.sub, position);
            if rest.len() > HANDOVER {
                return false;
            }
            member.connection.send(Lane::Control, &rest);
            self.metrics.deliveries.inc_by(head - position);
        }
        member.feed = Feed::Live { from: head };
        if std::mem::take(&mut member.was_slow) {
            member.resynced_at = Some(self.now());
        }
        true
    }

    /// Sends the next page of what the store folded; the last one ends the catch-up when it can.
    fn send_page(&self, room: &Room, seat: Seat, folded: &mut Folded) -> Next {
        let mut state = room.lock();
        let room_id = room.id;
        let head = state.head();
        let covers = state.tail.covers(folded.up_to, head);
        let Some(member) = state.member(seat) else {
            folded.entries.clear();
            return Next::Done;
        };
        let Feed::CatchingUp { position } = member.feed else {
            folded.entries.clear();
            return Next::Again;
        };
        if !member.is_checked {
            folded.entries.clear();
            return Next::Access;
        }
        let codec = member.connection.codec();
        let mut page = Page::new(codec, position, 0);
        while let Some(entry) = folded.entries.front() {
            let frame = frames::durable(codec, room_id, entry.seq, &entry.event);
            if !page.push(entry.seq, codec::payload(&frame)) {
                break;
            }
            folded.entries.pop_front();
        }
        self.metrics.pages.inc();
        let is_last = folded.entries.is_empty();
        let seq = if is_last { folded.up_to } else { page.seq() };
        let done = is_last && covers;
        member.connection.send(Lane::Control, &page.finish(room_id, seat.sub, seq, done));
        if !done {
            member.feed = Feed::CatchingUp { position: seq };
            return Next::Again;
        }
        member.feed = Feed::Paused { position: seq };
        if self.go_live(&mut state, seat, seq) { Next::Done } else { Next::Again }
    }

    /// The log does not reach back to a position: the client reads anew.
    pub(super) fn give_up(&self, room: &Room, seat: Seat, position: u64) {
        let mut state = room.lock();
        let head = state.head();
        let Some(member) = state.member(seat) else { return };
        let frame = frames::behind(member.connection.codec(), room.id, seat.sub, position, head, Verdict::Gap);
        member.connection.send(Lane::Control, &frame);
        member.feed = Feed::Paused { position: head };
        self.go_live(&mut state, seat, head);
    }

    /// Asks whether the subscriber may still read the room, and ends the subscription if not.
    async fn check_access(&self, connection: &Arc<Connection>, room: &Room, seat: Seat) {
        let Some(user_id) = room.lock().member(seat).map(|member| {
            // A change that comes while the answer is on its way puts it in doubt again.
            member.is_checked = true;
            member.user_id
        }) else {
            return;
        };
        let Err(error) = (self.access.check)(room.id, user_id).await else { return };
        if matches!(error.code, ErrorCode::Unavailable | ErrorCode::Internal) {
            if let Some(member) = room.lock().member(seat) {
                member.is_checked = false;
            }
            time::sleep(STORE_PAUSE).await;
            return;
        }
        let ended = room.lock().end(seat, UnsubscribeReason::Revoked, self.now());
        if ended.is_some() {
            self.forget_seat(connection, seat, room.id);
        }
    }
}
