//! What the generator writes into a message's text: who sent what when, in fixed-width digits,
//! so that a delivery is identified by comparing bytes, without decoding JSON.

use memchr::memmem;

/// Starts every payload; cannot occur elsewhere in a frame.
pub(crate) const MARKER: &[u8] = b"load1 ";
/// Length of a payload in bytes, filler included.
pub(crate) const LENGTH: usize = 128;

const ROOM: std::ops::Range<usize> = 6..12;
const PUBLISHER: std::ops::Range<usize> = 13..19;
const SEQUENCE: std::ops::Range<usize> = 20..30;
const SENT_AT: std::ops::Range<usize> = 31..47;
const IDENTITY: std::ops::Range<usize> = 13..30;
const USED: usize = 47;

/// Publisher and sequence as they stand in the text.
pub(crate) type Identity = [u8; 17];

/// A payload found inside a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a>(&'a [u8]);

impl<'a> Payload<'a> {
    /// The first payload in `frame`, looking first where `hint` says the last one was.
    #[inline]
    pub(crate) fn find(frame: &'a [u8], hint: &mut usize) -> Option<Self> {
        if frame.get(*hint..*hint + MARKER.len()) != Some(MARKER) {
            *hint = memmem::find(frame, MARKER)?;
        }
        Self::at(frame, *hint)
    }

    /// All payloads of a frame, in order (a catch-up page holds many).
    pub(crate) fn all(frame: &'a [u8]) -> impl Iterator<Item = Self> {
        memmem::find_iter(frame, MARKER).filter_map(move |at| Self::at(frame, at))
    }

    fn at(frame: &'a [u8], at: usize) -> Option<Self> {
        frame.get(at..at + USED).map(Self)
    }

    pub(crate) fn room(self) -> usize {
        usize::try_from(number(&self.0[ROOM])).unwrap_or(usize::MAX)
    }

    pub(crate) fn publisher(self) -> usize {
        usize::try_from(number(&self.0[PUBLISHER])).unwrap_or(usize::MAX)
    }

    pub(crate) fn sequence(self) -> u64 {
        number(&self.0[SEQUENCE])
    }

    /// Nanoseconds on the sender's clock.
    pub(crate) fn sent_at(self) -> u64 {
        number(&self.0[SENT_AT])
    }

    pub(crate) fn identity(self) -> &'a Identity {
        self.0[IDENTITY].first_chunk().expect("the range is as long as the array")
    }
}

/// The text of one message.
pub(crate) fn text(room: usize, publisher: usize, sequence: u64, sent_at: u64) -> String {
    let mut text = format!("load1 {room:06} {publisher:06} {sequence:010} {sent_at:016} ");
    while text.len() < LENGTH {
        text.push('x');
    }
    text
}

/// Where the changing digits of a payload lie, for templates that are patched in place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    start: usize,
}

impl Slots {
    pub(crate) fn find(template: &[u8]) -> Option<Self> {
        memmem::find(template, MARKER).map(|start| Self { start })
    }

    pub(crate) fn fill(self, template: &mut [u8], sequence: u64, sent_at: u64) {
        let payload = &mut template[self.start..self.start + USED];
        write_number(&mut payload[SEQUENCE], sequence);
        write_number(&mut payload[SENT_AT], sent_at);
    }
}

/// Writes `value` in decimal over the whole slot, with leading zeros.
pub(crate) fn write_number(slot: &mut [u8], mut value: u64) {
    for digit in slot.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[inline]
fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit.wrapping_sub(b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_reads_back_what_was_written() {
        let text = text(7, 12, 345, 6_789);
        assert_eq!(text.len(), LENGTH);
        let frame = format!("{{\"message\":\"{text}\"}}");
        let mut hint = 0;
        let payload = Payload::find(frame.as_bytes(), &mut hint).unwrap();
        assert_eq!((payload.room(), payload.publisher()), (7, 12));
        assert_eq!((payload.sequence(), payload.sent_at()), (345, 6_789));
        assert_eq!(payload.identity(), b"000012 0000000345");
        assert_eq!(hint, 12);
    }

    #[test]
    fn a_wrong_hint_is_corrected() {
        let frame = text(1, 2, 3, 4);
        let mut hint = 5_000;
        assert!(Payload::find(frame.as_bytes(), &mut hint).is_some());
        assert_eq!(hint, 0);
        assert!(Payload::find(b"nothing here", &mut hint).is_none());
    }

    #[test]
    fn a_template_is_patched_in_place() {
        let mut template = format!("abc{}def", text(3, 4, 0, 0)).into_bytes();
        let slots = Slots::find(&template).unwrap();
        slots.fill(&mut template, 99, 1_234_567);
        let payload = Payload::find(&template, &mut 0).unwrap();
        assert_eq!((payload.room(), payload.publisher()), (3, 4));
        assert_eq!((payload.sequence(), payload.sent_at()), (99, 1_234_567));
    }

    #[test]
    fn all_payloads_of_a_page_come_in_order() {
        let page: String = (0..5).map(|sequence| text(0, 0, sequence, 0)).collect();
        let sequences: Vec<u64> = Payload::all(page.as_bytes()).map(Payload::sequence).collect();
        assert_eq!(sequences, [0, 1, 2, 3, 4]);
    }
}
