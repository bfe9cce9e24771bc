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

/// Room before the entries for what precedes them, which is known only at the end.
const HEADROOM: usize = 192;

/// A `room.catchUp` frame in the making. Entries are copied once, to where they stay.
#[derive(Debug)]
pub(super) struct Page {
    codec: Codec,
    /// The headroom, then the entries.
    buffer: Vec<u8>,
    count: usize,
    seq: u64,
}

impl Page {
    /// A page that begins after a position, for about `len` bytes of entries.
    pub(super) fn new(codec: Codec, after: u64, len: usize) -> Self {
        let mut buffer = Vec::with_capacity(HEADROOM + len.min(PAGE_BYTES) + CATCH_UP_PAGE + 64);
        buffer.resize(HEADROOM, 0);
        Self { codec, buffer, count: 0, seq: after }
    }

    /// The position after what the page holds.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Adds a finished frame's payload; false when the page is full. The first entry always fits.
    pub(super) fn push(&mut self, seq: u64, payload: &[u8]) -> bool {
        let held = self.buffer.len() - HEADROOM;
        if self.count == CATCH_UP_PAGE || (self.count > 0 && held + payload.len() > PAGE_BYTES) {
            return false;
        }
        if self.codec == Codec::Json && self.count > 0 {
            self.buffer.push(b',');
        }
        self.buffer.extend_from_slice(payload);
        self.count += 1;
        self.seq = seq;
        true
    }

    /// The finished frame; `seq` is the position after it.
    pub(super) fn finish(mut self, room_id: RoomId, sub: u32, seq: u64, done: bool) -> Bytes {
        let mut before = Vec::with_capacity(HEADROOM);
        match self.codec {
            Codec::Json => self.write_json(&mut before, room_id, sub, seq, done),
            Codec::MessagePack => {
                self.write_msgpack(&mut before, room_id, sub, seq, done).expect("a write to memory succeeds");
            }
        }
        let payload = before.len() + self.buffer.len() - HEADROOM;
        let (header, header_len) = codec::data_header(codec::data_kind(self.codec), payload);
        let start = HEADROOM - before.len() - header_len;
        self.buffer[start..start + header_len].copy_from_slice(&header[..header_len]);
        self.buffer[start + header_len..HEADROOM].copy_from_slice(&before);
        Bytes::from(self.buffer).slice(start..)
    }

    /// Writes what precedes the entries to `before`, and what follows them behind them.
    fn write_json(&mut self, before: &mut Vec<u8>, room_id: RoomId, sub: u32, seq: u64, done: bool) {
        let start = format!("{{\"event\":\"room.catchUp\",\"roomId\":\"{room_id}\",\"sub\":{sub},\"data\":{{");
        before.extend_from_slice(start.as_bytes());
        let mut comma = "";
        if self.count > 0 {
            before.extend_from_slice(b"\"entries\":[");
            self.buffer.push(b']');
            comma = ",";
        }
        let mut after = String::new();
        if seq > 0 {
            after = format!("{comma}\"seq\":{seq}");
            comma = ",";
        }
        if done {
            after.push_str(comma);
            after.push_str("\"done\":true");
        }
        self.buffer.extend_from_slice(after.as_bytes());
        self.buffer.extend_from_slice(b"}}");
    }

    fn write_msgpack(
        &mut self,
        before: &mut Vec<u8>,
        room_id: RoomId,
        sub: u32,
        seq: u64,
        done: bool,
    ) -> Result<(), rmp::encode::ValueWriteError> {
        use rmp::encode::{write_array_len, write_bool, write_map_len, write_str, write_uint};
        write_map_len(before, 4)?;
        write_str(before, "event")?;
        write_str(before, "room.catchUp")?;
        write_str(before, "roomId")?;
        write_str(before, &room_id.to_string())?;
        write_str(before, "sub")?;
        write_uint(before, sub.into())?;
        write_str(before, "data")?;
        let fields = u32::from(self.count > 0) + u32::from(seq > 0) + u32::from(done);
        write_map_len(before, fields)?;
        if self.count > 0 {
            write_str(before, "entries")?;
            write_array_len(before, u32::try_from(self.count).expect("a page has at most 100 entries"))?;
        }
        if seq > 0 {
            write_str(&mut self.buffer, "seq")?;
            write_uint(&mut self.buffer, seq)?;
        }
        if done {
            write_str(&mut self.buffer, "done")?;
            write_bool(&mut self.buffer, true).map_err(rmp::encode::ValueWriteError::InvalidMarkerWrite)?;
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
                let mut page = Page::new(codec, 0, 0);
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
        let mut page = Page::new(Codec::Json, 0, 0);
        assert!((1..=CATCH_UP_PAGE as u64).all(|seq| page.push(seq, b"{}")));
        assert!(!page.push(101, b"{}"));
        let mut page = Page::new(Codec::Json, 0, 0);
        assert!(page.push(1, &vec![b' '; 300_000]), "the first entry always fits");
        assert!(!page.push(2, b"{}"));
        assert_eq!(page.seq(), 1);
    }
}
