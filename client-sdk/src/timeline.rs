//! One room's messages as this client knows them: ordered by row key, one per composite key, the
//! highest `rev` of each. Pure: events and answers to reads go in, changes come out.

mod apply;
mod reads;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parlour_protocol::{RowKey, UserId, object::Message};

pub use self::reads::{Answer, Extent, Merge, Progress, Read};

/// Every timeline and every reset has a number of its own, so that a read can never be answered to another.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Messages a timeline keeps when nothing older is loaded on purpose.
pub const DEFAULT_CAPACITY: usize = 1000;
/// Deleted keys that are remembered when no read is under way.
const GRAVES: usize = 1024;
/// Catch-ups that are remembered, for answers that come late.
const FOLDS: usize = 16;

/// What became different.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A message that was not there before.
    Created(Arc<Message>),
    /// A message in its new state.
    Changed(Arc<Message>),
    /// A message is gone, for good.
    Deleted(RowKey),
}

/// How far back the timeline is known without a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    /// No page was read: only what came live.
    Unread,
    /// Everything newer than this place.
    Since(RowKey),
    /// Everything.
    Whole,
}

#[derive(Debug, Clone)]
struct Held {
    message: Arc<Message>,
    /// The `seq` up to which its `replyCount` was read.
    counted: u64,
    /// The `seq` of the latest reply, or end of one, that was counted on top.
    recounted: u64,
}

/// What is known of a message that is not held.
#[derive(Debug, Clone, Copy)]
struct Mark {
    rev: u32,
    is_deleted: bool,
    /// Reads with a lower ticket were begun before this was learnt.
    stamp: u64,
}

