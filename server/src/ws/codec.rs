//! The server side of RFC 6455 framing, without extensions.
//!
//! [`Decoder`] takes masked client frames out of a byte stream and checks all that the RFC asks of a
//! server; the encoding functions make finished, unmasked frames that any number of connections share.

use std::{borrow::Cow, cell::RefCell, str};

use bytes::{Bytes, BytesMut};
use parlour_protocol::codec::Codec;
use serde::Serialize;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;

/// Longest header of a server frame, bytes.
const MAX_HEADER: usize = 10;
/// Longest payload of a control frame, bytes.
const MAX_CONTROL: usize = 125;

/// The kind of data frame that a subprotocol uses, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataKind {
    Text,
    Binary,
}

impl DataKind {
    fn opcode(self) -> u8 {
        match self {
            Self::Text => TEXT,
            Self::Binary => BINARY,
        }
    }
}

/// What a client did that ends its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// A plain violation of RFC 6455.
    #[error("{0}")]
    Protocol(&'static str),
    /// A text frame where the subprotocol uses binary ones, or the other way round.
    #[error("wrong kind of frame for the subprotocol")]
    WrongKind,
    /// Text that is not UTF-8.
    #[error("text is not UTF-8")]
    InvalidUtf8,
    /// A message (the sum of its fragments) over the limit.
    #[error("message over the limit")]
    TooBig,
}

impl FrameError {
    /// The close code that answers this error.
    pub(crate) fn close_code(self) -> u16 {
        match self {
            Self::Protocol(_) => 1002,
            Self::WrongKind => 1003,
            Self::InvalidUtf8 => 1007,
            Self::TooBig => 1009,
        }
    }
}

