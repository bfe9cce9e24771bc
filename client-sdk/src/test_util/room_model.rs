//! A room as the server knows it: its messages and its log, with the reads that clients do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parlour_protocol::{
    DurableEvent, MessageType, Nonce, RoomId, RowKey, Timestamp, UserId,
    event::{CatchUp, CatchUpEntry, MessageCreated, MessageDeleted, MessagePurged, MessageUpdated, ReactionChanged},
    object::{Message, MessageChange, MessageDelta, Reaction},
};

/// An entry of the log.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// Its place.
    pub seq: u64,
    /// The live event.
    pub event: DurableEvent,
}

/// One room of the scripted server.
#[derive(Debug, Clone)]
pub struct RoomModel {
    /// The room.
    pub room_id: RoomId,
    /// The log's epoch.
    pub epoch: String,
    /// The live messages.
    pub messages: BTreeMap<RowKey, Message>,
    /// The log, oldest first.
    pub log: Vec<LogEntry>,
    /// The first message of every author's nonce.
    pub nonces: HashMap<(UserId, String), RowKey>,
    head: u64,
    tick: i64,
    purged: BTreeSet<RowKey>,
    nonce_messages: HashMap<RowKey, Message>,
}

impl RoomModel {
    /// An empty room.
    pub fn new(room_id: RoomId) -> Self {
        Self {
            room_id,
            epoch: "epoch-1".into(),
            messages: BTreeMap::new(),
            log: Vec::new(),
            nonces: HashMap::new(),
            head: 0,
            tick: 1_772_366_400_000_000_000,
            purged: BTreeSet::new(),
            nonce_messages: HashMap::new(),
        }
    }

    /// The time of the latest message, in milliseconds since the Unix epoch.
    pub fn latest_millis(&self) -> i64 {
        self.tick / 1_000_000
    }

    /// The log's end.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// The message of a nonce: as first answered, and whether it still lives.
    pub fn first_result(&self, author: UserId, nonce: &str) -> Option<(Message, bool)> {
        let row_key = self.nonces.get(&(author, nonce.to_owned()))?;
        Some((self.nonce_messages.get(row_key)?.clone(), self.messages.contains_key(row_key)))
    }

    /// Stores a message.
    pub fn create(&mut self, author: UserId, text: &str, nonce: Option<&str>, reply_to: Option<RowKey>) -> LogEntry {
        self.tick += 1_000_000;
        let row_key = RowKey::from_tick(self.tick);
        let at = row_key.created_at();
        let message = Message {
            reply_row_key: reply_to,
            nonce: nonce.and_then(|nonce| Nonce::new(nonce).ok()),
            ..plain_message(self.room_id, row_key, self.head + 1, author, text, at)
        };
        self.messages.insert(row_key, message.clone());
        if let Some(nonce) = nonce {
            self.nonces.insert((author, nonce.to_owned()), row_key);
            self.nonce_messages.insert(row_key, message.clone());
        }
        self.append(DurableEvent::MessageCreated(Box::new(MessageCreated { message })))
    }

    /// Changes a message's body; none if there is no such message.
    pub fn edit(&mut self, row_key: RowKey, text: &str) -> Option<LogEntry> {
        let message = self.messages.get_mut(&row_key)?;
        message.rev += 1;
        message.body_rev = message.rev;
        message.message = text.to_owned();
        message.is_edited = true;
        let (rev, body_rev) = (message.rev, message.body_rev);
        let changes = MessageDelta {
            message: Some(text.to_owned()),
            body_rev: Some(body_rev),
            is_edited: Some(true),
            ..MessageDelta::default()
        };
        let changes = MessageChange::Delta(Box::new(changes));
        Some(self.append(DurableEvent::MessageUpdated(Box::new(MessageUpdated { row_key, rev, changes }))))
    }

    /// Deletes a message; none if there is no such message.
    pub fn delete(&mut self, row_key: RowKey) -> Option<LogEntry> {
        let message = self.messages.remove(&row_key)?;
        let deleted = MessageDeleted { row_key, rev: message.rev + 1 };
        Some(self.append(DurableEvent::MessageDeleted(Box::new(deleted))))
    }

    /// Purges messages.
    pub fn purge(&mut self, row_keys: Vec<RowKey>) -> Option<LogEntry> {
        let row_keys: Vec<_> = row_keys.into_iter().filter(|key| self.messages.remove(key).is_some()).collect();
        if row_keys.is_empty() {
            return None;
        }
        self.purged.extend(&row_keys);
        Some(self.append(DurableEvent::MessagePurged(Box::new(MessagePurged { row_keys }))))
    }

    /// Adds or removes a reaction; none if that changes nothing.
    pub fn react(&mut self, row_key: RowKey, who: UserId, emoji: &str) -> Option<LogEntry> {
        let message = self.messages.get_mut(&row_key)?;
        let place = message.reactions.iter().position(|reaction| reaction.emoji == emoji).unwrap_or_else(|| {
            message.reactions.push(Reaction { emoji: emoji.to_owned(), count: 0, user_ids: vec![] });
            message.reactions.len() - 1
        });
        let reaction = &mut message.reactions[place];
        let is_added = !reaction.user_ids.contains(&who);
        if is_added {
            reaction.user_ids.push(who);
        } else {
            reaction.user_ids.retain(|held| *held != who);
        }
        reaction.count = u32::try_from(reaction.user_ids.len()).unwrap_or(u32::MAX);
        let after = reaction.clone();
        if after.count == 0 {
            message.reactions.remove(place);
        }
        message.rev += 1;
        let event = Box::new(ReactionChanged {
            row_key,
            rev: message.rev,
            emoji: emoji.to_owned(),
            user_id: who,
            count: after.count,
            user_ids: after.user_ids,
        });
        Some(self.append(if is_added {
            DurableEvent::ReactionAdded(event)
        } else {
            DurableEvent::ReactionRemoved(event)
        }))
    }

