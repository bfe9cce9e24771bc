//! WebSocket frames and the opening handshake, both sides, as cheap as a generator needs them.
//! Knows nothing of Parlour's commands and events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

const HANDSHAKE_GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Longest HTTP head either side accepts.
const HEAD_LIMIT: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }
}

/// One frame inside a read buffer; `payload` is as it came, still masked where `mask` is set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: Opcode,
    pub(crate) last_fragment: bool,
    pub(crate) mask: Option<[u8; 4]>,
    pub(crate) payload: &'a [u8],
}

/// The bytes are no frame that Parlour's protocol allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotAFrame;

/// Takes the first frame of `buffer`: the frame and how many bytes it took, or `None` when it is not whole yet.
#[inline]
pub(crate) fn next_frame(buffer: &[u8]) -> Result<Option<(Frame<'_>, usize)>, NotAFrame> {
    let [first, second, rest @ ..] = buffer else {
        return Ok(None);
    };
    if first & 0x70 != 0 {
        return Err(NotAFrame);
    }
    let opcode = Opcode::from_bits(first & 0x0f).ok_or(NotAFrame)?;
    let (length, mut head) = match second & 0x7f {
        126 => match rest.first_chunk::<2>() {
            Some(bytes) => (usize::from(u16::from_be_bytes(*bytes)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(bytes) => (usize::try_from(u64::from_be_bytes(*bytes)).map_err(|_| NotAFrame)?, 10),
            None => return Ok(None),
        },
        short => (usize::from(short), 2),
    };
    let mut mask = None;
    if second & 0x80 != 0 {
        let Some(key) = buffer.get(head..).and_then(|bytes| bytes.first_chunk::<4>()) else {
            return Ok(None);
        };
        mask = Some(*key);
        head += 4;
    }
    let end = head.checked_add(length).ok_or(NotAFrame)?;
    let Some(payload) = buffer.get(head..end) else {
        return Ok(None);
    };
    Ok(Some((Frame { opcode, last_fragment: first & 0x80 != 0, mask, payload }, end)))
}

/// Appends a client's frame. The masking key is zero, which is legal and leaves the payload readable.
pub(crate) fn push_client_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    push_head(out, opcode, payload.len(), 0x80);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
}

/// Appends a server's frame (never masked).
pub(crate) fn push_server_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    push_head(out, opcode, payload.len(), 0);
    out.extend_from_slice(payload);
}

/// Appends the head of a server's text frame whose `length` bytes of payload follow.
pub(crate) fn push_server_text_head(out: &mut Vec<u8>, length: usize) {
    push_head(out, Opcode::Text, length, 0);
}

fn push_head(out: &mut Vec<u8>, opcode: Opcode, length: usize, mask_bit: u8) {
    out.push(0x80 | opcode.bits());
    if let Ok(short @ 0..=125) = u8::try_from(length) {
        out.push(mask_bit | short);
    } else if let Ok(medium) = u16::try_from(length) {
        out.push(mask_bit | 126);
        out.extend_from_slice(&medium.to_be_bytes());
    } else {
        out.push(mask_bit | 127);
        out.extend_from_slice(&(length as u64).to_be_bytes());
    }
}

/// Undoes (or applies) a mask in place.
pub(crate) fn unmask(payload: &mut [u8], key: [u8; 4]) {
    if key == [0; 4] {
        return;
    }
    for (byte, key) in payload.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// Code and reason of a close frame's payload; 1005 when it has none.
pub(crate) fn close_reason(payload: &[u8]) -> (u16, String) {
    match payload {
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), String::from_utf8_lossy(reason).into_owned()),
        _ => (1005, String::new()),
    }
}

/// The key every client of the generator sends: it need not be secret here.
pub(crate) const CLIENT_KEY: &str = "cGFybG91ci1sb2FkLWtleQ==";

/// The request that opens a socket.
pub(crate) fn upgrade_request(host: &str) -> String {
    format!(
        "GET /v1/ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {CLIENT_KEY}\r\n\r\n"
    )
}

