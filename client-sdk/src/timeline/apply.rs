//! What a durable event changes.

use std::sync::Arc;

use parlour_protocol::{
    DurableEvent, RowKey, UserId,
    event::{PollVoted, ReactionChanged},
    limits::Limits,
    object::{Message, MessageChange, Mine, Reaction},
    operation::ReactionReply,
};

use super::{Change, Held, Progress, Timeline};

/// Whether a message can take a delta, or has to be read again.
enum Delta {
    Applied,
    ReadAgain,
}

impl Timeline {
    /// Applies a durable event of the room, live or of a catch-up. Events that are no message's change
    /// nothing here.
    pub fn apply(&mut self, seq: u64, event: &DurableEvent) -> Vec<Change> {
        match event {
            DurableEvent::MessageCreated(created) => self.created(seq, created.message.clone()),
            DurableEvent::MessageUpdated(updated) => match &updated.changes {
                MessageChange::Whole(message) => self.replaced(seq, (**message).clone()),
                MessageChange::Delta(delta) => self.changed(updated.row_key, updated.rev, |message| {
                    message.apply((**delta).clone());
                    Delta::Applied
                }),
            },
            DurableEvent::MessageDeleted(deleted) => self.deleted(seq, deleted.row_key, deleted.rev),
            DurableEvent::MessagePurged(purged) => {
                purged.row_keys.iter().flat_map(|row_key| self.deleted(seq, *row_key, 0)).collect()
            }
            DurableEvent::ReactionAdded(reaction) => self.reacted(reaction, true),
            DurableEvent::ReactionRemoved(reaction) => self.reacted(reaction, false),
            DurableEvent::PollVoted(vote) => self.voted(vote),
            _ => Vec::new(),
        }
    }

    /// Inserts an own message from the reply to its send: with `echo: false` no event brings it, but for a
    /// catch-up. What that had to tell of and left out is gone.
    pub fn insert_own(&mut self, progress: Progress, message: Message) -> Vec<Change> {
        let is_folded = self.folds.iter().any(|(from, to)| message.seq > *from && message.seq <= *to);
        if (is_folded || !self.is_in_range(message.row_key)) && self.get(message.row_key).is_none() {
            return Vec::new();
        }
        let (seq, row_key) = (message.seq, message.row_key);
        let changes = self.created(seq, message);
        if seq > progress.settled() && !changes.is_empty() {
            self.ahead.insert(seq, row_key);
        }
        changes
    }

    /// Applies the reply to an own reaction: with `echo: false` no event brings it.
    pub fn apply_own_reaction(&mut self, row_key: RowKey, reply: &ReactionReply, is_added: bool) -> Vec<Change> {
        let me = self.me;
        self.changed(row_key, reply.rev, |message| {
            set_reaction(message, reply.reaction.clone());
            set_mine(message, &reply.reaction.emoji, me, me, is_added);
            Delta::Applied
        })
    }

    fn created(&mut self, seq: u64, message: Message) -> Vec<Change> {
        let row_key = message.row_key;
        self.ahead.remove(&message.seq);
        if self.messages.contains_key(&row_key) {
            return self.replaced(seq, message);
        }
        if self.is_deleted(row_key) {
            return Vec::new();
        }
        self.mark_rev_if_read(row_key, message.rev);
        let (reply_to, born) = (reply_target(&message), message.seq);
        let message = Arc::new(message);
        self.messages.insert(row_key, Held { message: Arc::clone(&message), counted: seq, recounted: 0 });
        let mut changes = vec![Change::Created(message)];
        if let Some(root) = reply_to {
            changes.extend(self.count_reply(root, born, seq, 1));
        }
        self.trim();
        changes
    }

    /// A whole message: its present state.
    fn replaced(&mut self, seq: u64, mut message: Message) -> Vec<Change> {
        let row_key = message.row_key;
        self.ahead.remove(&message.seq);
        if let Some(held) = self.messages.get_mut(&row_key) {
            if message.rev <= held.message.rev {
                return Vec::new();
            }
            message.mine = held.message.mine.clone();
            message.reply_count = held.message.reply_count;
            self.is_fresh_enough(row_key, message.rev);
            let message = Arc::new(message);
            if let Some(held) = self.messages.get_mut(&row_key) {
                held.message = Arc::clone(&message);
            }
            return vec![Change::Changed(message)];
        }
        if self.is_deleted(row_key) {
            return Vec::new();
        }
        if !self.is_in_range(row_key) {
            self.mark(row_key, message.rev, false);
            return Vec::new();
        }
        self.mark_rev_if_read(row_key, message.rev);
        let message = Arc::new(message);
        self.messages.insert(row_key, Held { message: Arc::clone(&message), counted: seq, recounted: 0 });
        self.trim();
        vec![Change::Changed(message)]
    }

    fn deleted(&mut self, seq: u64, row_key: RowKey, rev: u32) -> Vec<Change> {
        self.mark(row_key, rev, true);
        self.stale.remove(&row_key);
        let Some(held) = self.messages.remove(&row_key) else { return Vec::new() };
        self.ahead.remove(&held.message.seq);
        let mut changes = vec![Change::Deleted(row_key)];
        if let Some(root) = reply_target(&held.message) {
            changes.extend(self.count_reply(root, seq, seq, -1));
        }
        changes
    }