    /// Appends an entry that is no message's.
    pub fn append(&mut self, event: DurableEvent) -> LogEntry {
        self.head += 1;
        let entry = LogEntry { seq: self.head, event };
        self.log.push(entry.clone());
        entry
    }

    /// Starts the log anew, as a restore does.
    pub fn change_epoch(&mut self) {
        self.epoch = format!("{}+", self.epoch);
    }

    /// Forgets the log up to the head.
    pub fn forget_log(&mut self) {
        self.log.clear();
    }

    /// Whether everything after `seq` is still in the log.
    pub fn reaches(&self, seq: u64) -> bool {
        seq <= self.head && self.head - seq <= self.log.len() as u64
    }

    /// The folded catch-up of what came after `seq`, in pages of `size` entries.
    pub fn catch_up(&self, since: u64, size: usize) -> Vec<CatchUp> {
        let mut last_change: BTreeMap<RowKey, u64> = BTreeMap::new();
        let mut plain: BTreeMap<u64, DurableEvent> = BTreeMap::new();
        for entry in self.log.iter().filter(|entry| entry.seq > since) {
            match message_of(&entry.event) {
                Some(row_key) => {
                    last_change.insert(row_key, entry.seq);
                }
                None => {
                    plain.insert(entry.seq, entry.event.clone());
                }
            }
        }
        for (row_key, seq) in last_change {
            if let Some(event) = self.folded(row_key, seq, since) {
                plain.insert(seq, event);
            }
        }
        let entries: Vec<_> = plain
            .into_iter()
            .map(|(seq, event)| CatchUpEntry { room_id: self.room_id, seq, event: Some(event) })
            .collect();
        let mut pages: Vec<_> = entries
            .chunks(size.max(1))
            .map(|chunk| CatchUp { entries: chunk.to_vec(), seq: chunk.last().map_or(0, |last| last.seq), done: false })
            .collect();
        if pages.is_empty() {
            pages.push(CatchUp { entries: vec![], seq: self.head, done: true });
        }
        if let Some(last) = pages.last_mut() {
            (last.seq, last.done) = (self.head, true);
        }
        pages
    }

    fn folded(&self, row_key: RowKey, seq: u64, since: u64) -> Option<DurableEvent> {
        if self.purged.contains(&row_key) {
            return None;
        }
        match self.messages.get(&row_key) {
            Some(message) if message.seq > since => {
                Some(DurableEvent::MessageCreated(Box::new(MessageCreated { message: message.clone() })))
            }
            Some(message) => {
                let changes = MessageChange::Whole(Box::new(message.clone()));
                Some(DurableEvent::MessageUpdated(Box::new(MessageUpdated { row_key, rev: message.rev, changes })))
            }
            None => {
                let was_there = !self.log.iter().any(|entry| {
                    entry.seq > since
                        && matches!(&entry.event, DurableEvent::MessageCreated(created) if created.message.row_key == row_key)
                });
                let rev = self.log.iter().rev().find_map(|entry| match &entry.event {
                    DurableEvent::MessageDeleted(deleted) if deleted.row_key == row_key => Some(deleted.rev),
                    _ => None,
                });
                let deleted = MessageDeleted { row_key, rev: rev.unwrap_or(0) };
                was_there.then(|| {
                    debug_assert!(seq > since);
                    DurableEvent::MessageDeleted(Box::new(deleted))
                })
            }
        }
    }

    /// The messages older than a place, newest first, and whether there are more.
    pub fn list(&self, older_than: Option<RowKey>, limit: usize) -> (Vec<Message>, bool) {
        let mut rest =
            self.messages.values().filter(|message| older_than.is_none_or(|cursor| message.row_key > cursor));
        let items = rest.by_ref().take(limit).cloned().collect();
        (items, rest.next().is_some())
    }

    /// The messages newer than a place, oldest first, and whether there are more.
    pub fn list_newer(&self, than: Option<RowKey>, limit: usize) -> (Vec<Message>, bool) {
        let mut rest =
            self.messages.values().rev().filter(|message| than.is_none_or(|cursor| message.row_key < cursor));
        let items = rest.by_ref().take(limit).cloned().collect();
        (items, rest.next().is_some())
    }
}

/// The message that an event is about, where a catch-up folds it.
fn message_of(event: &DurableEvent) -> Option<RowKey> {
    match event {
        DurableEvent::MessageCreated(created) => Some(created.message.row_key),
        DurableEvent::MessageUpdated(updated) => Some(updated.row_key),
        DurableEvent::MessageDeleted(deleted) => Some(deleted.row_key),
        DurableEvent::ReactionAdded(reaction) | DurableEvent::ReactionRemoved(reaction) => Some(reaction.row_key),
        DurableEvent::PollVoted(vote) => Some(vote.row_key),
        _ => None,
    }
}

fn plain_message(room_id: RoomId, row_key: RowKey, seq: u64, author: UserId, text: &str, at: Timestamp) -> Message {
    Message {
        room_id,
        row_key,
        seq,
        rev: 1,
        body_rev: 1,
        r#type: MessageType::Message,
        created_at: at,
        updated_at: at,
        user_id: Some(author),
        app_user: None,
        message: text.to_owned(),
        files: vec![],
        mentions: vec![],
        reply_row_key: None,
        link_preview: None,
        reactions: vec![],
        poll: None,
        reply_count: 0,
        is_edited: false,
        is_forward: false,
        is_pinned: false,
        nonce: None,
        mine: None,
    }
}
