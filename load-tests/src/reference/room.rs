//! A room of the reference writer: the next `seq`, the batch of this turn, the latest events.

use std::collections::VecDeque;
use std::io::Write as _;
use std::rc::Rc;

use super::Fault;
use crate::wire::{next_frame, push_server_text_head};

/// Events kept for catch-up.
const KEPT: usize = 128;
/// The time of every message: the reference reads no clock.
const TIME: &str = "2026-03-01T12:00:00.000Z";

#[derive(Debug)]
pub(super) struct Room {
    pub(super) id: [u8; 36],
    pub(super) seq: u64,
    pub(super) members: Vec<usize>,
    /// Finished frames of this turn.
    batch: Vec<u8>,
    kept: VecDeque<Vec<u8>>,
    /// The end of the last catch-up page asked for, and from where to where it goes.
    page: Option<(u64, u64, Rc<Vec<u8>>)>,
}

impl Room {
    pub(super) fn new(id: [u8; 36]) -> Self {
        Self { id, seq: 0, members: Vec::new(), batch: Vec::new(), kept: VecDeque::new(), page: None }
    }

    pub(super) fn has_batch(&self) -> bool {
        !self.batch.is_empty()
    }

    pub(super) fn take_batch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.batch)
    }

    /// Appends one message: its event joins the batch, its JSON stands in `message` afterwards.
    pub(super) fn append(&mut self, user: u64, text: &[u8], nonce: &[u8], message: &mut Vec<u8>) {
        self.seq += 1;
        let seq = self.seq;
        message.clear();
        message.extend_from_slice(br#"{"roomId":""#);
        message.extend_from_slice(&self.id);
        let row_key = 999_999_998_227_633_539_749_999_999_u128 - u128::from(seq);
        write_all(
            message,
            format_args!(r#"","rowKey":"{row_key:030}","seq":{seq},"rev":1,"bodyRev":1,"type":"Message","#),
        );
        write_all(message, format_args!(r#""userId":"00000000-0000-4000-8000-{user:012}","message":""#));
        message.extend_from_slice(text);
        message.extend_from_slice(br#"","nonce":""#);
        message.extend_from_slice(nonce);
        write_all(message, format_args!(r#"","createdAt":"{TIME}","updatedAt":"{TIME}"}}"#));

        let mut event = if self.kept.len() == KEPT { self.kept.pop_front().unwrap_or_default() } else { Vec::new() };
        event.clear();
        event.extend_from_slice(br#"{"event":"message.created","roomId":""#);
        event.extend_from_slice(&self.id);
        write_all(&mut event, format_args!(r#"","seq":{seq},"data":{{"message":"#));
        event.extend_from_slice(message);
        event.extend_from_slice(b"}}");
        push_server_text_head(&mut self.batch, event.len());
        self.batch.extend_from_slice(&event);
        self.kept.push_back(event);
    }

    /// The rest of a `room.catchUp` frame's JSON after its `sub`: everything after `since`; `None` when it reaches too far back.
    pub(super) fn page_after(&mut self, since: u64) -> Option<Rc<Vec<u8>>> {
        let missing = usize::try_from(self.seq.checked_sub(since)?).ok()?;
        if missing > self.kept.len() {
            return None;
        }
        if let Some((from, to, page)) = &self.page
            && (*from, *to) == (since, self.seq)
        {
            return Some(Rc::clone(page));
        }
        let mut page = br#","data":{"entries":["#.to_vec();
        for (index, event) in self.kept.iter().skip(self.kept.len() - missing).enumerate() {
            if index > 0 {
                page.push(b',');
            }
            page.extend_from_slice(event);
        }
        write_all(&mut page, format_args!(r#"],"seq":{},"done":true}}}}"#, self.seq));
        let page = Rc::new(page);
        self.page = Some((since, self.seq, Rc::clone(&page)));
        Some(page)
    }

    /// The batch with one fault in it, if it is long enough for that fault and anyone would see it.
    pub(super) fn faulty_batch(&self, fault: Fault) -> Option<Vec<u8>> {
        let (_, first) = next_frame(&self.batch).ok()??;
        let (head, rest) = self.batch.split_at(first);
        Some(match fault {
            Fault::DropOne => rest.to_vec(),
            Fault::DoubleOne => [head, head, rest].concat(),
            Fault::SwapTwo => {
                let (_, second) = next_frame(rest).ok()??;
                let (next, rest) = rest.split_at(second);
                [next, head, rest].concat()
            }
        })
    }
}

fn write_all(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a Vec takes everything");
}