/// The answer a server must give to `key` in `Sec-WebSocket-Accept`.
pub(crate) fn accept_value(key: &str) -> String {
    let digest = Sha1::new().chain_update(key).chain_update(HANDSHAKE_GUID).finalize();
    STANDARD.encode(digest)
}

/// Length of the HTTP head at the start of `buffer`, `None` when it is not whole yet.
pub(crate) fn http_head(buffer: &[u8]) -> Result<Option<usize>, String> {
    match memchr::memmem::find(buffer, b"\r\n\r\n") {
        Some(at) => Ok(Some(at + 4)),
        None if buffer.len() > HEAD_LIMIT => Err("HTTP head over 16 KiB".to_owned()),
        None => Ok(None),
    }
}

/// Value of a header in an HTTP head, by case-insensitive name.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Checks the answer to [`upgrade_request`]; the length of its head once it is whole.
pub(crate) fn check_upgrade(buffer: &[u8]) -> Result<Option<usize>, String> {
    let Some(length) = http_head(buffer)? else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&buffer[..length]);
    let status = head.lines().next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 101") {
        return Err(format!("upgrade refused: {status}"));
    }
    if header(&head, "sec-websocket-accept") != Some(accept_value(CLIENT_KEY).as_str()) {
        return Err("upgrade answered with a wrong Sec-WebSocket-Accept".to_owned());
    }
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_value_is_the_one_of_rfc_6455() {
        assert_eq!(accept_value("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn frames_of_every_length_class_round_trip() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 200_000] {
            let payload = vec![b'x'; length];
            let mut bytes = Vec::new();
            push_server_frame(&mut bytes, Opcode::Text, &payload);
            let whole = bytes.len();
            bytes.push(0x81);
            let (frame, taken) = next_frame(&bytes).unwrap().unwrap();
            assert_eq!((frame.opcode, frame.payload.len(), taken), (Opcode::Text, length, whole));
            assert!(frame.last_fragment && frame.mask.is_none());
        }
    }

    #[test]
    fn a_frame_cut_anywhere_is_not_whole() {
        let mut bytes = Vec::new();
        push_client_frame(&mut bytes, Opcode::Text, &[b'y'; 300]);
        for cut in 0..bytes.len() {
            assert_eq!(next_frame(&bytes[..cut]), Ok(None), "cut at {cut}");
        }
        let (frame, _) = next_frame(&bytes).unwrap().unwrap();
        assert_eq!(frame.mask, Some([0; 4]));
    }

    #[test]
    fn reserved_bits_and_opcodes_are_refused() {
        assert_eq!(next_frame(&[0xc1, 0]), Err(NotAFrame));
        assert_eq!(next_frame(&[0x83, 0]), Err(NotAFrame));
    }

    #[test]
    fn masking_twice_gives_the_payload_back() {
        let mut payload = *b"hello there";
        unmask(&mut payload, [1, 2, 3, 4]);
        assert_ne!(&payload, b"hello there");
        unmask(&mut payload, [1, 2, 3, 4]);
        assert_eq!(&payload, b"hello there");
    }

    #[test]
    fn an_upgrade_is_checked_before_it_is_believed() {
        let accept = accept_value(CLIENT_KEY);
        let good = format!("HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: {accept}\r\n\r\nrest");
        assert_eq!(check_upgrade(good.as_bytes()), Ok(Some(good.len() - 4)));
        assert_eq!(check_upgrade(&good.as_bytes()[..20]), Ok(None));
        assert!(check_upgrade(b"HTTP/1.1 429 Too Many Requests\r\n\r\n").is_err());
        assert!(check_upgrade(b"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: no\r\n\r\n").is_err());
    }

    #[test]
    fn close_frames_tell_code_and_reason() {
        assert_eq!(close_reason(&[0x11, 0x4d, b'n', b'o']), (4429, "no".to_owned()));
        assert_eq!(close_reason(&[]).0, 1005);
    }
}
