//! Completeness and order of deliveries: every message once, in its publisher's order, and in the
//! same order with the same `seq` at every member of its room. Fed with each delivery as it arrives.

use anyhow::{Result, bail};

use crate::payload::{Identity, Payload};

/// Faults kept with their text; the rest is only counted.
const FAULTS_SHOWN: usize = 20;
const NO_MEMBER: u32 = u32::MAX;

/// The record of one room, shared by its members: the first to see a message extends it.
#[derive(Debug)]
struct Room {
    id: String,
    order: Vec<Entry>,
    members: u32,
    next_by_publisher: Vec<u64>,
}

#[derive(Debug)]
struct Entry {
    identity: Identity,
    /// The room's `seq` on the wire; 0 while only a catch-up page, which folds, showed it.
    seq: u64,
    received: u32,
}

/// What a delivery was, once it has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) room: usize,
    pub(crate) sent_at: u64,
    /// With this one every member of the room has the message.
    pub(crate) complete: bool,
}

#[derive(Debug)]
pub(crate) struct Auditor {
    rooms: Vec<Room>,
    /// How many messages of a room a connection has had, by connection and room.
    positions: Vec<u32>,
    faults: Vec<String>,
    fault_count: u64,
}

impl Auditor {
    /// An auditor of these rooms for connections 0 to `connections` − 1, none of them a member yet.
    pub(crate) fn new(room_ids: impl IntoIterator<Item = String>, connections: usize) -> Self {
        let rooms: Vec<Room> = room_ids
            .into_iter()
            .map(|id| Room { id, order: Vec::new(), members: 0, next_by_publisher: Vec::new() })
            .collect();
        let positions = vec![NO_MEMBER; rooms.len() * connections];
        Self { rooms, positions, faults: Vec::new(), fault_count: 0 }
    }

    /// From here on the connection must get everything sent to the room.
    pub(crate) fn join(&mut self, connection: usize, room: usize) {
        let record = &mut self.rooms[room];
        record.members += 1;
        let position = u32::try_from(record.order.len()).expect("fewer than 2^32 messages");
        let slot = connection * self.rooms.len() + room;
        self.positions[slot] = position;
    }

    /// Checks one live delivery; `None` when it was at fault.
    #[inline]
    pub(crate) fn deliver(&mut self, connection: usize, frame: &[u8], payload: Payload<'_>) -> Option<Delivery> {
        let head = EventHead::of(frame);
        if let Some(head) = &head
            && self.rooms.get(payload.room()).is_some_and(|room| room.id.as_bytes() != head.room_id)
        {
            self.fault(|| format!("connection {connection}: a message of another room came under this room's id"));
            return None;
        }
        self.check(connection, payload, head.map_or(0, |head| head.seq))
    }

    /// Checks one entry of a catch-up page.
    pub(crate) fn caught_up(&mut self, connection: usize, payload: Payload<'_>) -> Option<Delivery> {
        self.check(connection, payload, 0)
    }

    #[inline]
    fn check(&mut self, connection: usize, payload: Payload<'_>, seq: u64) -> Option<Delivery> {
        let number = payload.room();
        let slot = connection * self.rooms.len() + number;
        let (Some(room), Some(position)) = (self.rooms.get_mut(number), self.positions.get_mut(slot)) else {
            self.fault(|| format!("connection {connection}: a message of unknown room {number}"));
            return None;
        };
        if *position == NO_MEMBER {
            self.fault(|| format!("connection {connection}: a message of room {number}, which it did not join"));
            return None;
        }
        let at = *position as usize;
        if at == room.order.len() {
            let gap = room.extend(payload, seq);
            *position += 1;
            let complete = room.members == 1;
            if let Some(gap) = gap {
                self.fault(|| format!("connection {connection}, room {number}: {gap}"));
            }
            return Some(Delivery { room: number, sent_at: payload.sent_at(), complete });
        }
        let entry = &mut room.order[at];
        if &entry.identity == payload.identity() && (entry.seq == seq || entry.seq == 0 || seq == 0) {
            *position += 1;
            entry.received += 1;
            if entry.seq == 0 {
                entry.seq = seq;
            }
            return Some(Delivery {
                room: number,
                sent_at: payload.sent_at(),
                complete: entry.received == room.members,
            });
        }
        let (what, found) = room.explain(at, payload, seq);
        if let Some(found) = found.filter(|found| *found >= at) {
            *position = u32::try_from(found + 1).expect("fewer than 2^32 messages");
        }
        self.fault(|| format!("connection {connection}, room {number}: {what}"));
        None
    }

    /// Notes a fault that someone else found.
    pub(crate) fn fault(&mut self, text: impl FnOnce() -> String) {
        self.fault_count += 1;
        if self.faults.len() < FAULTS_SHOWN {
            self.faults.push(text());
        }
    }

