//! The cases of the Autobahn suite that apply to a server without extensions, by section.

use super::*;

const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
const LIMIT: usize = 64 * 1024;

/// A masked client frame with any first byte.
pub(super) fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        len @ 0..=125 => frame.push(0x80 | u8::try_from(len).unwrap()),
        len @ 126..=0xFFFF => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
        }
        len => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn fin(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(0x80 | opcode, payload)
}

fn part(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(opcode, payload)
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Message(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close(Option<u16>),
    Error(u16),
}

fn read_in_chunks(kind: DataKind, stream: &[u8], chunk: usize) -> Vec<Seen> {
    let mut decoder = Decoder::new(kind, LIMIT);
    let mut held = Vec::new();
    let mut seen = Vec::new();
    for bytes in stream.chunks(chunk) {
        held.extend_from_slice(bytes);
        loop {
            let taken = match decoder.decode(&mut held) {
                Ok(Decoded::Incomplete) => break,
                Ok(Decoded::Frame { len, frame }) => {
                    match frame {
                        Frame::Message(message) => seen.push(Seen::Message(message.into_owned())),
                        Frame::Fragment => {}
                        Frame::Ping(payload) => seen.push(Seen::Ping(payload.to_vec())),
                        Frame::Pong => seen.push(Seen::Pong),
                        Frame::Close(code) => seen.push(Seen::Close(code)),
                    }
                    len
                }
                Err(error) => {
                    seen.push(Seen::Error(error.close_code()));
                    return seen;
                }
            };
            held.drain(..taken);
        }
    }
    seen
}

fn read(kind: DataKind, frames: &[Vec<u8>]) -> Vec<Seen> {
    let stream = frames.concat();
    let whole = read_in_chunks(kind, &stream, usize::MAX);
    let step = (stream.len() / 500).max(1);
    assert_eq!(whole, read_in_chunks(kind, &stream, step), "split differently");
    whole
}

fn text(frames: &[Vec<u8>]) -> Vec<Seen> {
    read(DataKind::Text, frames)
}

fn message(payload: &[u8]) -> Seen {
    Seen::Message(payload.to_vec())
}

#[test]
fn section_1_messages_of_all_length_forms() {
    for kind in [DataKind::Text, DataKind::Binary] {
        for len in [0, 1, 125, 126, 127, 128, 65_535, 65_536] {
            let payload = vec![b'*'; len];
            assert_eq!(read(kind, &[fin(kind.opcode(), &payload)]), [message(&payload)]);
        }
    }
}

#[test]
fn section_2_pings_and_pongs() {
    assert_eq!(text(&[fin(PING, b"")]), [Seen::Ping(vec![])]);
    assert_eq!(text(&[fin(PING, b"hi")]), [Seen::Ping(b"hi".to_vec())]);
    let binary = [0x00, 0xFF, 0xFE, 0xFD];
    assert_eq!(text(&[fin(PING, &binary)]), [Seen::Ping(binary.to_vec())]);
    assert_eq!(text(&[fin(PING, &[9; 125])]), [Seen::Ping(vec![9; 125])]);
    assert_eq!(text(&[fin(PING, &[9; 126])]), [Seen::Error(1002)]);
    assert_eq!(text(&[fin(PONG, b"unsolicited"), fin(PING, b"")]), [Seen::Pong, Seen::Ping(vec![])]);
    let many: Vec<_> = (0..10).map(|_| fin(PING, b"x")).collect();
    assert_eq!(text(&many).len(), 10);
}

#[test]
fn section_3_reserved_bits() {
    for bits in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70] {
        for opcode in [TEXT, BINARY, PING, PONG, CLOSE] {
            let frames = [fin(TEXT, b"fine"), raw(0x80 | bits | opcode, b"bad")];
            assert_eq!(text(&frames), [message(b"fine"), Seen::Error(1002)]);
        }
    }
}

#[test]
fn section_4_reserved_opcodes() {
    for opcode in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        assert_eq!(text(&[fin(opcode, b"")]), [Seen::Error(1002)]);
        assert_eq!(text(&[fin(opcode, b"payload")]), [Seen::Error(1002)]);
    }
}

