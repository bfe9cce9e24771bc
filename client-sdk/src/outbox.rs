//! Creating commands that wait for an unambiguous answer. Each has a nonce, so that repeating it is safe;
//! the sends of one room go out in order, several at a time, and after an ambiguous failure that room
//! halts and repeats in order. Pure: the driver asks what to send and tells what was answered.

pub(crate) mod journal;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use parlour_protocol::{ErrorCode, Nonce, ProtocolError, RoomId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::backoff::Backoff;

/// Sends of one room that are under way at once.
const WINDOW: usize = 32;

/// An entry's name within this outbox, in the order of adding.
pub(crate) type EntryId = u64;

/// What to do when the server asks to wait (`slowmode`, `rate_limited`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Patience {
    /// Wait for as long as it says, then repeat.
    #[default]
    Wait,
    /// Tell the caller. A repeat whose first outcome is not known waits all the same.
    Tell,
}

/// A creating command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) op: String,
    pub(crate) data: Value,
    pub(crate) nonce: Nonce,
    /// The room whose order it keeps.
    pub(crate) lane: Option<RoomId>,
    pub(crate) patience: Patience,
    pub(crate) added_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    InFlight,
}

#[derive(Debug, Clone)]
struct Entry {
    letter: Letter,
    state: State,
    /// It may have been stored already.
    is_doubtful: bool,
    /// Only for entries without a lane.
    resume_at: Option<Instant>,
    backoff: Backoff,
}

#[derive(Debug, Default)]
struct Lane {
    order: VecDeque<EntryId>,
    in_flight: usize,
    /// Nothing is sent until everything under way is answered.
    is_halted: bool,
    /// The server asked to wait: one at a time until the lane is empty.
    is_narrow: bool,
    resume_at: Option<Instant>,
    backoff: Backoff,
}

/// What an answer means for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is done; the entry is gone.
    Settled,
    /// It stays and will be sent again.
    Kept,
}

/// The outbox is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// The waiting entries.
#[derive(Debug)]
pub(crate) struct Outbox {
    capacity: usize,
    entries: BTreeMap<EntryId, Entry>,
    lanes: HashMap<RoomId, Lane>,
    next_id: EntryId,
}

