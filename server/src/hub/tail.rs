//! The newest entries of a room's log, as finished frames.

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use parlour_protocol::{ConnectionId, DurableEvent, MessageType, RoomId, codec::Codec, limits::CATCH_UP_PAGE};

use super::frames::{self, Page};
use crate::{store::LogEntry, ws::connection::Connection};

/// Most entries of a tail.
const MAX_ENTRIES: usize = 1024;
/// Most bytes in a tail.
const MAX_BYTES: usize = 1024 * 1024;
/// Bytes in all tails above which each keeps the least.
const MAX_BYTES_OF_ALL: usize = 256 * 1024 * 1024;
/// The least: bytes in a tail when memory is short.
const LEAST_BYTES: usize = 64 * 1024;
/// What an entry takes beside its frame, bytes: the event itself, for codecs that nobody has asked for yet.
const ENTRY_BYTES: usize = 768;

/// Bytes in all tails.
pub(super) type TailBytes = Arc<AtomicUsize>;

/// One entry of the log.
#[derive(Debug)]
pub(super) struct TailEntry {
    pub(super) seq: u64,
    /// Who caused it and may be spared it; none for what is sent to everybody.
    pub(super) spared: Option<ConnectionId>,
    event: Arc<DurableEvent>,
    json: Bytes,
    msgpack: OnceLock<Bytes>,
}

/// Contiguous entries up to the room's head.
#[derive(Debug)]
pub(super) struct HotTail {
    room_id: RoomId,
    entries: VecDeque<TailEntry>,
    bytes: usize,
    of_all: TailBytes,
    /// The last entry that a catch-up has to fold.
    last_folding: u64,
}

impl Drop for HotTail {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl TailEntry {
    fn bytes(&self) -> usize {
        self.json.len() + ENTRY_BYTES
    }

    fn frame(&self, codec: Codec, room_id: RoomId) -> &Bytes {
        match codec {
            Codec::Json => &self.json,
            Codec::MessagePack => self.msgpack.get_or_init(|| frames::durable(codec, room_id, self.seq, &self.event)),
        }
    }
}

impl HotTail {
    pub(super) fn new(room_id: RoomId, of_all: TailBytes) -> Self {
        Self { room_id, entries: VecDeque::new(), bytes: 0, of_all, last_folding: 0 }
    }

    /// The last entry's place.
    pub(super) fn last(&self) -> Option<u64> {
        self.entries.back().map(|entry| entry.seq)
    }

    /// The first entry's place.
    pub(super) fn first(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.seq)
    }

    pub(super) fn clear(&mut self) {
        self.entries = VecDeque::new();
        self.of_all.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }

    /// Puts entries that the store gave before the first one, if they are the log as it is.
    pub(super) fn seed(&mut self, after: u64, entries: &[LogEntry], head: u64) {
        let up_to = after + entries.len() as u64;
        let joins = up_to + 1 == self.first().unwrap_or(head + 1);
        let is_raw = entries.iter().zip(after + 1..).all(|(entry, seq)| entry.seq == seq && !folds(&entry.event));
        if !joins || !is_raw {
            return;
        }
        for entry in entries.iter().rev() {
            let entry = self.entry(entry.seq, Arc::clone(&entry.event), None);
            self.count(entry.bytes());
            self.entries.push_front(entry);
        }
    }

    /// Appends an entry; one that does not follow the last starts the tail anew.
    pub(super) fn push(&mut self, seq: u64, event: Arc<DurableEvent>, cause: Option<ConnectionId>) {
        if self.last().is_some_and(|last| last + 1 != seq) {
            self.clear();
        }
        if folds(&event) {
            self.last_folding = seq;
        }
        let entry = self.entry(seq, event, cause);
        self.count(entry.bytes());
        self.entries.push_back(entry);
    }

    fn entry(&self, seq: u64, event: Arc<DurableEvent>, cause: Option<ConnectionId>) -> TailEntry {
        let json = frames::durable(Codec::Json, self.room_id, seq, &event);
        let spared = cause.filter(|_| is_spared(&event));
        TailEntry { seq, spared, event, json, msgpack: OnceLock::new() }
    }

