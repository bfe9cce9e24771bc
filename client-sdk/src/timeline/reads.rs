//! Answers to reads, which race with events: an older state never overwrites a newer one, and what was
//! deleted meanwhile does not come back.

use std::sync::Arc;

use parlour_protocol::{RowKey, object::Message};

use super::{Change, Held, History, Timeline};

/// A read that is under way. Give it back with its answer, or with [`Timeline::fail_read`].
#[derive(Debug)]
pub struct Read {
    ticket: u64,
    generation: u64,
    /// The position when it was begun: an older answer is of no use.
    position: u64,
}

/// What an answer covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// The newest messages; older ones begin at the cursor, if there are any.
    Newest {
        /// Where the next older page begins.
        older: Option<RowKey>,
    },
    /// The messages older than a place; still older ones begin at the cursor, if there are any.
    Older {
        /// Where the page began.
        than: RowKey,
        /// Where the next older page begins.
        older: Option<RowKey>,
    },
    /// These messages: what is not among the items is deleted.
    Exactly(Vec<RowKey>),
}

/// Where the feed of the room stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The position.
    pub seq: u64,
    /// The position when the catch-up began that is not done.
    pub folding_from: Option<u64>,
}

impl Progress {
    /// Up to here everything was told.
    pub(crate) fn settled(self) -> u64 {
        self.folding_from.unwrap_or(self.seq)
    }
}

/// The answer to a read.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The room's `seq` before the rows were read.
    pub as_of: u64,
    /// The messages.
    pub items: Vec<Message>,
    /// What they cover. A read by key that does not find a message means that it is deleted.
    pub extent: Extent,
}

/// The outcome of merging an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Merge {
    /// The answer is older than what is known: read again.
    Stale,
    /// It was merged.
    Merged(Vec<Change>),
}

impl Timeline {
    /// Begins a read; `position` is the room's position now.
    pub fn begin_read(&mut self, position: u64) -> Read {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.reads.insert(ticket);
        Read { ticket, generation: self.generation, position }
    }

    /// The read will not be answered.
    #[expect(clippy::needless_pass_by_value, reason = "a read is answered once")]
    pub fn fail_read(&mut self, read: Read) {
        if read.generation == self.generation {
            self.reads.remove(&read.ticket);
            self.forget();
        }
    }

    /// Merges the answer to a read.
    pub fn finish_read(&mut self, read: Read, progress: Progress, answer: Answer) -> Merge {
        let Answer { as_of, items, extent } = answer;
        if read.generation != self.generation {
            return Merge::Stale;
        }
        let is_moved = matches!(extent, Extent::Older { than, .. } if self.history != History::Since(than));
        // A catch-up leaves out what was created and deleted since its beginning: nothing would take it away again.
        let is_of_fold = progress
            .folding_from
            .is_some_and(|from| items.iter().any(|item| item.seq > from && !self.messages.contains_key(&item.row_key)));
        let folded = self.folds.back().map_or(0, |(_, end)| *end);
        if as_of < read.position.max(folded) || is_of_fold || is_moved {
            self.fail_read(read);
            return Merge::Stale;
        }
        let mut changes = Vec::new();
        if let Extent::Exactly(row_keys) = &extent {
            for row_key in row_keys.iter().filter(|key| !items.iter().any(|item| item.row_key == **key)) {
                changes.extend(self.vanish(*row_key));
            }
        }
        let is_extending = !matches!(extent, Extent::Exactly(_));
        for item in items {
            changes.extend(self.merge(progress.settled(), as_of, item, is_extending));
        }
        match extent {
            Extent::Newest { older } => self.extend_history(older),
            Extent::Older { older, .. } => self.extend_history(older),
            Extent::Exactly(_) => {}
        }
        self.capacity = self.capacity.max(self.messages.len());
        self.fail_read(read);
        Merge::Merged(changes)
    }

    fn extend_history(&mut self, older: Option<RowKey>) {
        self.history = match (older, self.history) {
            (None, _) => History::Whole,
            // The newest page again: what was known further back stays known.
            (Some(end), History::Since(known)) if known > end => History::Since(known),
            (Some(_), History::Whole) => History::Whole,
            (Some(end), History::Unread | History::Since(_)) => History::Since(end),
        };
    }

    fn merge(&mut self, settled: u64, as_of: u64, item: Message, is_extending: bool) -> Option<Change> {
        let row_key = item.row_key;
        if self.is_deleted(row_key) {
            return None;
        }
        self.is_fresh_enough(row_key, item.rev);
        if let Some(held) = self.messages.get_mut(&row_key) {
            let is_newer = item.rev > held.message.rev;
            // Replies seen live after the read was taken count on top of what it says.
            let recount = as_of >= held.counted.max(held.recounted);
            if item.rev < held.message.rev || (!is_newer && !recount) {
                return None;
            }
            let mut merged = item;
            if !recount {
                merged.reply_count = held.message.reply_count;
            }
            held.counted = held.counted.max(as_of);
            if *held.message == merged {
                return None;
            }
            held.message = Arc::new(merged);
            return Some(Change::Changed(Arc::clone(&held.message)));
        }
        if !is_extending {
            return None;
        }
        if let Some(mark) = self.marks.get(&row_key).copied().filter(|mark| mark.rev > item.rev) {
            self.read_again(row_key, mark.rev);
        }
        if item.seq > settled {
            self.ahead.insert(item.seq, row_key);
        }
        let message = Arc::new(item);
        self.messages.insert(row_key, Held { message: Arc::clone(&message), counted: as_of, recounted: 0 });
        Some(Change::Created(message))
    }
}
