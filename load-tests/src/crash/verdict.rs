//! Compares the accounts of a crash test: what was acknowledged, what the history lists, what each
//! reader saw. Pure, so that its tests can lie to it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use anyhow::{Result, bail};

const FAULTS_SHOWN: usize = 20;

/// A message of ours as some part of the server shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) seq: u64,
    pub(super) row_key: String,
    pub(super) nonce: String,
    pub(super) writer: usize,
    pub(super) sequence: u64,
}

/// A writer's account.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) writer: usize,
    pub(super) room: usize,
    pub(super) sent: u64,
    pub(super) answers: Vec<Listed>,
    pub(super) repeats: u64,
}

/// A reader's account, by room.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) reader: usize,
    pub(super) rooms: Vec<SeenRoom>,
}

#[derive(Debug, Default)]
pub(super) struct SeenRoom {
    /// The position of the first subscription: what came before was never promised.
    pub(super) from: u64,
    pub(super) messages: Vec<Seen>,
    /// Ranges of `seq` that the server said it would skip.
    pub(super) gaps: Vec<RangeInclusive<u64>>,
    /// Live events that skipped a `seq` and were fetched by subscribing again.
    pub(super) holes: u64,
    /// Events at or below the position, ignored as the protocol says.
    pub(super) repeats: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// The event's `seq`.
    pub(super) at: u64,
    pub(super) message: Listed,
}

/// A passed test in numbers.
#[derive(Debug, Default)]
pub(super) struct Summary {
    messages: usize,
    repeated_sends: u64,
    seen: usize,
    gaps: usize,
    holes: u64,
    repeated_events: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} messages acknowledged, each stored once, in order, and seen so by every reader ({} deliveries applied); \
             {} sends repeated after a lost reply, {} gaps and {} holes caught up, {} repeated events ignored",
            self.messages, self.seen, self.repeated_sends, self.gaps, self.holes, self.repeated_events
        )
    }
}

/// The last `seq` of each room's history.
pub(super) fn heads(history: &[Vec<Listed>]) -> Vec<u64> {
    history.iter().map(|room| room.last().map_or(0, |message| message.seq)).collect()
}

/// # Errors
/// The accounts disagree: the first faults, spelled out.
pub(super) fn judge(history: &[Vec<Listed>], written: &[Written], read: &[Read]) -> Result<Summary> {
    let mut faults = Vec::new();
    let mut summary = Summary::default();
    for (room, listed) in history.iter().enumerate() {
        summary.messages += listed.len();
        check_order(room, listed, &mut faults);
    }
    for account in written {
        summary.repeated_sends += account.repeats;
        check_writer(account, &history[account.room], &mut faults);
    }
    let expected: u64 = written.iter().map(|account| account.sent).sum();
    if expected != summary.messages as u64 {
        faults.push(format!("{expected} messages sent and answered, {} listed", summary.messages));
    }
    for account in read {
        for (room, (seen, listed)) in account.rooms.iter().zip(history).enumerate() {
            summary.seen += seen.messages.len();
            summary.gaps += seen.gaps.len();
            summary.holes += seen.holes;
            summary.repeated_events += seen.repeats;
            check_reader(account.reader, room, seen, listed, &mut faults);
        }
    }
    if faults.is_empty() {
        return Ok(summary);
    }
    let more = faults.len().saturating_sub(FAULTS_SHOWN);
    faults.truncate(FAULTS_SHOWN);
    bail!("the accounts disagree:\n  {}\n  and {more} more", faults.join("\n  "));
}

/// The history itself: `seq` without holes, `rowKey` falling, nonces as sent.
fn check_order(room: usize, listed: &[Listed], faults: &mut Vec<String>) {
    for pair in listed.windows(2) {
        let [earlier, later] = pair else { continue };
        if later.seq != earlier.seq + 1 {
            faults.push(format!("room {room}: seq {} is followed by {}", earlier.seq, later.seq));
        }
        if later.row_key >= earlier.row_key {
            faults.push(format!("room {room}: rowKey of seq {} is not below that of seq {}", later.seq, earlier.seq));
        }
    }
    for message in listed {
        if message.nonce != crate::commands::nonce(message.writer, message.sequence) {
            faults.push(format!("room {room}: seq {} has nonce {}", message.seq, message.nonce));
        }
    }
}

/// A writer's messages: each once, in order, under the key that was acknowledged.
fn check_writer(account: &Written, listed: &[Listed], faults: &mut Vec<String>) {
    let writer = account.writer;
    let mut due = 0;
    for message in listed.iter().filter(|message| message.writer == writer) {
        if message.sequence != due {
            faults.push(format!("writer {writer}: history has {} where {due} was due", message.sequence));
        }
        due = message.sequence + 1;
    }
    if due != account.sent {
        faults.push(format!("writer {writer}: sent {}, history ends before {due}", account.sent));
    }
    let by_sequence: BTreeMap<u64, &Listed> =
        listed.iter().filter(|message| message.writer == writer).map(|message| (message.sequence, message)).collect();
    for answer in &account.answers {
        match by_sequence.get(&answer.sequence) {
            None => faults.push(format!(
                "writer {writer}: {} was acknowledged as seq {} and is gone",
                answer.sequence, answer.seq
            )),
            Some(stored) if *stored != answer => faults.push(format!(
                "writer {writer}: {} was acknowledged as seq {} {}, stored as seq {} {}",
                answer.sequence, answer.seq, answer.row_key, stored.seq, stored.row_key
            )),
            Some(_) => {}
        }
    }
    if account.answers.len() as u64 != account.sent {
        faults.push(format!("writer {writer}: sent {}, {} answered", account.sent, account.answers.len()));
    }
}