/// One frame of a client, unmasked and checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// A whole message; owned when it came in fragments.
    Message(Cow<'a, [u8]>),
    /// A fragment was kept; the message is not complete.
    Fragment,
    Ping(&'a [u8]),
    Pong,
    /// The peer closes, with a code unless it gave none.
    Close(Option<u16>),
}

/// The outcome of one look at the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded<'a> {
    /// The input does not hold a whole frame; nothing was consumed.
    Incomplete,
    /// One frame, `len` bytes of input long.
    Frame { len: usize, frame: Frame<'a> },
}

/// Takes frames out of the bytes of one client. Holds nothing but the fragments of an unfinished message.
#[derive(Debug)]
pub(crate) struct Decoder {
    kind: DataKind,
    limit: usize,
    fragments: Option<Box<Fragments>>,
}

#[derive(Debug)]
struct Fragments {
    data: Vec<u8>,
    /// Bytes of `data` known to be UTF-8.
    checked: usize,
}

struct Header {
    last: bool,
    opcode: u8,
    /// Bytes of the header itself, mask included.
    len: usize,
    payload: usize,
    mask: [u8; 4],
}

impl Decoder {
    /// A decoder for messages of `kind` of at most `limit` bytes.
    pub(crate) fn new(kind: DataKind, limit: usize) -> Self {
        Self { kind, limit, fragments: None }
    }

    /// Sets the longest message, fragments together, in bytes.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Looks at the start of `input` for one frame and unmasks it in place.
    ///
    /// Headers are judged before their payload has arrived, so a claimed length costs nothing.
    pub(crate) fn decode<'a>(&mut self, input: &'a mut [u8]) -> Result<Decoded<'a>, FrameError> {
        let Some(header) = self.header(input)? else {
            return Ok(Decoded::Incomplete);
        };
        let len = header.len + header.payload;
        if input.len() < len {
            return Ok(Decoded::Incomplete);
        }
        let payload = &mut input[header.len..len];
        unmask(payload, header.mask);
        let payload = &*payload;
        let frame = match header.opcode {
            PING => Frame::Ping(payload),
            PONG => Frame::Pong,
            CLOSE => Frame::Close(close_code(payload)?),
            _ => self.data(&header, payload)?,
        };
        Ok(Decoded::Frame { len, frame })
    }

    fn header(&self, input: &[u8]) -> Result<Option<Header>, FrameError> {
        let [first, second, ..] = *input else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(FrameError::Protocol("reserved bits are set"));
        }
        if second & 0x80 == 0 {
            return Err(FrameError::Protocol("client frames are masked"));
        }
        let (last, opcode) = (first & 0x80 != 0, first & 0x0F);
        match (opcode, &self.fragments) {
            (TEXT | BINARY, Some(_)) => {
                return Err(FrameError::Protocol("a new message inside a fragmented one"));
            }
            (CONTINUATION, None) => {
                return Err(FrameError::Protocol("a continuation of nothing"));
            }
            (TEXT | BINARY, None) if opcode != self.kind.opcode() => {
                return Err(FrameError::WrongKind);
            }
            (TEXT | BINARY | CONTINUATION, _) => {}
            (CLOSE | PING | PONG, _) if !last => {
                return Err(FrameError::Protocol("a fragmented control frame"));
            }
            (CLOSE | PING | PONG, _) if usize::from(second & 0x7F) > MAX_CONTROL => {
                return Err(FrameError::Protocol("a control frame over 125 bytes"));
            }
            (CLOSE | PING | PONG, _) => {}
            _ => return Err(FrameError::Protocol("unknown opcode")),
        }
        let (claimed, len) = match second & 0x7F {
            126 => {
                let Some(bytes) = input.get(2..4) else {
                    return Ok(None);
                };
                (u64::from(u16::from_be_bytes(array(bytes))), 4)
            }
            127 => {
                let Some(bytes) = input.get(2..10) else {
                    return Ok(None);
                };
                (u64::from_be_bytes(array(bytes)), 10)
            }
            short => (u64::from(short), 2),
        };
        if (len == 4 && claimed < 126) || (len == 10 && claimed <= 0xFFFF) || claimed >> 63 != 0 {
            return Err(FrameError::Protocol("a length not in its shortest form"));
        }
        let held = match (&self.fragments, opcode) {
            (Some(fragments), CONTINUATION) => fragments.data.len(),
            _ => 0,
        };
        let payload = usize::try_from(claimed).unwrap_or(usize::MAX);
        if payload > self.limit.saturating_sub(held) && opcode < CLOSE {
            return Err(FrameError::TooBig);
        }
        let Some(mask) = input.get(len..len + 4) else {
            return Ok(None);
        };
        Ok(Some(Header { last, opcode, len: len + 4, payload, mask: array(mask) }))
    }

    fn data<'a>(&mut self, header: &Header, payload: &'a [u8]) -> Result<Frame<'a>, FrameError> {
        if header.opcode != CONTINUATION && header.last {
            if self.kind == DataKind::Text {
                str::from_utf8(payload).map_err(|_| FrameError::InvalidUtf8)?;
            }
            return Ok(Frame::Message(Cow::Borrowed(payload)));
        }
        let mut fragments =
            self.fragments.take().unwrap_or_else(|| Box::new(Fragments { data: Vec::new(), checked: 0 }));
        fragments.data.extend_from_slice(payload);
        if self.kind == DataKind::Text {
            fragments.check_utf8(header.last)?;
        }
        if header.last {
            return Ok(Frame::Message(Cow::Owned(fragments.data)));
        }
        self.fragments = Some(fragments);
        Ok(Frame::Fragment)
    }
}