    pub(crate) fn fault_count(&self) -> u64 {
        self.fault_count
    }

    /// The final account: `sent(room)` messages were accepted for each room, and all members must have them.
    ///
    /// # Errors
    /// Any loss, double, reorder or foreign message since the start, with the first few spelled out.
    pub(crate) fn close(&mut self, sent: impl Fn(usize) -> u64) -> Result<()> {
        for number in 0..self.rooms.len() {
            let (known, sent) = (self.rooms[number].order.len() as u64, sent(number));
            if self.rooms[number].members > 0 && known != sent {
                self.fault(|| format!("room {number}: {sent} messages sent, {known} seen by its members"));
            }
        }
        let stride = self.rooms.len();
        for slot in 0..self.positions.len() {
            let (position, number) = (self.positions[slot], slot % stride);
            let known = self.rooms[number].order.len();
            if position != NO_MEMBER && position as usize != known {
                let connection = slot / stride;
                self.fault(|| format!("connection {connection}, room {number}: has {position} of {known} messages"));
            }
        }
        if self.fault_count == 0 {
            return Ok(());
        }
        let mut report = format!("{} faults of completeness or order:", self.fault_count);
        for fault in &self.faults {
            report.push_str(&format!("\n  {fault}"));
        }
        bail!(report);
    }
}

impl Room {
    /// Appends a message that no member had yet; what is wrong with it, if anything.
    fn extend(&mut self, payload: Payload<'_>, seq: u64) -> Option<String> {
        let (publisher, sequence) = (payload.publisher(), payload.sequence());
        if publisher >= self.next_by_publisher.len() {
            self.next_by_publisher.resize(publisher + 1, 0);
        }
        let expected = std::mem::replace(&mut self.next_by_publisher[publisher], sequence + 1);
        let last_seq = self.order.last().map_or(0, |entry| entry.seq);
        self.order.push(Entry { identity: *payload.identity(), seq, received: 1 });
        if sequence != expected {
            return Some(format!("publisher {publisher} at {sequence} where {expected} was due"));
        }
        (last_seq != 0 && seq != 0 && seq != last_seq + 1).then(|| format!("seq {seq} follows seq {last_seq}"))
    }

    /// Why a message is not the one due at `due`, and where it would have belonged.
    fn explain(&self, due: usize, payload: Payload<'_>, seq: u64) -> (String, Option<usize>) {
        let found = self.order.iter().rposition(|entry| &entry.identity == payload.identity());
        let what = format!("publisher {} sequence {}", payload.publisher(), payload.sequence());
        let text = match found {
            Some(at) if at < due => format!("{what} came again or late"),
            Some(at) if at > due => format!("{} messages missing before {what}", at - due),
            Some(at) => format!("{what} came as seq {seq}, elsewhere as seq {}", self.order[at].seq),
            None => format!("{what} came where others had another message"),
        };
        (text, found)
    }
}

/// The fixed start of a `message.created` frame.
struct EventHead<'a> {
    room_id: &'a [u8],
    seq: u64,
}