/// A reader's view: the history from its first position on, without the gaps it was told of.
fn check_reader(reader: usize, room: usize, seen: &SeenRoom, listed: &[Listed], faults: &mut Vec<String>) {
    let excused = |seq: &u64| *seq <= seen.from || seen.gaps.iter().any(|gap| gap.contains(seq));
    let mut due = listed.iter().filter(|message| !excused(&message.seq));
    let name = format!("reader {reader}, room {room}");
    for Seen { at, message } in &seen.messages {
        if *at != message.seq {
            faults.push(format!("{name}: event seq {at} carries the message of seq {}", message.seq));
        }
        match due.next() {
            Some(expected) if expected == message => {}
            Some(expected) => {
                faults.push(format!("{name}: saw seq {} where seq {} was due", message.seq, expected.seq));
                return;
            }
            None => {
                faults.push(format!("{name}: saw seq {} beyond the end of history", message.seq));
                return;
            }
        }
    }
    if let Some(missing) = due.next() {
        faults.push(format!("{name}: nothing seen from seq {} on", missing.seq));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u64, writer: usize, sequence: u64) -> Listed {
        let row_key = format!("{:030}", 1_000_000 - seq);
        Listed { seq, row_key, nonce: crate::commands::nonce(writer, sequence), writer, sequence }
    }

    /// Two writers in one room, four messages from seq 3 on, one reader that saw them all.
    fn accounts() -> (Vec<Vec<Listed>>, Vec<Written>, Vec<Read>) {
        let listed = vec![message(3, 0, 0), message(4, 1, 0), message(5, 0, 1), message(6, 1, 1)];
        let written = [0, 1]
            .map(|writer| {
                let answers: Vec<_> = listed.iter().filter(|message| message.writer == writer).cloned().collect();
                Written { writer, room: 0, sent: 2, answers, repeats: 0 }
            })
            .into();
        let messages = listed.iter().map(|message| Seen { at: message.seq, message: message.clone() }).collect();
        let room = SeenRoom { from: 2, messages, ..SeenRoom::default() };
        (vec![listed], written, vec![Read { reader: 0, rooms: vec![room] }])
    }

    fn fault(accounts: &(Vec<Vec<Listed>>, Vec<Written>, Vec<Read>)) -> String {
        judge(&accounts.0, &accounts.1, &accounts.2).unwrap_err().to_string()
    }

    #[test]
    fn agreeing_accounts_pass() {
        let (history, written, read) = accounts();
        let summary = judge(&history, &written, &read).unwrap();
        assert_eq!((summary.messages, summary.seen), (4, 4));
        assert_eq!(heads(&history), [6]);
    }

    #[test]
    fn an_acknowledged_message_that_is_gone_is_found() {
        let mut accounts = accounts();
        accounts.0[0].pop();
        accounts.2[0].rooms[0].messages.pop();
        assert!(fault(&accounts).contains("writer 1: 1 was acknowledged as seq 6 and is gone"));
    }

    #[test]
    fn a_message_stored_twice_is_found() {
        let mut accounts = accounts();
        accounts.0[0].push(message(7, 1, 1));
        assert!(fault(&accounts).contains("history has 1 where 2 was due"));
    }

    #[test]
    fn messages_of_a_writer_out_of_order_are_found() {
        let mut accounts = accounts();
        accounts.0[0] = vec![message(3, 0, 1), message(4, 1, 0), message(5, 0, 0), message(6, 1, 1)];
        assert!(fault(&accounts).contains("writer 0: history has 1 where 0 was due"));
    }

    #[test]
    fn another_key_than_acknowledged_is_found() {
        let mut accounts = accounts();
        accounts.1[0].answers[0].row_key = "0".repeat(30);
        assert!(fault(&accounts).contains("was acknowledged as seq 3"));
    }

    #[test]
    fn a_reader_that_missed_doubled_or_swapped_is_found() {
        let mut missed = accounts();
        missed.2[0].rooms[0].messages.remove(1);
        assert!(fault(&missed).contains("saw seq 5 where seq 4 was due"));

        let mut ended = accounts();
        ended.2[0].rooms[0].messages.truncate(2);
        assert!(fault(&ended).contains("nothing seen from seq 5 on"));

        let mut doubled = accounts();
        let again = doubled.2[0].rooms[0].messages[0].clone();
        doubled.2[0].rooms[0].messages.insert(1, again);
        assert!(fault(&doubled).contains("saw seq 3 where seq 4 was due"));

        let mut swapped = accounts();
        swapped.2[0].rooms[0].messages.swap(1, 2);
        assert!(fault(&swapped).contains("saw seq 5 where seq 4 was due"));
    }

    #[test]
    fn an_announced_gap_excuses_what_it_covers_and_no_more() {
        let mut accounts = accounts();
        accounts.2[0].rooms[0].messages.drain(1..3);
        accounts.2[0].rooms[0].gaps.push(4..=5);
        judge(&accounts.0, &accounts.1, &accounts.2).unwrap();
        accounts.2[0].rooms[0].gaps[0] = 4..=4;
        assert!(fault(&accounts).contains("saw seq 6 where seq 5 was due"));
    }

    #[test]
    fn holes_in_seq_and_rising_row_keys_are_found() {
        let mut accounts = accounts();
        accounts.0[0][3] = Listed { seq: 8, row_key: "9".repeat(30), ..message(6, 1, 1) };
        let fault = fault(&accounts);
        assert!(fault.contains("seq 5 is followed by 8"), "{fault}");
        assert!(fault.contains("rowKey of seq 8"), "{fault}");
    }
}