#[test]
fn section_5_fragmentation() {
    assert_eq!(text(&[part(PING, b"a")]), [Seen::Error(1002)]);
    assert_eq!(text(&[part(PONG, b"a")]), [Seen::Error(1002)]);
    assert_eq!(text(&[part(CLOSE, b"")]), [Seen::Error(1002)]);
    assert_eq!(text(&[part(TEXT, b"one"), fin(CONTINUATION, b"two")]), [message(b"onetwo")]);
    assert_eq!(
        text(&[part(TEXT, b"one"), fin(PING, b"p"), part(CONTINUATION, b""), fin(CONTINUATION, b"two")]),
        [Seen::Ping(b"p".to_vec()), message(b"onetwo")]
    );
    assert_eq!(text(&[fin(CONTINUATION, b"x")]), [Seen::Error(1002)]);
    assert_eq!(text(&[part(CONTINUATION, b"x"), fin(TEXT, b"y")]), [Seen::Error(1002)]);
    assert_eq!(
        text(&[part(TEXT, b"one"), fin(CONTINUATION, b"two"), fin(CONTINUATION, b"three")]),
        [message(b"onetwo"), Seen::Error(1002)]
    );
    assert_eq!(text(&[part(TEXT, b"one"), fin(TEXT, b"two")]), [Seen::Error(1002)]);
    assert_eq!(text(&[part(TEXT, b""), part(CONTINUATION, b""), fin(CONTINUATION, b"")]), [message(b"")]);
}

#[test]
fn section_6_utf8() {
    let good = "κόσμε – \u{10FFFF} \u{FFFF}";
    assert_eq!(text(&[fin(TEXT, good.as_bytes())]), [message(good.as_bytes())]);
    let bytewise: Vec<_> = good
        .bytes()
        .enumerate()
        .map(|(n, byte)| part(if n == 0 { TEXT } else { CONTINUATION }, &[byte]))
        .chain([fin(CONTINUATION, b"")])
        .collect();
    assert_eq!(text(&bytewise), [message(good.as_bytes())]);
    for bad in [
        &b"\xCE\xBA\xED\xA0\x80edited"[..],
        b"\xF4\x90\x80\x80",
        b"\xC0\x80",
        b"\xF8\x88\x80\x80\x80",
        b"\x80",
        b"\xFF",
        b"cut \xE2\x82",
    ] {
        assert_eq!(text(&[fin(TEXT, bad)]), [Seen::Error(1007)], "{bad:?}");
        assert_eq!(text(&[part(TEXT, b"fine"), fin(CONTINUATION, bad)]), [Seen::Error(1007)], "{bad:?}");
    }
    assert_eq!(text(&[part(TEXT, b"\xF4\x90"), part(CONTINUATION, b"x")]), [Seen::Error(1007)]);
    assert_eq!(read(DataKind::Binary, &[fin(BINARY, b"\xFF\xC0")]), [message(b"\xFF\xC0")]);
}

#[test]
fn section_7_closing() {
    assert_eq!(text(&[fin(CLOSE, b"")]), [Seen::Close(None)]);
    assert_eq!(text(&[fin(CLOSE, b"\x03")]), [Seen::Error(1002)]);
    assert_eq!(text(&[fin(CLOSE, b"\x03\xE8bye")]), [Seen::Close(Some(1000))]);
    let mut longest = vec![0x03, 0xE8];
    longest.extend_from_slice(&[b'*'; 123]);
    assert_eq!(text(&[fin(CLOSE, &longest)]), [Seen::Close(Some(1000))]);
    longest.push(b'*');
    assert_eq!(text(&[fin(CLOSE, &longest)]), [Seen::Error(1002)]);
    assert_eq!(text(&[fin(CLOSE, b"\x03\xE8\xCE\xBA\xED")]), [Seen::Error(1007)]);
    for code in [1000_u16, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999] {
        assert_eq!(text(&[fin(CLOSE, &code.to_be_bytes())]), [Seen::Close(Some(code))]);
    }
    for code in [0_u16, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
        assert_eq!(text(&[fin(CLOSE, &code.to_be_bytes())]), [Seen::Error(1002)], "{code}");
    }
}

