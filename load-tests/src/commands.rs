//! Parlour's commands as client frames, and the first look at what the server sends.

use serde_json::{Value, json};

use crate::payload::{self, Slots};
use crate::wire::{Opcode, push_client_frame};

/// Ids of a connection's first commands; sends count up from [`FIRST_SEND`].
pub(crate) const HELLO: u64 = 1;
pub(crate) const SUBSCRIBE: u64 = 2;
/// Ten digits from the first to the last, so that every send frame has the same length.
pub(crate) const FIRST_SEND: u64 = 1_000_000_000;

/// A command as a finished client frame.
pub(crate) fn command(id: u64, op: &str, data: &Value) -> Vec<u8> {
    let text = json!({"id": id, "op": op, "data": data}).to_string();
    let mut frame = Vec::with_capacity(text.len() + 14);
    push_client_frame(&mut frame, Opcode::Text, text.as_bytes());
    frame
}

pub(crate) fn hello(token: &str) -> Vec<u8> {
    let client = json!({"name": "parlour-load", "version": env!("CARGO_PKG_VERSION")});
    command(HELLO, "session.hello", &json!({"token": token, "client": client}))
}

/// Where a member stands in a room's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) epoch: String,
    pub(crate) seq: u64,
}

pub(crate) fn subscribe<'a>(id: u64, rooms: impl IntoIterator<Item = (&'a str, Option<&'a Position>)>) -> Vec<u8> {
    let rooms: Vec<Value> = rooms
        .into_iter()
        .map(|(room_id, since)| match since {
            Some(Position { epoch, seq }) => {
                json!({"roomId": room_id, "since": {"epoch": epoch, "seq": seq}})
            }
            None => json!({"roomId": room_id}),
        })
        .collect();
    command(id, "room.subscribe", &json!({"rooms": rooms}))
}

/// A `message.send` frame of one publisher and room, patched in place for each send.
#[derive(Debug)]
pub(crate) struct SendFrame {
    bytes: Vec<u8>,
    id: usize,
    payload: Slots,
    nonce: usize,
}

impl SendFrame {
    pub(crate) fn new(room_id: &str, room: usize, publisher: usize) -> Self {
        let text = payload::text(room, publisher, 0, 0);
        let nonce = nonce(publisher, 0);
        let json = format!(
            r#"{{"id":{FIRST_SEND},"op":"message.send","data":{{"roomId":"{room_id}","message":"{text}","nonce":"{nonce}"}}}}"#
        );
        let mut bytes = Vec::new();
        push_client_frame(&mut bytes, Opcode::Text, json.as_bytes());
        let find = |needle: &[u8]| memchr::memmem::find(&bytes, needle).expect("the frame was just written");
        let id = find(br#"{"id":"#) + 6;
        let nonce = find(br#""nonce":""#) + 9;
        let payload = Slots::find(&bytes).expect("the payload was just written");
        Self { bytes, id, payload, nonce }
    }

    /// The frame of the publisher's message `sequence` in this room.
    pub(crate) fn fill(&mut self, id: u64, sequence: u64, sent_at: u64) -> &[u8] {
        payload::write_number(&mut self.bytes[self.id..self.id + 10], id);
        self.payload.fill(&mut self.bytes, sequence, sent_at);
        payload::write_number(&mut self.bytes[self.nonce + 13..self.nonce + 23], sequence);
        &self.bytes
    }
}

/// The nonce of a publisher's message in a room, as long as a UUID.
pub(crate) fn nonce(publisher: usize, sequence: u64) -> String {
    format!("nonce-{publisher:06}-{sequence:010}-000000000000")
}

/// What a server's frame is, from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    CatchUp,
    Behind,
    OtherEvent,
    Reply(u64),
    Unknown,
}

impl Kind {
    #[inline]
    pub(crate) fn of(frame: &[u8]) -> Self {
        if let Some(rest) = frame.strip_prefix(br#"{"id":"#) {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
            return Self::Reply(digits.fold(0, |id, digit| id * 10 + u64::from(digit - b'0')));
        }
        let Some(name) = frame.strip_prefix(br#"{"event":""#) else {
            return Self::Unknown;
        };
        if name.starts_with(b"message.created\"") {
            Self::Message
        } else if name.starts_with(b"room.catchUp\"") {
            Self::CatchUp
        } else if name.starts_with(b"room.behind\"") {
            Self::Behind
        } else {
            Self::OtherEvent
        }
    }
}

/// Whether a reply is an error: `{"id":7,"error":…`.
pub(crate) fn is_error(reply: &[u8]) -> bool {
    let mut fields = reply.splitn(2, |byte| *byte == b',');
    fields.nth(1).is_some_and(|rest| rest.starts_with(br#""error""#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Payload;
    use crate::wire::next_frame;

    #[test]
    fn send_frames_are_valid_json_with_the_numbers_filled_in() {
        let mut frame = SendFrame::new("3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03", 3, 5);
        let bytes = frame.fill(FIRST_SEND + 7, 42, 99).to_vec();
        let (frame, taken) = next_frame(&bytes).unwrap().unwrap();
        assert_eq!(taken, bytes.len());
        let value: Value = serde_json::from_slice(frame.payload).unwrap();
        assert_eq!(value["id"], FIRST_SEND + 7);
        assert_eq!(value["data"]["nonce"], nonce(5, 42));
        assert_eq!(nonce(5, 42).len(), 36);
        let payload = Payload::find(frame.payload, &mut 0).unwrap();
        assert_eq!((payload.room(), payload.publisher(), payload.sequence()), (3, 5, 42));
    }

    #[test]
    fn frames_are_told_apart_by_their_first_bytes() {
        assert_eq!(Kind::of(br#"{"id":12,"data":{}}"#), Kind::Reply(12));
        assert_eq!(Kind::of(br#"{"event":"message.created","roomId":"#), Kind::Message);
        assert_eq!(Kind::of(br#"{"event":"message.createdBy"#), Kind::OtherEvent);
        assert_eq!(Kind::of(br#"{"event":"room.catchUp","roomId":"#), Kind::CatchUp);
        assert_eq!(Kind::of(br#"{"event":"room.behind","roomId":"#), Kind::Behind);
        assert_eq!(Kind::of(b"[]"), Kind::Unknown);
    }

    #[test]
    fn error_replies_are_recognised() {
        assert!(is_error(br#"{"id":8,"error":{"code":"slowmode"}}"#));
        assert!(!is_error(br#"{"id":8,"data":{"error":1}}"#));
    }
}
