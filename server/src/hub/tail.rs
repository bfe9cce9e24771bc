//! The newest entries of a room's log, as finished frames.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use bytes::{Bytes, BytesMut};
use parlour_protocol::{ConnectionId, DurableEvent, MessageType, RoomId, codec::Codec};

use super::frames;
use crate::ws::connection::Connection;

/// Most entries of a tail.
const MAX_ENTRIES: usize = 1024;
/// Most bytes of JSON in a tail.
const MAX_BYTES: usize = 512 * 1024;

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
    /// The last entry that a catch-up has to fold.
    last_folding: u64,
}

impl TailEntry {
    fn frame(&self, codec: Codec, room_id: RoomId) -> &Bytes {
        match codec {
            Codec::Json => &self.json,
            Codec::MessagePack => self.msgpack.get_or_init(|| frames::durable(codec, room_id, self.seq, &self.event)),
        }
    }
}

impl HotTail {
    pub(super) fn new(room_id: RoomId) -> Self {
        Self { room_id, entries: VecDeque::new(), bytes: 0, last_folding: 0 }
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
        self.bytes = 0;
    }

    /// Appends an entry; one that does not follow the last starts the tail anew.
    pub(super) fn push(&mut self, seq: u64, event: Arc<DurableEvent>, cause: Option<ConnectionId>) {
        if self.last().is_some_and(|last| last + 1 != seq) {
            self.clear();
        }
        if folds(&event) {
            self.last_folding = seq;
        }
        let json = frames::durable(Codec::Json, self.room_id, seq, &event);
        self.bytes += json.len();
        let spared = cause.filter(|_| is_spared(&event));
        self.entries.push_back(TailEntry { seq, spared, event, json, msgpack: OnceLock::new() });
    }

    /// Forgets what is over the bounds, but nothing after `keep`.
    pub(super) fn trim(&mut self, keep: u64) {
        while let Some(front) = self.entries.front() {
            if front.seq > keep || (self.entries.len() <= MAX_ENTRIES && self.bytes <= MAX_BYTES) {
                return;
            }
            self.bytes -= front.json.len();
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

    /// Fills a catch-up page with entries after its position.
    pub(super) fn fill(&self, page: &mut frames::Page, codec: Codec) {
        for entry in self.after(page.seq()) {
            if !page.push(entry.seq, crate::ws::codec::payload(entry.frame(codec, self.room_id))) {
                return;
            }
        }
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