    fn changed(&mut self, row_key: RowKey, rev: u32, change: impl FnOnce(&mut Message) -> Delta) -> Vec<Change> {
        let Some(held) = self.messages.get_mut(&row_key) else {
            if !self.is_deleted(row_key) {
                self.mark(row_key, rev, false);
            }
            return Vec::new();
        };
        if rev <= held.message.rev {
            return Vec::new();
        }
        if rev > held.message.rev + 1 || self.stale.contains_key(&row_key) {
            self.read_again(row_key, rev);
            return Vec::new();
        }
        let message = Arc::make_mut(&mut held.message);
        let outcome = change(message);
        message.rev = rev;
        let changed = Change::Changed(Arc::clone(&held.message));
        if matches!(outcome, Delta::ReadAgain) {
            self.read_again(row_key, rev);
        }
        vec![changed]
    }

    fn reacted(&mut self, event: &ReactionChanged, is_added: bool) -> Vec<Change> {
        let me = self.me;
        self.changed(event.row_key, event.rev, |message| {
            let reaction =
                Reaction { emoji: event.emoji.clone(), count: event.count, user_ids: event.user_ids.clone() };
            set_reaction(message, reaction);
            set_mine(message, &event.emoji, me, Some(event.user_id), is_added);
            Delta::Applied
        })
    }

    fn voted(&mut self, vote: &PollVoted) -> Vec<Change> {
        let is_mine = self.me == Some(vote.user_id);
        self.changed(vote.row_key, vote.rev, |message| {
            if is_mine {
                message.mine.get_or_insert_with(no_marks).option_id = vote.option_id;
            }
            let Some(poll) = &mut message.poll else { return Delta::ReadAgain };
            for option in &mut poll.options {
                option.count = vote.options.iter().find(|tally| tally.id == option.id).map_or(0, |tally| tally.count);
            }
            match vote.option_id {
                Some(option_id) => poll.votes.insert(vote.user_id, option_id),
                None => poll.votes.remove(&vote.user_id),
            };
            let voters: u32 = poll.options.iter().map(|option| option.count).sum();
            if voters > Limits::default().poll_voters {
                poll.votes.clear();
                Delta::Applied
            } else if poll.votes.len() == voters as usize {
                Delta::Applied
            } else {
                // The votes are shown again from this voter on, and only a read has them all.
                Delta::ReadAgain
            }
        })
    }

    /// Counts a reply, or its end, that happened at `when` and is told of at `seq`.
    fn count_reply(&mut self, root: RowKey, when: u64, seq: u64, by: i32) -> Option<Change> {
        let held = self.messages.get_mut(&root).filter(|held| when > held.counted)?;
        held.recounted = held.recounted.max(seq);
        let message = Arc::make_mut(&mut held.message);
        message.reply_count = message.reply_count.saturating_add_signed(by);
        Some(Change::Changed(Arc::clone(&held.message)))
    }

    pub(super) fn read_again(&mut self, row_key: RowKey, rev: u32) {
        let wanted = self.stale.entry(row_key).or_insert(rev);
        *wanted = rev.max(*wanted);
    }

    /// Whether a state of `rev` is what was waited for; it is no longer waited for then.
    pub(super) fn is_fresh_enough(&mut self, row_key: RowKey, rev: u32) -> bool {
        let is_enough = self.stale.get(&row_key).is_none_or(|wanted| rev >= *wanted);
        if is_enough {
            self.stale.remove(&row_key);
        }
        is_enough
    }

    /// A delta that came before the message did: its present state is not the latest.
    fn mark_rev_if_read(&mut self, row_key: RowKey, rev: u32) {
        if let Some(mark) = self.marks.get(&row_key).copied().filter(|mark| mark.rev > rev) {
            self.read_again(row_key, mark.rev);
        }
    }
}

/// The message that a reply counts for. Server lines name a message, but are no replies.
pub(super) fn reply_target(message: &Message) -> Option<RowKey> {
    message.reply_row_key.filter(|_| message.r#type.counts_as_unread())
}

fn no_marks() -> Mine {
    Mine { reactions: Vec::new(), option_id: None }
}

fn set_reaction(message: &mut Message, reaction: Reaction) {
    let place = message.reactions.iter().position(|held| held.emoji == reaction.emoji);
    match (place, reaction.count) {
        (Some(place), 0) => {
            message.reactions.remove(place);
        }
        (Some(place), _) => message.reactions[place] = reaction,
        (None, 0) => {}
        (None, _) => message.reactions.push(reaction),
    }
}

fn set_mine(message: &mut Message, emoji: &str, me: Option<UserId>, who: Option<UserId>, is_added: bool) {
    if me.is_none() || me != who {
        return;
    }
    let mine = message.mine.get_or_insert_with(no_marks);
    mine.reactions.retain(|held| held != emoji);
    if is_added {
        mine.reactions.push(emoji.to_owned());
    }
}