#[test]
fn section_9_a_message_of_many_small_fragments_is_put_together() {
    let mut frames = vec![part(TEXT, &[b'*'; 64])];
    frames.extend((0..1022).map(|_| part(CONTINUATION, &[b'*'; 64])));
    frames.push(fin(CONTINUATION, &[b'*'; 64]));
    assert_eq!(text(&frames), [message(&vec![b'*'; LIMIT])]);
}

#[test]
fn frames_of_the_other_kind_are_refused() {
    assert_eq!(text(&[fin(BINARY, b"{}")]), [Seen::Error(1003)]);
    assert_eq!(text(&[part(BINARY, b"{}")]), [Seen::Error(1003)]);
    assert_eq!(read(DataKind::Binary, &[fin(TEXT, b"{}")]), [Seen::Error(1003)]);
}

#[test]
fn unmasked_frames_are_refused() {
    assert_eq!(text(&[b"\x81\x02hi".to_vec()]), [Seen::Error(1002)]);
}

#[test]
fn lengths_have_one_form() {
    let long = |form: u8, length: &[u8]| {
        let mut frame = vec![0x81, 0x80 | form];
        frame.extend_from_slice(length);
        frame.extend_from_slice(&[0; 4 + 125]);
        frame
    };
    assert_eq!(text(&[long(126, &125_u16.to_be_bytes())]), [Seen::Error(1002)]);
    assert_eq!(text(&[long(127, &125_u64.to_be_bytes())]), [Seen::Error(1002)]);
    assert_eq!(text(&[long(127, &65_535_u64.to_be_bytes())]), [Seen::Error(1002)]);
    assert_eq!(text(&[long(127, &(1_u64 << 63).to_be_bytes())]), [Seen::Error(1002)]);
}

#[test]
fn the_limit_can_change_between_frames() {
    let mut decoder = Decoder::new(DataKind::Text, 16);
    let over = |decoder: &mut Decoder, len| decoder.decode(&mut fin(TEXT, &vec![b'*'; len])).is_err();
    assert!(!over(&mut decoder, 16));
    assert!(over(&mut decoder, 17));
    decoder.set_limit(17);
    assert!(!over(&mut decoder, 17));
}

#[test]
fn bl_107_the_sum_of_the_fragments_is_capped() {
    let mut frames = vec![part(TEXT, &[b'*'; 60_000])];
    frames.push(part(CONTINUATION, &[b'*'; 60_000]));
    assert_eq!(text(&frames), [Seen::Error(1009)]);
    let mut decoder = Decoder::new(DataKind::Text, LIMIT);
    assert!(decoder.decode(&mut frames[0]).is_ok());
    assert_eq!(decoder.decode(&mut frames[1][..8]), Err(FrameError::TooBig), "judged by its header");
}

#[test]
fn bl_111_a_claimed_length_is_refused_before_anything_is_allocated() {
    let mut claim = vec![0x82, 0x80 | 127];
    claim.extend_from_slice(&(2_u64 << 30).to_be_bytes());
    let mut decoder = Decoder::new(DataKind::Binary, LIMIT);
    assert_eq!(decoder.decode(&mut claim), Err(FrameError::TooBig));
}

#[test]
fn server_frames_have_the_shortest_header_and_carry_their_payload() {
    for len in [0, 125, 126, 65_535, 65_536, 300_000] {
        let body = vec![7; len];
        let frame = super::message(DataKind::Binary, &body);
        assert_eq!(payload(&frame), body);
        let written = message_with(DataKind::Binary, |buffer| {
            buffer.extend_from_slice(&body);
            Ok::<(), FrameError>(())
        });
        assert_eq!(written.unwrap(), frame);
        assert_eq!(
            frame.len() - len,
            if len < 126 {
                2
            } else if len < 65_536 {
                4
            } else {
                10
            }
        );
    }
    assert_eq!(&pong(b"abc")[..], b"\x8A\x03abc");
    assert_eq!(&close(4408, "late")[..], b"\x88\x06\x11\x38late");
    assert_eq!(close(1000, &"é".repeat(100)).len(), 2 + 2 + 122);
}
