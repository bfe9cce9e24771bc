//! The reading half: bytes to whole messages, with the rate limit of one connection.

use std::{
    cell::RefCell,
    io,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use parlour_protocol::{close::CloseCode, codec::Codec};
use tokio::{io::Interest, net::TcpStream};

use super::{Connection, ConnectionLimits};
use crate::ws::codec::{self, Decoded, Decoder, Frame};

/// Bytes taken from the kernel at once, into a buffer of the thread.
const READ_BUFFER: usize = 64 * 1024;
/// Reads before other tasks get their turn.
const READS_PER_TURN: usize = 8;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What the connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Waits for input.
    Read,
    /// Waits until commands in flight or queued output shrink.
    Stalled,
    /// Ends: the peer closed, failed, or was told to go.
    End,
}

#[derive(Debug)]
pub(super) struct Reader {
    decoder: Decoder,
    /// The start of a frame whose rest has not come, or frames not yet begun; else empty.
    held: Vec<u8>,
    frame_bytes: usize,
    greeted: bool,
    bucket: Bucket,
}

impl Reader {
    pub(super) fn new(codec: Codec, limits: &ConnectionLimits, early: Bytes) -> Self {
        Self {
            decoder: Decoder::new(codec::data_kind(codec), limits.pre_hello_frame_bytes),
            held: early.into(),
            frame_bytes: limits.frame_bytes,
            greeted: false,
            bucket: Bucket { tokens: limits.frame_burst, filled: 0 },
        }
    }

    /// Reads what the socket has.
    pub(super) fn read(&mut self, connection: &Arc<Connection>, handle: &impl Fn(&Arc<Connection>, &[u8])) -> Flow {
        // Taken, not borrowed: a handler that reads on this thread gets a buffer of its own.
        let mut buffer = BUFFER.take();
        buffer.resize(READ_BUFFER, 0);
        let mut flow = Flow::Read;
        for _ in 0..READS_PER_TURN {
            let read = match read_some(&connection.socket, &mut buffer) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(_) => {
                    flow = Flow::End;
                    break;
                }
            };
            connection.heard.store(connection.context.pulse.now(), Ordering::Relaxed);
            flow = self.take(connection, &mut buffer[..read], handle);
            if flow != Flow::Read || read < READ_BUFFER {
                break;
            }
        }
        BUFFER.set(buffer);
        flow
    }

    /// Goes on with what is held.
    pub(super) fn resume(&mut self, connection: &Arc<Connection>, handle: &impl Fn(&Arc<Connection>, &[u8])) -> Flow {
        let mut held = std::mem::take(&mut self.held);
        self.handle_frames(connection, &mut held, handle)
    }

    fn take(
        &mut self,
        connection: &Arc<Connection>,
        input: &mut [u8],
        handle: &impl Fn(&Arc<Connection>, &[u8]),
    ) -> Flow {
        if self.held.is_empty() {
            return self.handle_frames(connection, input, handle);
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(input);
        self.handle_frames(connection, &mut held, handle)
    }

    /// Handles whole frames and holds the rest.
    fn handle_frames(
        &mut self,
        connection: &Arc<Connection>,
        mut input: &mut [u8],
        handle: &impl Fn(&Arc<Connection>, &[u8]),
    ) -> Flow {
        loop {
            if !connection.takes_commands() {
                // Marked first and looked at again: what ended in between has seen the mark or is seen here.
                connection.stalled.store(true, Ordering::SeqCst);
                if !connection.takes_commands() {
                    self.held = input.to_vec();
                    return Flow::Stalled;
                }
            }
            connection.stalled.store(false, Ordering::Relaxed);
            if !self.greeted && connection.said_hello() {
                self.greeted = true;
                self.decoder.set_limit(self.frame_bytes);
            }
            let (len, frame) = match self.decoder.decode(input) {
                Ok(Decoded::Incomplete) => {
                    self.held = input.to_vec();
                    return Flow::Read;
                }
                Ok(Decoded::Frame { len, frame }) => (len, frame),
                Err(error) => {
                    connection.close_with(error.close_code(), &error.to_string(), &[]);
                    return Flow::End;
                }
            };
            connection.context.metrics.frames.inc();
            if let Err(TooFast { wait_ms }) = self.bucket.take(connection) {
                connection.close(CloseCode::TooMany, &format!("retryAfterMs={wait_ms}"));
                return Flow::End;
            }
            match frame {
                Frame::Message(message) => handle(connection, &message),
                Frame::Fragment | Frame::Pong => {}
                Frame::Ping(payload) => {
                    connection.send(super::Lane::Reply, &codec::pong(payload));
                }
                Frame::Close(code) => {
                    connection.close_with(code.unwrap_or(1000), "", &[]);
                    return Flow::End;
                }
            }
            input = &mut input[len..];
            if input.is_empty() {
                return Flow::Read;
            }
        }
    }
}

/// Reads once; none when there is nothing to read.
fn read_some(socket: &TcpStream, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let mut short = None;
    let read = socket.try_io(Interest::READABLE, || match socket.try_read(buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        // Less than there was room for: the kernel has no more. Saying so spares the call that would
        // only learn that, and an event that came in between is still seen.
        Ok(read) if read < buffer.len() => {
            short = Some(read);
            Err(io::ErrorKind::WouldBlock.into())
        }
        read => read,
    });
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(short),
        Err(error) => Err(error),
    }
}

/// A token bucket on the coarse clock.
#[derive(Debug)]
struct Bucket {
    tokens: u32,
    filled: u32,
}

struct TooFast {
    wait_ms: u64,
}

impl Bucket {
    fn take(&mut self, connection: &Connection) -> Result<(), TooFast> {
        let limits = &connection.context.limits;
        if limits.frames_per_second == 0 {
            return Ok(());
        }
        let pulse = &connection.context.pulse;
        let now = pulse.now();
        let passed = pulse.millis(now.wrapping_sub(self.filled));
        let gained = passed.saturating_mul(u64::from(limits.frames_per_second)) / 1000;
        if gained > 0 {
            self.filled = now;
            let full = u64::from(limits.frame_burst);
            self.tokens = u32::try_from(full.min(u64::from(self.tokens) + gained)).unwrap_or(u32::MAX);
        }
        self.tokens = self
            .tokens
            .checked_sub(1)
            .ok_or(TooFast { wait_ms: u64::from(limits.frame_burst) * 1000 / u64::from(limits.frames_per_second) })?;
        Ok(())
    }
}
