//! The commands that the reference writer answers: sends by byte search, the rest as JSON.

use std::rc::Rc;

use serde_json::{Value, json};

use super::Reference;
use super::connection::http_answer;
use super::room::Room;
use crate::wire::{Opcode, push_server_frame, push_server_text_head};

const EPOCH: &str = "reference";

impl Reference {
    pub(super) fn register(&mut self, number: usize) {
        self.accounts += 1;
        let account = self.accounts;
        let user_id = format!("00000000-0000-4000-8000-{account:012}");
        let body = json!({"token": account.to_string(), "user": {"userId": user_id}}).to_string();
        self.reply(number, http_answer("201 Created", &body));
    }

    pub(super) fn command(&mut self, number: usize, command: &[u8]) {
        if let Some(send) = Send::of(command) {
            self.send(number, &send);
            return;
        }
        let Ok(command) = serde_json::from_slice::<Value>(command) else {
            return self.end(number);
        };
        let (id, data) = (&command["id"], &command["data"]);
        let reply = match command["op"].as_str().unwrap_or_default() {
            "session.hello" => {
                self.connections[number].user =
                    data["token"].as_str().and_then(|token| token.parse().ok()).unwrap_or(0);
                json!({"connectionId": uuid::Uuid::nil(), "heartbeatMs": 15_000, "limits": {}})
            }
            "room.create" => {
                json!({"room": {"roomId": self.create_room()}, "head": {"epoch": EPOCH}})
            }
            "invite.create" => json!({"invite": {"inviteId": "refinvit"}}),
            "room.subscribe" => return self.subscribe(number, id, data),
            "room.unsubscribe" => self.unsubscribe(number, data),
            _ => json!({}),
        };
        self.answer(number, id, &reply);
    }

    fn answer(&mut self, number: usize, id: &Value, data: &Value) {
        let mut frame = Vec::new();
        push_server_frame(&mut frame, Opcode::Text, format!(r#"{{"id":{id},"data":{data}}}"#).as_bytes());
        self.reply(number, frame);
    }

    fn create_room(&mut self) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        self.room(&id);
        id
    }

    /// The room with this id. It is made when it is not known, as after a restart.
    fn room(&mut self, id: &str) -> Option<usize> {
        let id = *id.as_bytes().first_chunk()?;
        let next = self.rooms.len();
        let index = *self.rooms_by_id.entry(id).or_insert(next);
        if index == next {
            self.rooms.push(Room::new(id));
        }
        Some(index)
    }

    fn subscribe(&mut self, number: usize, id: &Value, data: &Value) {
        let mut verdicts = Vec::new();
        let mut pages = Vec::new();
        for wanted in data["rooms"].as_array().into_iter().flatten() {
            let room_id = wanted["roomId"].as_str().unwrap_or_default();
            let Some(index) = self.room(room_id) else {
                verdicts.push(json!({"roomId": room_id, "verdict": "error", "error": {"code": "forbidden"}}));
                continue;
            };
            let connection = &mut self.connections[number];
            connection.subscriptions += 1;
            let sub = connection.subscriptions;
            let room = &mut self.rooms[index];
            if !connection.rooms.contains(&index) {
                connection.rooms.push(index);
                room.members.push(number);
            }
            let page = wanted["since"]["epoch"].as_str().and_then(|_| {
                let since = wanted["since"]["seq"].as_u64().unwrap_or(0);
                room.page_after(since)
            });
            let verdict = if page.is_some() { "exact" } else { "live" };
            verdicts.push(json!({"roomId": room_id, "sub": sub, "epoch": EPOCH, "seq": room.seq, "verdict": verdict}));
            pages.extend(
                page.map(|page| (format!(r#"{{"event":"room.catchUp","roomId":"{room_id}","sub":{sub}"#), page)),
            );
        }
        self.answer(number, id, &json!({"rooms": verdicts}));
        for (start, rest) in pages {
            let mut head = Vec::new();
            push_server_text_head(&mut head, start.len() + rest.len());
            head.extend_from_slice(start.as_bytes());
            self.connections[number].push(Rc::new(head));
            self.connections[number].push(rest);
        }
    }

    fn unsubscribe(&mut self, number: usize, data: &Value) -> Value {
        for room_id in data["roomIds"].as_array().into_iter().flatten() {
            let id = room_id.as_str().and_then(|id| id.as_bytes().first_chunk());
            if let Some(&index) = id.and_then(|id| self.rooms_by_id.get(id)) {
                self.rooms[index].members.retain(|member| *member != number);
                self.connections[number].rooms.retain(|room| *room != index);
            }
        }
        json!({})
    }

    fn send(&mut self, number: usize, send: &Send<'_>) {
        let Some(&index) = self.rooms_by_id.get(send.room_id) else {
            let mut frame = Vec::new();
            let error = format!(r#"{{"id":{},"error":{{"code":"forbidden","message":"no such room"}}}}"#, send.id);
            push_server_frame(&mut frame, Opcode::Text, error.as_bytes());
            return self.reply(number, frame);
        };
        self.sends += 1;
        let room = &mut self.rooms[index];
        if !room.has_batch() {
            self.dirty_rooms.push(index);
        }
        let mut message = std::mem::take(&mut self.scratch);
        room.append(self.connections[number].user, send.text, send.nonce, &mut message);
        if self.journal.is_some() {
            self.unsynced.extend_from_slice(&message);
            self.unsynced.push(b'\n');
        }
        let start = format!(r#"{{"id":{},"data":{{"message":"#, send.id);
        let mut reply = Vec::with_capacity(start.len() + message.len() + 6);
        push_server_text_head(&mut reply, start.len() + message.len() + 2);
        reply.extend_from_slice(start.as_bytes());
        reply.extend_from_slice(&message);
        reply.extend_from_slice(b"}}");
        self.scratch = message;
        self.reply(number, reply);
    }
}

/// A `message.send` exactly as the generator writes it.
struct Send<'a> {
    id: u64,
    room_id: &'a [u8; 36],
    text: &'a [u8],
    nonce: &'a [u8],
}

impl<'a> Send<'a> {
    fn of(command: &'a [u8]) -> Option<Self> {
        let rest = command.strip_prefix(br#"{"id":"#)?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let id = rest[..digits].iter().fold(0, |id, digit| id * 10 + u64::from(digit - b'0'));
        let rest = rest[digits..].strip_prefix(br#","op":"message.send","data":{"roomId":""#)?;
        let (room_id, rest) = rest.split_first_chunk()?;
        let rest = rest.strip_prefix(br#"","message":""#)?;
        let (text, rest) = rest.split_at(memchr::memchr(b'"', rest)?);
        let rest = rest.strip_prefix(br#"","nonce":""#)?;
        let nonce = &rest[..memchr::memchr(b'"', rest)?];
        Some(Self { id, room_id, text, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::{FIRST_SEND, SendFrame};
    use crate::wire::next_frame;

    #[test]
    fn the_generators_send_is_taken_by_byte_search() {
        let mut frame = SendFrame::new("3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03", 3, 5);
        let bytes = frame.fill(FIRST_SEND + 9, 1, 2).to_vec();
        let (frame, _) = next_frame(&bytes).unwrap().unwrap();
        let send = Send::of(frame.payload).unwrap();
        assert_eq!(send.id, FIRST_SEND + 9);
        assert_eq!(send.room_id, b"3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03");
        assert!(send.text.starts_with(b"load1 000003 000005 "));
        assert_eq!(send.nonce.len(), 36);
        assert!(Send::of(br#"{"id":1,"op":"session.hello","data":{}}"#).is_none());
    }
}
