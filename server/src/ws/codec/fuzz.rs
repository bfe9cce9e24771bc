//! The decoder against tungstenite's: the same messages from any stream of bytes, or an error from both.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use tokio_tungstenite::tungstenite::{
    Error, Message,
    protocol::{Role, WebSocket, WebSocketConfig},
};

use super::{tests::raw, *};

const LIMIT: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Message(Vec<u8>),
    Ping(Vec<u8>),
    Pong,
    Close,
}

/// How a stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Input,
    Refused,
    Closed,
}

fn ours(kind: DataKind, stream: &[u8], splits: &[usize]) -> (Vec<Seen>, End, Option<FrameError>) {
    let mut decoder = Decoder::new(kind, LIMIT);
    let (mut held, mut seen, mut rest) = (Vec::new(), Vec::new(), stream);
    let mut splits = splits.iter().cycle();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at((*splits.next().unwrap()).clamp(1, rest.len()));
        rest = after;
        held.extend_from_slice(chunk);
        loop {
            let taken = match decoder.decode(&mut held) {
                Ok(Decoded::Incomplete) => break,
                Ok(Decoded::Frame { len, frame }) => {
                    match frame {
                        Frame::Message(message) => seen.push(Seen::Message(message.into_owned())),
                        Frame::Fragment => {}
                        Frame::Ping(payload) => seen.push(Seen::Ping(payload.to_vec())),
                        Frame::Pong => seen.push(Seen::Pong),
                        Frame::Close(_) => {
                            seen.push(Seen::Close);
                            return (seen, End::Closed, None);
                        }
                    }
                    len
                }
                Err(error) => return (seen, End::Refused, Some(error)),
            };
            held.drain(..taken);
        }
    }
    (seen, End::Input, None)
}

struct Replay<'a>(&'a [u8]);

impl Read for Replay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.0.read(buffer)
    }
}

impl Write for Replay<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn theirs(kind: DataKind, stream: &[u8]) -> (Vec<Seen>, End) {
    let config = WebSocketConfig::default().max_message_size(Some(LIMIT)).max_frame_size(Some(LIMIT));
    let mut socket = WebSocket::from_raw_socket(Replay(stream), Role::Server, Some(config));
    let mut seen = Vec::new();
    loop {
        let message = match socket.read() {
            Ok(message) => message,
            Err(Error::Io(_)) => return (seen, End::Input),
            Err(_) => return (seen, End::Refused),
        };
        match (message, kind) {
            (Message::Text(text), DataKind::Text) => seen.push(Seen::Message(text.as_bytes().to_vec())),
            (Message::Binary(bytes), DataKind::Binary) => seen.push(Seen::Message(bytes.to_vec())),
            (Message::Text(_) | Message::Binary(_), _) => return (seen, End::Refused),
            (Message::Ping(payload), _) => seen.push(Seen::Ping(payload.to_vec())),
            (Message::Pong(_), _) => seen.push(Seen::Pong),
            (Message::Close(_), _) => {
                seen.push(Seen::Close);
                return (seen, End::Closed);
            }
            (Message::Frame(_), _) => unreachable!("raw frames are not read"),
        }
    }
}

/// Where the decoder is stricter than the oracle, or judges earlier: the oracle accepts lengths in a long
/// form, forbidden close codes (which it answers with 1002), the other kind of data until the message is
/// whole, and waits for a whole frame before most of its checks.
fn agree(kind: DataKind, stream: &[u8], splits: &[usize]) -> Result<(), TestCaseError> {
    let (mine, my_end, error) = ours(kind, stream, splits);
    let (other, other_end) = theirs(kind, stream);
    match error {
        None => {
            prop_assert_eq!(&mine, &other);
            prop_assert_eq!(&my_end, &other_end);
        }
        Some(error) => {
            prop_assert!(other.starts_with(&mine), "{:?} is no start of {:?}", mine, other);
            if other_end != End::Refused {
                let stricter = matches!(
                    error,
                    FrameError::WrongKind
                        | FrameError::Protocol(
                            "a length not in its shortest form" | "a close code that may not be sent"
                        )
                );
                let earlier = other == mine && other_end == End::Input;
                prop_assert!(stricter || earlier, "only ours refused: {:?}", error);
            }
        }
    }
    Ok(())
}

fn frames() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "[a-z]{0,200}".prop_map(String::into_bytes),
        "\\PC{0,60}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..60),
        (0..LIMIT + 50).prop_map(|len| vec![b'x'; len]),
    ];
    let first = prop_oneof![
        8 => prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8A]),
        1 => Just(0x88_u8),
        1 => any::<u8>(),
    ];
    prop::collection::vec((first, text), 1..12)
        .prop_map(|frames| frames.iter().flat_map(|(first, payload)| raw(*first, payload)).collect())
}

/// Whole text messages in random fragments with control frames between them: mostly valid streams.
fn fragmented() -> impl Strategy<Value = Vec<u8>> {
    let message = ("\\PC{0,80}", prop::collection::vec((1_usize..30, any::<bool>()), 1..6));
    prop::collection::vec(message, 1..6).prop_map(|messages| {
        let mut stream = Vec::new();
        for (text, cuts) in messages {
            let mut rest = text.as_bytes();
            let mut opcode = TEXT;
            for (cut, ping) in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                stream.extend(raw(opcode, piece));
                if ping {
                    stream.extend(raw(0x80 | PING, piece));
                }
                (opcode, rest) = (CONTINUATION, after);
            }
            stream.extend(raw(0x80 | opcode, rest));
        }
        stream
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_frames_read_as_tungstenite_reads_them(
        stream in frames(),
        splits in prop::collection::vec(1_usize..700, 1..8),
        binary in any::<bool>(),
    ) {
        let kind = if binary { DataKind::Binary } else { DataKind::Text };
        agree(kind, &stream, &splits)?;
    }

    #[test]
    fn mutated_streams_read_as_tungstenite_reads_them(
        mut stream in fragmented(),
        splits in prop::collection::vec(1_usize..50, 1..8),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        for (at, byte) in mutations {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        if !whole {
            stream.truncate(cut.index(stream.len()) + 1);
        }
        agree(DataKind::Text, &stream, &splits)?;
    }
}