impl Outbox {
    /// An empty outbox for at most `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, entries: BTreeMap::new(), lanes: HashMap::new(), next_id: 1 }
    }

    /// Puts back an entry of an earlier run, which may have been sent then.
    pub(crate) fn restore(&mut self, id: EntryId, letter: Letter) {
        self.next_id = self.next_id.max(id + 1);
        self.insert(id, letter, true);
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, letter: Letter) -> Result<EntryId, Full> {
        if self.entries.len() >= self.capacity {
            return Err(Full);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.insert(id, letter, false);
        Ok(id)
    }

    fn insert(&mut self, id: EntryId, letter: Letter, is_doubtful: bool) {
        if let Some(room_id) = letter.lane {
            self.lanes.entry(room_id).or_default().order.push_back(id);
        }
        let entry = Entry { letter, state: State::Queued, is_doubtful, resume_at: None, backoff: Backoff::default() };
        self.entries.insert(id, entry);
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in order.
    pub(crate) fn letters(&self) -> impl Iterator<Item = (EntryId, &Letter)> {
        self.entries.iter().map(|(id, entry)| (*id, &entry.letter))
    }

    /// One entry.
    pub(crate) fn letter(&self, id: EntryId) -> Option<&Letter> {
        self.entries.get(&id).map(|entry| &entry.letter)
    }

    /// The entries that may be sent now, at most `most`, each room's in order. They count as under way.
    pub(crate) fn take_ready(&mut self, now: Instant, most: usize) -> Vec<EntryId> {
        let mut ready = Vec::new();
        for (id, entry) in &mut self.entries {
            if ready.len() >= most {
                break;
            }
            if entry.state == State::InFlight {
                continue;
            }
            let may_go = match entry.letter.lane.and_then(|room_id| self.lanes.get_mut(&room_id)) {
                // Ids ascend, so that a lane is met in its order.
                Some(lane) => lane.admit(now),
                None => entry.resume_at.is_none_or(|at| at <= now),
            };
            if may_go {
                entry.state = State::InFlight;
                ready.push(*id);
            }
        }
        ready
    }

    /// When something may be sent that may not be sent now.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let lanes = self.lanes.values().filter(|lane| !lane.is_halted).filter_map(|lane| lane.resume_at);
        let entries = self.entries.values().filter(|entry| entry.state == State::Queued);
        lanes.chain(entries.filter_map(|entry| entry.resume_at)).filter(|at| *at > now).min()
    }

    /// An answer to an entry under way; `unit` is a random number of `0.0..1.0`.
    pub(crate) fn answered(&mut self, id: EntryId, error: Option<&ProtocolError>, now: Instant, unit: f64) -> Fate {
        let Some(entry) = self.entries.get_mut(&id) else { return Fate::Kept };
        let wait = match error.map(|error| (error.code, error.retry_after_ms)) {
            None => return self.settle(id, true),
            Some((code, _)) if code.is_ambiguous() => {
                entry.is_doubtful = true;
                None
            }
            Some((ErrorCode::Unauthenticated, _)) => None,
            Some((ErrorCode::RateLimited | ErrorCode::Slowmode, wait))
                if entry.is_doubtful || entry.letter.patience == Patience::Wait =>
            {
                Some(Duration::from_millis(wait.unwrap_or(1000)))
            }
            Some(_) => return self.settle(id, false),
        };
        let was_in_flight = std::mem::replace(&mut entry.state, State::Queued) == State::InFlight;
        match entry.letter.lane.and_then(|room_id| self.lanes.get_mut(&room_id)) {
            Some(lane) => lane.halt(was_in_flight, wait, now, unit),
            None => entry.resume_at = Some(now + wait.unwrap_or_else(|| entry.backoff.next(unit))),
        }
        Fate::Kept
    }

    /// No answer came in time: as ambiguous as `unavailable`.
    pub(crate) fn unanswered(&mut self, id: EntryId, now: Instant, unit: f64) {
        let error = ProtocolError::new(ErrorCode::Unavailable, "no answer");
        self.answered(id, Some(&error), now, unit);
    }

    /// The connection is gone: everything under way is ambiguous and goes out again, in order.
    pub(crate) fn disconnected(&mut self) {
        for entry in self.entries.values_mut().filter(|entry| entry.state == State::InFlight) {
            entry.state = State::Queued;
            entry.is_doubtful = true;
        }
        for lane in self.lanes.values_mut() {
            lane.in_flight = 0;
            lane.is_halted = false;
        }
    }

    /// Whether an entry was never sent, so that it can be taken back.
    pub(crate) fn can_withdraw(&self, id: EntryId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.state == State::Queued && !entry.is_doubtful)
    }

    /// Takes an entry out, whatever its state.
    pub(crate) fn remove(&mut self, id: EntryId) {
        self.settle(id, false);
    }

    fn settle(&mut self, id: EntryId, is_success: bool) -> Fate {
        let Some(entry) = self.entries.remove(&id) else { return Fate::Kept };
        if let Some(room_id) = entry.letter.lane
            && let Some(lane) = self.lanes.get_mut(&room_id)
        {
            lane.settle(id, entry.state == State::InFlight, is_success);
            if lane.order.is_empty() {
                self.lanes.remove(&room_id);
            }
        }
        Fate::Settled
    }
}

impl Lane {
    fn admit(&mut self, now: Instant) -> bool {
        let window = if self.is_narrow { 1 } else { WINDOW };
        let may_go = !self.is_halted && self.in_flight < window && self.resume_at.is_none_or(|at| at <= now);
        self.in_flight += usize::from(may_go);
        may_go
    }

    fn halt(&mut self, was_in_flight: bool, wait: Option<Duration>, now: Instant, unit: f64) {
        self.in_flight -= usize::from(was_in_flight && self.in_flight > 0);
        // One failure of several under way is one failure.
        let pause = match wait {
            Some(wait) => {
                self.is_narrow = true;
                wait
            }
            None if self.is_halted => Duration::ZERO,
            None => self.backoff.next(unit),
        };
        self.resume_at = self.resume_at.max(Some(now + pause));
        self.is_halted = self.in_flight > 0;
    }

    fn settle(&mut self, id: EntryId, was_in_flight: bool, is_success: bool) {
        self.order.retain(|held| *held != id);
        self.in_flight -= usize::from(was_in_flight && self.in_flight > 0);
        if is_success {
            self.backoff.reset();
        }
        if self.in_flight == 0 {
            self.is_halted = false;
        }
    }
}

#[cfg(test)]
mod tests;
