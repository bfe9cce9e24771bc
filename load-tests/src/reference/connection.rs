//! One client of the reference writer: handshake, input frames, the queue of shared bytes to write.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::ops::Range;
use std::rc::Rc;

use mio::net::TcpStream;

use crate::wire::{Opcode, accept_value, header, http_head, next_frame, push_server_frame, unmask};

/// Slices of one vectored write.
const SLICES: usize = 64;

/// What the client's bytes ask for.
#[derive(Debug)]
pub(super) enum Input {
    /// Send this back: handshake, pong, plain HTTP.
    Answer(Vec<u8>),
    /// `POST /v1/auth/register`.
    Register,
    /// A command's JSON, as a range of the bytes taken.
    Command(Range<usize>),
    End,
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: Option<TcpStream>,
    upgraded: bool,
    partial: Vec<u8>,
    queue: VecDeque<Chunk>,
    pub(super) rooms: Vec<usize>,
    pub(super) user: u64,
    pub(super) subscriptions: u64,
    pub(super) touched: bool,
}

#[derive(Debug)]
struct Chunk {
    bytes: Rc<Vec<u8>>,
    written: usize,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream: Some(stream),
            upgraded: false,
            partial: Vec::new(),
            queue: VecDeque::new(),
            rooms: Vec::new(),
            user: 0,
            subscriptions: 0,
            touched: false,
        }
    }

    /// Ends it; whether it was open until now.
    pub(super) fn close(&mut self) -> bool {
        self.queue.clear();
        self.partial = Vec::new();
        self.stream.take().is_some()
    }

    /// Fills `buffer` with what was kept and what one read brings: how much there is and whether the
    /// socket is empty now. `None` at the end of the stream.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Option<(usize, bool)> {
        let kept = self.partial.len();
        if buffer.len() < kept + 64 * 1024 {
            buffer.resize(kept + 64 * 1024, 0);
        }
        buffer[..kept].copy_from_slice(&self.partial);
        loop {
            match self.stream.as_mut()?.read(&mut buffer[kept..]) {
                Ok(0) => return None,
                Ok(count) => {
                    self.partial.clear();
                    return Some((kept + count, kept + count < buffer.len()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some((0, true)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Keeps the start of an input whose rest has not come.
    pub(super) fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(rest);
        }
    }

    /// The next whole input in `bytes` and how much of them it took.
    pub(super) fn next_input(&mut self, bytes: &mut [u8]) -> Option<(Input, usize)> {
        if !self.upgraded {
            return self.next_request(bytes);
        }
        let (opcode, mask, range, taken) = match next_frame(bytes) {
            Ok(None) => return None,
            Ok(Some((frame, taken))) => {
                let start = taken - frame.payload.len();
                (frame.opcode, frame.mask, start..taken, taken)
            }
            Err(_) => return Some((Input::End, 0)),
        };
        let Some(mask) = mask else {
            return Some((Input::End, taken));
        };
        unmask(&mut bytes[range.clone()], mask);
        let input = match opcode {
            Opcode::Text => Input::Command(range),
            Opcode::Ping => {
                let mut pong = Vec::new();
                push_server_frame(&mut pong, Opcode::Pong, &bytes[range]);
                Input::Answer(pong)
            }
            Opcode::Pong => Input::Answer(Vec::new()),
            Opcode::Close | Opcode::Binary | Opcode::Continuation => Input::End,
        };
        Some((input, taken))
    }

    fn next_request(&mut self, bytes: &[u8]) -> Option<(Input, usize)> {
        let length = match http_head(bytes) {
            Ok(found) => found?,
            Err(_) => return Some((Input::End, 0)),
        };
        let head = String::from_utf8_lossy(&bytes[..length]);
        if let Some(key) = header(&head, "sec-websocket-key") {
            self.upgraded = true;
            let accept = accept_value(key);
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            return Some((Input::Answer(answer.into_bytes()), length));
        }
        let body: usize = header(&head, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        if bytes.len() < length + body {
            return None;
        }
        let input = if head.starts_with("POST /v1/auth/register ") {
            Input::Register
        } else {
            Input::Answer(http_answer("200 OK", "{}"))
        };
        Some((input, length + body))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn push(&mut self, bytes: Rc<Vec<u8>>) {
        self.queue.push_back(Chunk { bytes, written: 0 });
    }

    /// Writes shared bytes at once; what the socket does not take is queued.
    pub(super) fn write_now(&mut self, bytes: &Rc<Vec<u8>>) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let written = stream.write(bytes).unwrap_or(0);
        if written < bytes.len() {
            self.queue.push_back(Chunk { bytes: Rc::clone(bytes), written });
        }
    }

    /// One write of everything queued (more only when it is over 64 slices).
    pub(super) fn write(&mut self) {
        while !self.queue.is_empty() {
            match self.write_slices() {
                Ok(true) => {}
                // Full: the next writable event goes on. Broken: the read side finds out.
                Ok(false) | Err(_) => return,
            }
        }
    }

    fn write_slices(&mut self) -> io::Result<bool> {
        let Some(stream) = &mut self.stream else {
            return Ok(false);
        };
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut wanted = 0;
        let count = self.queue.len().min(SLICES);
        for (slice, chunk) in slices.iter_mut().zip(&self.queue) {
            *slice = IoSlice::new(&chunk.bytes[chunk.written..]);
            wanted += slice.len();
        }
        let mut written = if let [only] = &slices[..count] {
            stream.write(only)?
        } else {
            stream.write_vectored(&slices[..count])?
        };
        let whole = written == wanted;
        while let Some(chunk) = self.queue.front_mut() {
            let left = chunk.bytes.len() - chunk.written;
            if written < left {
                chunk.written += written;
                break;
            }
            written -= left;
            self.queue.pop_front();
        }
        Ok(whole)
    }
}

/// A plain HTTP answer with a JSON body.
pub(super) fn http_answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}
