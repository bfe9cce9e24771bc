//! One room on this node: its head, its hot tail, and who listens.
//!
//! Everything happens under the room's lock, so that whoever becomes live there misses nothing and
//! gets nothing twice: what lies after `flushed` has not been delivered to anybody yet.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use parlour_protocol::{
    ConnectionId, DurableEvent, EphemeralEvent, Event, Permissions, RoomId, UserId,
    codec::Codec,
    event::{LeaveReason, UnsubscribeReason},
};
use slab::Slab;

use super::{
    frames,
    tail::{HotTail, TailBytes},
};
use crate::ws::{
    codec,
    connection::{Connection, Lane, Pushed},
};

/// A batch is written when it holds this many entries, even if more are at hand.
const MAX_BATCH: u64 = 256;
/// Entries that wait for one that they overtook; beyond it the store is read.
const MAX_EARLY: usize = 1024;

/// A room with listeners, or one that lately had some.
#[derive(Debug)]
pub(crate) struct Room {
    pub(super) id: RoomId,
    state: Mutex<RoomState>,
}

/// What the lock protects.
#[derive(Debug)]
pub(super) struct RoomState {
    pub(super) id: RoomId,
    /// None until it was read from the store.
    pub(super) log: Option<RoomLog>,
    pub(super) tail: HotTail,
    /// Everything up to here was handed to the live members.
    flushed: u64,
    pub(super) members: Slab<Member>,
    /// Entries of several nodes that overtook others: they wait a moment for those.
    early: BTreeMap<u64, (Arc<DurableEvent>, Option<ConnectionId>)>,
    /// A head that the store showed and the bus has not brought yet.
    pub(super) suspect: Option<u64>,
    pub(super) repairing: bool,
    /// The pulse at which the last member left.
    pub(super) empty_since: u32,
}

#[derive(Debug)]
pub(super) struct RoomLog {
    pub(super) epoch: String,
    pub(super) head: u64,
}

/// One subscription of one connection.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) connection: Arc<Connection>,
    pub(super) user_id: UserId,
    pub(super) sub: u32,
    pub(super) feed: Feed,
    /// Whether it was asked, after the last change of access, if this user may read the room.
    pub(super) is_checked: bool,
    /// It lost events because its socket was slow, and has not caught up yet.
    pub(super) was_slow: bool,
    /// The pulse at which it last caught up after it was behind.
    pub(super) resynced_at: Option<u32>,
    /// How often it was behind again soon after that.
    pub(super) strikes: u8,
}

/// How far a subscription is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    /// Stands at a position until its access is (again) known.
    Paused { position: u64 },
    /// Lost events after a position; `room.behind` is due.
    Behind { position: u64 },
    /// Reads pages after a position.
    CatchingUp { position: u64 },
    /// Gets every batch, but nothing up to `from`.
    Live { from: u64 },
}

/// Where a subscription lies: the slot may have been given to another since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) slot: usize,
    pub(super) sub: u32,
}

/// What a log entry means for the room's listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// Known already.
    Old,
    /// To be delivered with the next flush.
    Pending,
    /// Entries before it are missing: the store has them.
    Hole,
}

/// What a flush leaves to be done outside of the room's lock.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Connections with frames that wait for the end of the turn.
    pub(super) later: Vec<Arc<Connection>>,
    /// Subscriptions that have to catch up, or whose access is in doubt.
    pub(super) lost: Vec<Lost>,
    /// Subscriptions that ended.
    pub(super) ended: Vec<(Arc<Connection>, Seat, RoomId)>,
    pub(super) deliveries: u64,
    pub(super) overflows: u64,
}

/// A subscription that cannot go on by itself.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) connection: Arc<Connection>,
    pub(super) seat: Seat,
    pub(super) room_id: RoomId,
    /// Its socket is to blame.
    pub(super) is_slow: bool,
}