impl<'a> EventHead<'a> {
    #[inline]
    fn of(frame: &'a [u8]) -> Option<Self> {
        const START: &[u8] = br#"{"event":"message.created","roomId":""#;
        const MIDDLE: &[u8] = br#"","seq":"#;
        let (room_id, rest) = frame.strip_prefix(START)?.split_at_checked(36)?;
        let digits = rest.strip_prefix(MIDDLE)?;
        let seq = digits
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .fold(0, |value: u64, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
        Some(Self { room_id, seq })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload;

    const ROOM: &str = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";

    fn event(room_id: &str, seq: u64, publisher: usize, sequence: u64) -> String {
        let text = payload::text(0, publisher, sequence, 5);
        format!(
            r#"{{"event":"message.created","roomId":"{room_id}","seq":{seq},"data":{{"message":{{"message":"{text}"}}}}}}"#
        )
    }

    fn auditor() -> Auditor {
        let mut auditor = Auditor::new([ROOM.to_owned()], 2);
        auditor.join(0, 0);
        auditor.join(1, 0);
        auditor
    }

    fn give(auditor: &mut Auditor, connection: usize, seq: u64, sequence: u64) -> Option<Delivery> {
        let frame = event(ROOM, seq, 0, sequence);
        let payload = Payload::find(frame.as_bytes(), &mut 0).unwrap();
        auditor.deliver(connection, frame.as_bytes(), payload)
    }

    fn report(auditor: &mut Auditor, sent: u64) -> String {
        auditor.close(|_| sent).unwrap_err().to_string()
    }

    #[test]
    fn a_complete_ordered_run_passes() {
        let mut auditor = auditor();
        for sequence in 0..3 {
            let first = give(&mut auditor, 0, sequence + 4, sequence).unwrap();
            let second = give(&mut auditor, 1, sequence + 4, sequence).unwrap();
            assert_eq!((first.complete, second.complete), (false, true));
        }
        auditor.close(|_| 3).unwrap();
    }

    #[test]
    fn a_message_lost_to_one_member_is_found() {
        let mut auditor = auditor();
        for sequence in 0..3 {
            give(&mut auditor, 0, sequence + 1, sequence);
        }
        give(&mut auditor, 1, 1, 0);
        give(&mut auditor, 1, 3, 2);
        assert!(report(&mut auditor, 3).contains("1 messages missing before publisher 0 sequence 2"));
    }

    #[test]
    fn the_last_message_lost_to_one_member_is_found() {
        let mut auditor = auditor();
        give(&mut auditor, 0, 1, 0);
        give(&mut auditor, 1, 1, 0);
        give(&mut auditor, 0, 2, 1);
        assert!(report(&mut auditor, 2).contains("connection 1, room 0: has 1 of 2"));
    }

    #[test]
    fn a_message_lost_to_all_is_found() {
        let mut auditor = auditor();
        for connection in [0, 1] {
            give(&mut auditor, connection, 1, 0);
            give(&mut auditor, connection, 2, 2);
        }
        let report = report(&mut auditor, 3);
        assert!(report.contains("publisher 0 at 2 where 1 was due"), "{report}");
        assert!(report.contains("3 messages sent, 2 seen"), "{report}");
    }

    #[test]
    fn a_doubled_message_is_found() {
        let mut auditor = auditor();
        for connection in [0, 1] {
            give(&mut auditor, connection, 1, 0);
            give(&mut auditor, connection, 2, 1);
        }
        assert_eq!(give(&mut auditor, 0, 2, 1), Some(Delivery { room: 0, sent_at: 5, complete: false }));
        assert!(report(&mut auditor, 2).contains("publisher 0 at 1 where 2 was due"));
        let mut auditor = self::auditor();
        give(&mut auditor, 0, 1, 0);
        give(&mut auditor, 0, 2, 1);
        give(&mut auditor, 1, 1, 0);
        assert_eq!(give(&mut auditor, 1, 1, 0), None);
        assert!(report(&mut auditor, 2).contains("came again or late"));
    }

    #[test]
    fn two_orders_at_two_members_are_found() {
        let mut auditor = auditor();
        let frames = [event(ROOM, 1, 0, 0), event(ROOM, 2, 1, 0)];
        for (connection, order) in [(0, [0, 1]), (1, [1, 0])] {
            for index in order {
                let frame = frames[index].as_bytes();
                auditor.deliver(connection, frame, Payload::find(frame, &mut 0).unwrap());
            }
        }
        assert!(report(&mut auditor, 2).contains("missing before publisher 1 sequence 0"));
    }

    #[test]
    fn two_seqs_for_one_message_are_found() {
        let mut auditor = auditor();
        give(&mut auditor, 0, 1, 0);
        give(&mut auditor, 1, 7, 0);
        assert!(report(&mut auditor, 1).contains("came as seq 7, elsewhere as seq 1"));
    }

    #[test]
    fn a_hole_in_seq_is_found() {
        let mut auditor = auditor();
        give(&mut auditor, 0, 1, 0);
        give(&mut auditor, 0, 3, 1);
        assert!(report(&mut auditor, 2).contains("seq 3 follows seq 1"));
    }

    #[test]
    fn a_delivery_to_a_stranger_or_under_a_wrong_id_is_found() {
        let mut auditor = Auditor::new([ROOM.to_owned()], 1);
        give(&mut auditor, 0, 1, 0);
        assert!(report(&mut auditor, 0).contains("which it did not join"));
        let mut auditor = self::auditor();
        let frame = event("00000000-0000-4000-8000-000000000000", 1, 0, 0);
        auditor.deliver(0, frame.as_bytes(), Payload::find(frame.as_bytes(), &mut 0).unwrap());
        assert!(report(&mut auditor, 0).contains("another room"));
    }

    #[test]
    fn catch_up_pages_continue_the_same_record() {
        let mut auditor = auditor();
        give(&mut auditor, 0, 1, 0);
        give(&mut auditor, 0, 2, 1);
        let page = event(ROOM, 1, 0, 0) + &event(ROOM, 2, 0, 1);
        for payload in Payload::all(page.as_bytes()) {
            assert!(auditor.caught_up(1, payload).unwrap().complete);
        }
        auditor.close(|_| 2).unwrap();
    }
}
