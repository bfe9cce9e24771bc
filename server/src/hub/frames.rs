//! Frames that are made for one subscription: control events and catch-up pages.

use bytes::Bytes;
use parlour_protocol::{
    ControlEvent, DurableEvent, Event, RoomId,
    codec::Codec,
    event::{Behind, DurableFrame, UnsubscribeReason, Unsubscribed},
    limits::{CATCH_UP_PAGE, PAGE_BYTES},
    object::Empty,
    operation::Verdict,
};

use crate::ws::codec;

fn control(codec: Codec, room_id: RoomId, sub: u32, seq: Option<u64>, event: ControlEvent) -> Bytes {
    codec::encode(codec, &Event::Control { room_id, sub: sub.into(), seq, event })
}

/// `room.advanced`: stands for one's own event.
pub(super) fn advanced(codec: Codec, room_id: RoomId, sub: u32, seq: u64) -> Bytes {
    control(codec, room_id, sub, Some(seq), ControlEvent::Advanced(Box::new(Empty {})))
}

/// `room.behind`.
pub(super) fn behind(codec: Codec, room_id: RoomId, sub: u32, seq: u64, head: u64, verdict: Verdict) -> Bytes {
    control(codec, room_id, sub, None, ControlEvent::Behind(Box::new(Behind { verdict, seq, head })))
}

/// `room.unsubscribed`.
pub(super) fn unsubscribed(codec: Codec, room_id: RoomId, sub: u32, reason: UnsubscribeReason) -> Bytes {
    control(codec, room_id, sub, None, ControlEvent::Unsubscribed(Box::new(Unsubscribed { reason })))
}

/// The frame of a durable event, the same for all subscribers of a codec.
pub(super) fn durable(codec: Codec, room_id: RoomId, seq: u64, event: &DurableEvent) -> Bytes {
    codec::encode(codec, &DurableFrame { room_id, seq, event })
}

/// A `room.catchUp` frame in the making.
#[derive(Debug)]
pub(super) struct Page {
    codec: Codec,
    entries: Vec<u8>,
    count: usize,
    seq: u64,
}

impl Page {
    /// A page that begins after a position.
    pub(super) fn new(codec: Codec, after: u64) -> Self {
        Self { codec, entries: Vec::new(), count: 0, seq: after }
    }

    /// The position after what the page holds.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a finished frame's payload; false when the page is full. The first entry always fits.
    pub(super) fn push(&mut self, seq: u64, payload: &[u8]) -> bool {
        if self.count == CATCH_UP_PAGE || (self.count > 0 && self.entries.len() + payload.len() > PAGE_BYTES) {
            return false;
        }
        if self.codec == Codec::Json && self.count > 0 {
            self.entries.push(b',');
        }
        self.entries.extend_from_slice(payload);
        self.count += 1;
        self.seq = seq;
        true
    }

    /// The finished frame; `seq` is the position after it.
    pub(super) fn finish(&self, room_id: RoomId, sub: u32, seq: u64, done: bool) -> Bytes {
        let written = codec::message_with(codec::data_kind(self.codec), |buffer| {
            buffer.reserve(self.entries.len() + 200);
            match self.codec {
                Codec::Json => {
                    self.write_json(buffer, room_id, sub, seq, done);
                    Ok(())
                }
                Codec::MessagePack => self.write_msgpack(buffer, room_id, sub, seq, done),
            }
        });
        written.expect("a write to memory succeeds")
    }