impl Room {
    pub(super) fn new(id: RoomId, tail_bytes: TailBytes) -> Self {
        let state = RoomState {
            id,
            log: None,
            tail: HotTail::new(id, tail_bytes),
            flushed: 0,
            members: Slab::new(),
            early: BTreeMap::new(),
            suspect: None,
            repairing: false,
            empty_since: 0,
        };
        Self { id, state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, RoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RoomState {
    /// The member of a seat, if it still has it.
    pub(super) fn member(&mut self, seat: Seat) -> Option<&mut Member> {
        self.members.get_mut(seat.slot).filter(|member| member.sub == seat.sub)
    }

    /// Takes a seat away. No frame is sent.
    pub(super) fn remove(&mut self, connection: &Arc<Connection>, seat: Seat, now: u32) -> Option<Member> {
        let member = self.members.get(seat.slot)?;
        if member.sub != seat.sub || !Arc::ptr_eq(&member.connection, connection) {
            return None;
        }
        self.empty_since = now;
        Some(self.members.remove(seat.slot))
    }

    /// Takes in a head that was read from the store while the room was attached to the bus.
    pub(super) fn load(&mut self, epoch: String, head: u64) {
        if self.log.is_some() {
            return;
        }
        // What the bus brought meanwhile counts when it joins what was read.
        let head = match (self.tail.first(), self.tail.last()) {
            (Some(first), Some(last)) if first <= head + 1 && last >= head => last,
            _ => {
                self.tail.clear();
                head
            }
        };
        self.flushed = head;
        self.log = Some(RoomLog { epoch, head });
    }

    /// Takes in a log entry from the bus.
    pub(super) fn append(&mut self, seq: u64, event: &Arc<DurableEvent>, cause: Option<ConnectionId>) -> Applied {
        match &mut self.log {
            Some(log) if seq <= log.head => return Applied::Old,
            Some(log) if seq > log.head + 1 => return Applied::Hole,
            Some(log) => log.head = seq,
            None => {}
        }
        self.tail.push(seq, Arc::clone(event), cause);
        if self.log.is_none() {
            self.tail.trim(seq.saturating_sub(1));
        }
        Applied::Pending
    }

    /// Keeps an entry that came before its predecessor.
    pub(super) fn keep_early(&mut self, seq: u64, event: Arc<DurableEvent>, cause: Option<ConnectionId>) {
        if self.early.len() < MAX_EARLY {
            self.early.insert(seq, (event, cause));
        }
    }

    /// The next entry, when it came before its predecessor.
    pub(super) fn next_early(&mut self) -> Option<(u64, Arc<DurableEvent>, Option<ConnectionId>)> {
        let next = self.head() + 1;
        while let Some(first) = self.early.first_entry() {
            if *first.key() > next {
                return None;
            }
            let (seq, (event, cause)) = first.remove_entry();
            if seq == next {
                return Some((seq, event, cause));
            }
        }
        None
    }

    /// Whether entries wait for one that they overtook.
    pub(super) fn has_hole(&mut self) -> bool {
        let head = self.head();
        self.early.retain(|seq, _| *seq > head);
        !self.early.is_empty()
    }

    /// Whether `seq` is the entry after the head.
    pub(super) fn is_next(&self, seq: u64) -> bool {
        self.log.as_ref().is_some_and(|log| log.head + 1 == seq)
    }

    /// Whether something waits for a flush.
    pub(super) fn is_pending(&self) -> bool {
        self.head() > self.flushed
    }

    /// Whether the batch should be written before more is taken in.
    pub(super) fn is_full(&self) -> bool {
        self.head() - self.flushed >= MAX_BATCH
    }

    /// The last entry.
    pub(super) fn head(&self) -> u64 {
        self.log.as_ref().map_or(self.flushed, |log| log.head)
    }

    /// Delivers the pending batch.
    pub(super) fn flush(&mut self, turn: &mut Turn) {
        let (flushed, head) = (self.flushed, self.head());
        if flushed == head {
            return;
        }
        self.flushed = head;
        let mut joined = Joined { tail: &self.tail, flushed, json: None, msgpack: None };
        let spares = self.tail.after(flushed).any(|entry| entry.spared.is_some());
        for (slot, member) in &mut self.members {
            let Feed::Live { from } = member.feed else { continue };
            if from >= head {
                continue;
            }
            let connection = &member.connection;
            let position = from.max(flushed);
            let batch = if spares && !connection.echo() {
                &self.tail.joined_for(connection, member.sub, position)
            } else if from > flushed {
                &self.tail.joined(connection.codec(), position)
            } else {
                joined.get(connection.codec())
            };
            let lane = Lane::Live { sub: member.sub, first: position + 1 };
            let pushed = if connection.is_in_one_room() {
                connection.send(lane, batch)
            } else {
                let (pushed, is_first) = connection.send_later(lane, batch);
                if is_first {
                    turn.later.push(Arc::clone(connection));
                }
                pushed
            };
            turn.deliveries += head - position;
            if let Pushed::Behind { first } = pushed {
                member.feed = Feed::Behind { position: first - 1 };
                member.was_slow = true;
                turn.overflows += 1;
                turn.lost.push(member.lost(slot, self.id, true));
            }
        }
        self.tail.trim(self.flushed);
    }

    /// Hands a hint to all live members.
    pub(super) fn hint(&self, cause: ConnectionId, event: &EphemeralEvent) {
        let frame = |codec| codec::encode(codec, &Event::Ephemeral { room_id: self.id, event: event.clone() });
        let (mut json, mut msgpack) = (None, None);
        for (_, member) in &self.members {
            let connection = &member.connection;
            let is_spared = connection.id() == cause && !connection.echo();
            if is_spared || !matches!(member.feed, Feed::Live { .. }) {
                continue;
            }
            let frame = match connection.codec() {
                Codec::Json => json.get_or_insert_with(|| frame(Codec::Json)),
                Codec::MessagePack => msgpack.get_or_insert_with(|| frame(Codec::MessagePack)),
            };
            connection.send(Lane::Ephemeral, frame);
        }
    }

    /// Before `event` is delivered: ends the subscriptions that it takes the access from, and pauses those that it may
    /// take it from until their access is known again.
    pub(super) fn end_access(&mut self, event: &DurableEvent, now: u32, turn: &mut Turn) {
        match event {
            DurableEvent::MemberLeft(left) => {
                let reason = match left.reason {
                    LeaveReason::Left | LeaveReason::Removed => UnsubscribeReason::Left,
                    LeaveReason::Kicked => UnsubscribeReason::Kicked,
                    LeaveReason::Banned => UnsubscribeReason::Banned,
                };
                self.end_where(reason, now, turn, |member| member.user_id == left.user_id);
            }
            DurableEvent::RoleRevoked(revoked) => self.pause_where(turn, |member| member.user_id == revoked.user_id),
            DurableEvent::RoleDeleted(_) => self.pause_where(turn, |_| true),
            DurableEvent::RoleUpdated(_) if may_end_reading(event) => self.pause_where(turn, |_| true),
            _ => {}
        }
    }

    /// Ends subscriptions after `event` was delivered.
    pub(super) fn end_room(&mut self, event: &DurableEvent, now: u32, turn: &mut Turn) {
        if let DurableEvent::RoomDeleted(_) = event {
            self.end_where(UnsubscribeReason::Deleted, now, turn, |_| true);
        }
    }

    /// Whether [`RoomState::end_access`] or [`RoomState::end_room`] has something to do.
    pub(super) fn touches_access(event: &DurableEvent) -> bool {
        match event {
            DurableEvent::MemberLeft(_)
            | DurableEvent::RoomDeleted(_)
            | DurableEvent::RoleRevoked(_)
            | DurableEvent::RoleDeleted(_) => true,
            event => may_end_reading(event),
        }
    }

    /// Ends a subscription with its last frame.
    pub(super) fn end(&mut self, seat: Seat, reason: UnsubscribeReason, now: u32) -> Option<Arc<Connection>> {
        self.member(seat)?;
        let member = self.members.remove(seat.slot);
        self.empty_since = now;
        let frame = frames::unsubscribed(member.connection.codec(), self.id, seat.sub, reason);
        member.connection.send(Lane::Control, &frame);
        Some(member.connection)
    }

    /// Jumps to a head that the store has: what the bus lost is read from there.
    pub(super) fn jump(&mut self, head: u64, turn: &mut Turn) {
        let old = self.head();
        if head <= old {
            return;
        }
        self.flush(turn);
        if let Some(log) = &mut self.log {
            log.head = head;
        }
        self.flushed = head;
        self.tail.clear();
        for (slot, member) in &mut self.members {
            member.is_checked = false;
            if let Feed::Live { .. } = member.feed {
                member.feed = Feed::Behind { position: old };
                turn.lost.push(member.lost(slot, self.id, false));
            }
        }
    }

    /// Takes in a log that starts anew; the seats that have to read anew, with their old positions.
    pub(super) fn restart(&mut self, epoch: String, head: u64) -> Vec<(Seat, u64)> {
        let old = self.head();
        self.log = Some(RoomLog { epoch, head });
        self.flushed = head;
        self.suspect = None;
        self.early.clear();
        self.tail.clear();
        self.members.iter().map(|(slot, member)| (Seat { slot, sub: member.sub }, old)).collect()
    }

    fn end_where(&mut self, reason: UnsubscribeReason, now: u32, turn: &mut Turn, ends: impl Fn(&Member) -> bool) {
        let seats: Vec<Seat> = self
            .members
            .iter()
            .filter(|(_, member)| ends(member))
            .map(|(slot, member)| Seat { slot, sub: member.sub })
            .collect();
        for seat in seats {
            if let Some(connection) = self.end(seat, reason, now) {
                turn.ended.push((connection, seat, self.id));
            }
        }
    }

    fn pause_where(&mut self, turn: &mut Turn, pauses: impl Fn(&Member) -> bool) {
        self.flush(turn);
        let position = self.head();
        for (slot, member) in &mut self.members {
            if !pauses(member) {
                continue;
            }
            member.is_checked = false;
            if let Feed::Live { .. } = member.feed {
                member.feed = Feed::Paused { position };
                turn.lost.push(member.lost(slot, self.id, false));
            }
        }
    }
}

/// Whether a changed role may have carried the right to read. One that carries it now took it from nobody.
fn may_end_reading(event: &DurableEvent) -> bool {
    let DurableEvent::RoleUpdated(updated) = event else { return false };
    updated.changes.permissions.is_some_and(|permissions| !permissions.allows(Permissions::READ_MESSAGES))
}

impl Member {
    fn lost(&self, slot: usize, room_id: RoomId, is_slow: bool) -> Lost {
        Lost { connection: Arc::clone(&self.connection), seat: Seat { slot, sub: self.sub }, room_id, is_slow }
    }
}

/// The pending batch in one piece, made once for each codec that somebody reads.
struct Joined<'a> {
    tail: &'a HotTail,
    flushed: u64,
    json: Option<Bytes>,
    msgpack: Option<Bytes>,
}

impl Joined<'_> {
    fn get(&mut self, codec: Codec) -> &Bytes {
        let slot = match codec {
            Codec::Json => &mut self.json,
            Codec::MessagePack => &mut self.msgpack,
        };
        slot.get_or_insert_with(|| self.tail.joined(codec, self.flushed))
    }
}