/// One room's messages.
#[derive(Debug, Clone)]
pub struct Timeline {
    me: Option<UserId>,
    capacity: usize,
    // A smaller row key is a newer message: iteration is newest first.
    messages: BTreeMap<RowKey, Held>,
    history: History,
    marks: HashMap<RowKey, Mark>,
    graves: VecDeque<RowKey>,
    /// Messages whose held state is known to be old, with the `rev` they have at least.
    stale: BTreeMap<RowKey, u32>,
    /// Messages that a read brought before the feed did, by the `seq` of their creation.
    ahead: BTreeMap<u64, RowKey>,
    /// Where the latest catch-ups began and ended: what was created in between and is not held is gone.
    folds: VecDeque<(u64, u64)>,
    reads: BTreeSet<u64>,
    next_ticket: u64,
    generation: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Timeline {
    /// An empty timeline, as `me` sees it.
    pub fn new(me: Option<UserId>) -> Self {
        Self {
            me,
            capacity: DEFAULT_CAPACITY,
            messages: BTreeMap::new(),
            history: History::Unread,
            marks: HashMap::new(),
            graves: VecDeque::new(),
            stale: BTreeMap::new(),
            ahead: BTreeMap::new(),
            folds: VecDeque::new(),
            reads: BTreeSet::new(),
            next_ticket: 0,
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The same timeline, keeping at most `capacity` messages unless more are loaded on purpose.
    #[must_use]
    pub fn with_capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity.max(1);
        self
    }

    /// Who looks at it: decides what `mine` follows.
    pub fn set_me(&mut self, me: UserId) {
        self.me = Some(me);
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.messages.values().rev().map(|held| &held.message)
    }

    /// A message.
    pub fn get(&self, row_key: RowKey) -> Option<&Arc<Message>> {
        self.messages.get(&row_key).map(|held| &held.message)
    }

    /// How many messages are held.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether there may be older messages on the server.
    pub fn has_older(&self) -> bool {
        self.history != History::Whole
    }

    /// Where the next page of older messages begins; none is the newest page.
    pub fn older_cursor(&self) -> Option<RowKey> {
        match self.history {
            History::Unread | History::Whole => None,
            History::Since(row_key) => Some(row_key),
        }
    }

    /// Messages to read again because their held state is known to be old.
    pub fn stale(&self) -> impl Iterator<Item = RowKey> {
        self.stale.keys().copied()
    }

    /// Discards everything; answers to reads begun before are refused as stale.
    pub fn reset(&mut self) {
        self.messages.clear();
        self.history = History::Unread;
        self.marks.clear();
        self.graves.clear();
        self.stale.clear();
        self.ahead.clear();
        self.folds.clear();
        self.reads.clear();
        self.generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
    }

    /// The feed has come live to `seq`: nothing up to there can be missing from it.
    pub fn advance(&mut self, seq: u64) {
        if self.ahead.first_key_value().is_some_and(|(first, _)| *first <= seq) {
            self.ahead = self.ahead.split_off(&(seq + 1));
        }
    }

    /// A catch-up that began at `from` has ended at `seq`. It leaves out what was created and deleted in between:
    /// what a read brought ahead of it and it did not tell of is gone.
    pub fn caught_up(&mut self, from: u64, seq: u64) -> Vec<Change> {
        if self.folds.len() == FOLDS {
            self.folds.pop_front();
        }
        self.folds.push_back((from, seq));
        let later = self.ahead.split_off(&(seq + 1));
        let untold = std::mem::replace(&mut self.ahead, later);
        untold.into_values().filter_map(|row_key| self.vanish(row_key)).collect()
    }

    fn vanish(&mut self, row_key: RowKey) -> Option<Change> {
        self.mark(row_key, 0, true);
        self.stale.remove(&row_key);
        let held = self.messages.remove(&row_key)?;
        self.ahead.remove(&held.message.seq);
        Some(Change::Deleted(row_key))
    }

    /// Whether a message that is not held belongs into the range that is.
    fn is_in_range(&self, row_key: RowKey) -> bool {
        match self.messages.last_key_value() {
            _ if self.history == History::Whole => true,
            None => true,
            Some((oldest, _)) => row_key < *oldest || matches!(self.history, History::Since(end) if row_key < end),
        }
    }

    fn is_deleted(&self, row_key: RowKey) -> bool {
        self.marks.get(&row_key).is_some_and(|mark| mark.is_deleted)
    }

    /// Remembers the state of a message that is not held, for reads that are under way.
    fn mark(&mut self, row_key: RowKey, rev: u32, is_deleted: bool) {
        if !is_deleted && self.reads.is_empty() {
            return;
        }
        let stamp = self.next_ticket;
        let mark = self.marks.entry(row_key).or_insert(Mark { rev, is_deleted: false, stamp });
        mark.rev = mark.rev.max(rev);
        mark.stamp = stamp;
        if is_deleted && !mark.is_deleted {
            mark.is_deleted = true;
            self.graves.push_back(row_key);
            self.trim_graves();
        }
    }

    /// Drops the marks that no read under way can contradict, but for the latest deletions.
    fn forget(&mut self) {
        self.trim_graves();
        if self.marks.len() > self.graves.len() {
            let earliest = self.earliest_read();
            self.marks.retain(|_, mark| mark.is_deleted || mark.stamp > earliest);
        }
    }

    fn trim_graves(&mut self) {
        let earliest = self.earliest_read();
        while self.graves.len() > GRAVES {
            let oldest = self.graves[0];
            if self.marks.get(&oldest).is_some_and(|mark| mark.stamp > earliest) {
                break;
            }
            self.graves.pop_front();
            self.marks.remove(&oldest);
        }
    }

    fn earliest_read(&self) -> u64 {
        self.reads.first().copied().unwrap_or(u64::MAX)
    }

    fn trim(&mut self) {
        while self.messages.len() > self.capacity {
            let Some((dropped, held)) = self.messages.pop_last() else { return };
            self.stale.remove(&dropped);
            self.ahead.remove(&held.message.seq);
            if self.history != History::Unread
                && let Some((oldest, _)) = self.messages.last_key_value()
            {
                self.history = History::Since(*oldest);
            }
        }
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