impl Fragments {
    /// Checks what has come so far; only the last fragment must end on a whole character.
    fn check_utf8(&mut self, last: bool) -> Result<(), FrameError> {
        match str::from_utf8(&self.data[self.checked..]) {
            Ok(_) => self.checked = self.data.len(),
            Err(error) if error.error_len().is_none() && !last => {
                self.checked += error.valid_up_to();
            }
            Err(_) => return Err(FrameError::InvalidUtf8),
        }
        Ok(())
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut chunks = payload.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let word = u64::from_ne_bytes(array(chunk)) ^ wide;
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
    for (byte, mask) in chunks.into_remainder().iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

fn close_code(payload: &[u8]) -> Result<Option<u16>, FrameError> {
    match payload {
        [] => Ok(None),
        [_] => Err(FrameError::Protocol("half a close code")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
                return Err(FrameError::Protocol("a close code that may not be sent"));
            }
            str::from_utf8(reason).map_err(|_| FrameError::InvalidUtf8)?;
            Ok(Some(code))
        }
    }
}

/// A finished data frame.
pub(crate) fn message(kind: DataKind, payload: &[u8]) -> Bytes {
    frame(kind.opcode(), payload)
}

/// A finished data frame whose payload `write` appends to the buffer it is given.
///
/// # Errors
/// Whatever `write` fails with.
pub(crate) fn message_with<E>(kind: DataKind, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Bytes, E> {
    thread_local! {
        static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    /// Above this a grown buffer is given back, bytes.
    const KEEP: usize = 64 * 1024;

    // Taken, not borrowed: `write` may itself make a frame.
    let mut scratch = SCRATCH.take();
    scratch.clear();
    scratch.resize(MAX_HEADER, 0);
    write(&mut scratch)?;
    let (header, len) = header(kind.opcode(), scratch.len() - MAX_HEADER);
    let start = MAX_HEADER - len;
    scratch[start..MAX_HEADER].copy_from_slice(&header[..len]);
    let frame = Bytes::copy_from_slice(&scratch[start..]);
    if scratch.capacity() <= KEEP {
        SCRATCH.set(scratch);
    }
    Ok(frame)
}

/// The kind of data frame that carries a codec.
pub(crate) const fn data_kind(codec: Codec) -> DataKind {
    match codec {
        Codec::Json => DataKind::Text,
        Codec::MessagePack => DataKind::Binary,
    }
}

/// A finished frame of the protocol.
///
/// # Panics
/// Never: the protocol's frames have text keys and no floats.
pub(crate) fn encode<T: Serialize + ?Sized>(codec: Codec, frame: &T) -> Bytes {
    match codec {
        Codec::Json => message_with(DataKind::Text, |buffer| serde_json::to_writer(buffer, frame))
            .expect("a frame of the protocol encodes"),
        Codec::MessagePack => message_with(DataKind::Binary, |buffer| rmp_serde::encode::write_named(buffer, frame))
            .expect("a frame of the protocol encodes"),
    }
}

/// The header of a data frame whose payload is `len` bytes long, and the header's own length.
pub(crate) fn data_header(kind: DataKind, len: usize) -> ([u8; MAX_HEADER], usize) {
    header(kind.opcode(), len)
}

/// The payload of a frame made here.
pub(crate) fn payload(frame: &[u8]) -> &[u8] {
    let header = match frame.get(1) {
        Some(126) => 4,
        Some(127) => 10,
        _ => 2,
    };
    &frame[header..]
}

/// A ping without payload.
pub(crate) const EMPTY_PING: Bytes = Bytes::from_static(&[0x80 | PING, 0]);

/// The answer to a ping; `payload` is at most 125 bytes.
pub(crate) fn pong(payload: &[u8]) -> Bytes {
    frame(PONG, &payload[..payload.len().min(MAX_CONTROL)])
}

/// A close frame; `reason` is cut at 123 bytes.
pub(crate) fn close(code: u16, reason: &str) -> Bytes {
    let mut end = reason.len().min(MAX_CONTROL - 2);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut payload = Vec::with_capacity(2 + end);
    payload.extend_from_slice(&code.to_be_bytes());
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    frame(CLOSE, &payload)
}

fn frame(opcode: u8, payload: &[u8]) -> Bytes {
    let (header, len) = header(opcode, payload.len());
    let mut frame = BytesMut::with_capacity(len + payload.len());
    frame.extend_from_slice(&header[..len]);
    frame.extend_from_slice(payload);
    frame.freeze()
}

fn header(opcode: u8, payload: usize) -> ([u8; MAX_HEADER], usize) {
    let mut header = [0; MAX_HEADER];
    header[0] = 0x80 | opcode;
    let len = match payload {
        0..=125 => {
            header[1] = payload.to_le_bytes()[0];
            2
        }
        126..=0xFFFF => {
            header[1] = 126;
            header[2..4].copy_from_slice(&payload.to_be_bytes()[size_of::<usize>() - 2..]);
            4
        }
        _ => {
            header[1] = 127;
            header[2..10].copy_from_slice(&(payload as u64).to_be_bytes());
            10
        }
    };
    (header, len)
}

// By path, so that the benchmark can include this file alone.
#[cfg(test)]
#[path = "codec/fuzz.rs"]
mod fuzz;
#[cfg(test)]
#[path = "codec/tests.rs"]
mod tests;