    fn write_json(&self, buffer: &mut Vec<u8>, room_id: RoomId, sub: u32, seq: u64, done: bool) {
        let mut parts = Vec::with_capacity(3);
        if self.count > 0 {
            parts.push(None);
        }
        if seq > 0 {
            parts.push(Some(format!("\"seq\":{seq}")));
        }
        if done {
            parts.push(Some("\"done\":true".to_owned()));
        }
        let head = format!("{{\"event\":\"room.catchUp\",\"roomId\":\"{room_id}\",\"sub\":{sub},\"data\":{{");
        buffer.extend_from_slice(head.as_bytes());
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                buffer.push(b',');
            }
            match part {
                Some(text) => buffer.extend_from_slice(text.as_bytes()),
                None => {
                    buffer.extend_from_slice(b"\"entries\":[");
                    buffer.extend_from_slice(&self.entries);
                    buffer.push(b']');
                }
            }
        }
        buffer.extend_from_slice(b"}}");
    }

    fn write_msgpack(
        &self,
        buffer: &mut Vec<u8>,
        room_id: RoomId,
        sub: u32,
        seq: u64,
        done: bool,
    ) -> Result<(), rmp::encode::ValueWriteError> {
        use rmp::encode::{write_array_len, write_bool, write_map_len, write_str, write_uint};
        write_map_len(buffer, 4)?;
        write_str(buffer, "event")?;
        write_str(buffer, "room.catchUp")?;
        write_str(buffer, "roomId")?;
        write_str(buffer, &room_id.to_string())?;
        write_str(buffer, "sub")?;
        write_uint(buffer, sub.into())?;
        write_str(buffer, "data")?;
        let fields = u32::from(self.count > 0) + u32::from(seq > 0) + u32::from(done);
        write_map_len(buffer, fields)?;
        if self.count > 0 {
            write_str(buffer, "entries")?;
            write_array_len(buffer, u32::try_from(self.count).expect("a page has at most 100 entries"))?;
            buffer.extend_from_slice(&self.entries);
        }
        if seq > 0 {
            write_str(buffer, "seq")?;
            write_uint(buffer, seq)?;
        }
        if done {
            write_str(buffer, "done")?;
            write_bool(buffer, true).map_err(rmp::encode::ValueWriteError::InvalidMarkerWrite)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use parlour_protocol::{
        UserId,
        event::{CatchUp, CatchUpEntry, RoleAssignment},
        frame::ServerFrame,
    };

    use super::*;

    fn event() -> DurableEvent {
        let role_id = parlour_protocol::RoleId::new();
        DurableEvent::RoleAssigned(Box::new(RoleAssignment { role_id, user_id: UserId::new() }))
    }

    #[test]
    fn pages_read_as_the_protocol_crate_writes_them() {
        let room_id = RoomId::new();
        for codec in [Codec::Json, Codec::MessagePack] {
            for (count, seq, done) in [(0, 0, true), (0, 7, true), (1, 1, false), (3, 3, true)] {
                let mut page = Page::new(codec, 0);
                let mut entries = Vec::new();
                for seq in 1..=count {
                    let event = event();
                    assert!(page.push(seq, codec::payload(&durable(codec, room_id, seq, &event))));
                    entries.push(CatchUpEntry { room_id, seq, event: Some(event) });
                }
                let expected =
                    control(codec, room_id, 5, None, ControlEvent::CatchUp(Box::new(CatchUp { entries, seq, done })));
                let frame = page.finish(room_id, 5, seq, done);
                if codec == Codec::Json {
                    assert_eq!(frame, expected);
                }
                let read = |frame: &[u8]| match codec.decode_server_frame(codec::payload(frame)) {
                    Ok(ServerFrame::Event(Some(event))) => event,
                    other => panic!("{other:?}"),
                };
                assert_eq!(read(&frame), read(&expected));
            }
        }
    }

    #[test]
    fn a_page_is_cut_by_count_and_by_bytes() {
        let mut page = Page::new(Codec::Json, 0);
        assert!((1..=CATCH_UP_PAGE as u64).all(|seq| page.push(seq, b"{}")));
        assert!(!page.push(101, b"{}"));
        let mut page = Page::new(Codec::Json, 0);
        assert!(page.push(1, &vec![b' '; 300_000]), "the first entry always fits");
        assert!(!page.push(2, b"{}"));
        assert_eq!(page.seq(), 1);
    }
}