    fn count(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.of_all.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets what is over the bounds, but nothing after `keep`.
    pub(super) fn trim(&mut self, keep: u64) {
        let is_short = self.of_all.load(Ordering::Relaxed) > MAX_BYTES_OF_ALL;
        let most = if is_short { LEAST_BYTES } else { MAX_BYTES };
        while let Some(front) = self.entries.front() {
            if front.seq > keep || (self.entries.len() <= MAX_ENTRIES && self.bytes <= most) {
                return;
            }
            let bytes = front.bytes();
            self.bytes -= bytes;
            self.of_all.fetch_sub(bytes, Ordering::Relaxed);
            self.entries.pop_front();
        }
    }

    /// Whether every entry after `position` up to `head` is here.
    pub(super) fn covers(&self, position: u64, head: u64) -> bool {
        position == head || (self.last() == Some(head) && self.first().is_some_and(|first| first <= position + 1))
    }

    /// Whether the entries after `position` are their own folding.
    pub(super) fn is_folded_after(&self, position: u64) -> bool {
        self.last_folding <= position
    }

    /// The entries after a position.
    pub(super) fn after(&self, position: u64) -> impl Iterator<Item = &TailEntry> {
        let skip = self.first().map_or(0, |first| (position + 1).saturating_sub(first));
        self.entries.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX))
    }

    /// The frames after a position, in one piece.
    pub(super) fn joined(&self, codec: Codec, position: u64) -> Bytes {
        let mut after = self.after(position);
        let (Some(first), None) = (after.next(), after.next()) else {
            let len = self.after(position).map(|entry| entry.frame(codec, self.room_id).len()).sum();
            let mut joined = BytesMut::with_capacity(len);
            for entry in self.after(position) {
                joined.extend_from_slice(entry.frame(codec, self.room_id));
            }
            return joined.freeze();
        };
        first.frame(codec, self.room_id).clone()
    }

    /// The frames after a position, with `room.advanced` in place of what the connection is spared.
    pub(super) fn joined_for(&self, connection: &Connection, sub: u32, position: u64) -> Bytes {
        let codec = connection.codec();
        if connection.echo() {
            return self.joined(codec, position);
        }
        let mut joined = BytesMut::new();
        for entry in self.after(position) {
            if entry.spared == Some(connection.id()) {
                joined.extend_from_slice(&frames::advanced(codec, self.room_id, sub, entry.seq));
            } else {
                joined.extend_from_slice(entry.frame(codec, self.room_id));
            }
        }
        joined.freeze()
    }

    /// A catch-up page of the entries after a position.
    pub(super) fn page(&self, codec: Codec, position: u64) -> Page {
        let len = self.after(position).take(CATCH_UP_PAGE).map(|entry| entry.frame(codec, self.room_id).len()).sum();
        let mut page = Page::new(codec, position, len);
        for entry in self.after(position) {
            if !page.push(entry.seq, crate::ws::codec::payload(entry.frame(codec, self.room_id))) {
                break;
            }
        }
        page
    }
}

/// Whether a catch-up tells this entry in another form, or leaves it out for a later one.
fn folds(event: &DurableEvent) -> bool {
    match event {
        DurableEvent::MessageUpdated(_)
        | DurableEvent::MessageDeleted(_)
        | DurableEvent::MessagePurged(_)
        | DurableEvent::ReactionAdded(_)
        | DurableEvent::ReactionRemoved(_)
        | DurableEvent::PollVoted(_) => true,
        DurableEvent::MessageCreated(_)
        | DurableEvent::RoomUpdated(_)
        | DurableEvent::RoomDeleted(_)
        | DurableEvent::MemberJoined(_)
        | DurableEvent::MemberLeft(_)
        | DurableEvent::MemberUpdated(_)
        | DurableEvent::RoleCreated(_)
        | DurableEvent::RoleUpdated(_)
        | DurableEvent::RoleDeleted(_)
        | DurableEvent::RoleAssigned(_)
        | DurableEvent::RoleRevoked(_)
        | DurableEvent::EmojiCreated(_)
        | DurableEvent::EmojiUpdated(_)
        | DurableEvent::EmojiDeleted(_) => false,
    }
}

/// What `echo: false` spares its causer: own messages and reactions, not the lines that the server writes.
fn is_spared(event: &DurableEvent) -> bool {
    match event {
        DurableEvent::MessageCreated(created) => {
            matches!(created.message.r#type, MessageType::Message | MessageType::Poll)
        }
        DurableEvent::ReactionAdded(_) | DurableEvent::ReactionRemoved(_) => true,
        _ => false,
    }
}
