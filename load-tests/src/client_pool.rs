//! Thousands of WebSocket clients on one thread: epoll, one read and at most one write per
//! connection and turn. Answers pings, hands every other frame to the caller.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};

use crate::wire::{Opcode, check_upgrade, close_reason, next_frame, push_client_frame, upgrade_request};

/// Loopback addresses that connections are spread over: 28,000 ports each.
const SOURCE_ADDRESSES: usize = 16;
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
const READ_BUFFER: usize = 1024 * 1024;
/// Least room that a read is given, so that a short read means an empty socket.
const READ_MIN: usize = 128 * 1024;

/// What a turn of the pool tells its caller.
#[derive(Debug)]
pub(crate) enum Happening<'a> {
    /// The upgrade is through; queue the first command now.
    Open {
        connection: usize,
    },
    Frame(Arrival<'a>),
    /// The socket ended without [`ClientPool::drop_connection`].
    Closed {
        connection: usize,
        reason: String,
    },
}

/// One text frame.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) connection: usize,
    pub(crate) text: &'a [u8],
    /// Bytes on the wire, header included.
    pub(crate) bytes: usize,
    /// Number of the read it came with: frames of one read share it.
    pub(crate) read: u64,
    /// Nanoseconds on the pool's clock when that read returned.
    pub(crate) at: u64,
}

#[derive(Debug, Default)]
struct Connection {
    stream: Option<TcpStream>,
    open: bool,
    /// The beginning of a frame whose rest has not come.
    partial: Vec<u8>,
    outgoing: Vec<u8>,
    dirty: bool,
}

impl Connection {
    fn write(&mut self) {
        let Some(stream) = &mut self.stream else {
            self.outgoing.clear();
            return;
        };
        let mut written = 0;
        while written < self.outgoing.len() {
            match stream.write(&self.outgoing[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Not writable now: the next writable event goes on. Broken: the read side reports it.
                Err(_) => break,
            }
        }
        self.outgoing.drain(..written);
    }
}

#[derive(Debug)]
pub(crate) struct ClientPool {
    poll: Poll,
    events: Events,
    target: SocketAddr,
    connections: Vec<Connection>,
    dirty: Vec<usize>,
    buffer: Vec<u8>,
    started: Instant,
    reads: u64,
}

impl ClientPool {
    pub(crate) fn new(target: SocketAddr) -> Result<Self> {
        Ok(Self {
            poll: Poll::new().context("no epoll instance")?,
            events: Events::with_capacity(1024),
            target,
            connections: Vec::new(),
            dirty: Vec::new(),
            buffer: vec![0; READ_BUFFER],
            started: Instant::now(),
            reads: 0,
        })
    }

    /// Nanoseconds since the pool was made: the clock of payloads and arrivals.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Opens one more connection; its number counts from 0.
    ///
    /// # Errors
    /// No connection within 10 s, or no descriptor left.
    pub(crate) fn open(&mut self) -> Result<usize> {
        let number = self.connections.len();
        self.connections.push(Connection::default());
        self.reopen(number)?;
        Ok(number)
    }

    /// Opens a dropped connection again under its number.
    pub(crate) fn reopen(&mut self, number: usize) -> Result<()> {
        let mut stream = connect(self.target, number).with_context(|| {
            format!("connection {number} to {} failed (descriptors, ports or backlog may have run out)", self.target)
        })?;
        self.poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let connection = &mut self.connections[number];
        *connection = Connection { stream: Some(stream), ..Connection::default() };
        self.queue(number, upgrade_request(&self.target.to_string()).as_bytes());
        Ok(())
    }

    /// Ends a connection without a goodbye.
    pub(crate) fn drop_connection(&mut self, number: usize) {
        self.connections[number] = Connection::default();
    }

    /// Queues finished frames; they leave at the end of the turn in one write.
    pub(crate) fn queue(&mut self, number: usize, frames: &[u8]) {
        let connection = &mut self.connections[number];
        connection.outgoing.extend_from_slice(frames);
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(number);
        }
    }

    /// Writes what is queued, waits up to `wait` for the sockets, reads what came.
    pub(crate) fn turn(&mut self, wait: Duration, mut on: impl FnMut(Happening<'_>)) -> Result<()> {
        self.flush();
        match self.poll.poll(&mut self.events, Some(wait)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other.context("epoll failed")?,
        }
        for event in &self.events {
            let number = event.token().0;
            let connection = &mut self.connections[number];
            if connection.stream.is_none() {
                continue;
            }
            if event.is_writable() && !connection.outgoing.is_empty() && !connection.dirty {
                connection.dirty = true;
                self.dirty.push(number);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                let mut reading = Reading {
                    number,
                    buffer: &mut self.buffer,
                    reads: &mut self.reads,
                    started: self.started,
                    drain: event.is_read_closed() || event.is_error(),
                };
                if let Err(reason) = reading.run(connection, &mut on) {
                    *connection = Connection::default();
                    on(Happening::Closed { connection: number, reason });
                } else if !connection.outgoing.is_empty() && !connection.dirty {
                    connection.dirty = true;
                    self.dirty.push(number);
                }
            }
        }
        Ok(())
    }

    /// Writes what a connection has queued without waiting for the turn's end.
    pub(crate) fn write_now(&mut self, number: usize) {
        self.connections[number].write();
    }

    fn flush(&mut self) {
        for number in self.dirty.drain(..) {
            let connection = &mut self.connections[number];
            connection.dirty = false;
            connection.write();
        }
    }
}

/// One readable event of one connection.
struct Reading<'a> {
    number: usize,
    buffer: &'a mut [u8],
    reads: &'a mut u64,
    started: Instant,
    /// The peer has closed: read to the end.
    drain: bool,
}

impl Reading<'_> {
    /// Reads until the socket is empty; the error is why the connection is over.
    fn run(&mut self, connection: &mut Connection, on: &mut impl FnMut(Happening<'_>)) -> Result<(), String> {
        loop {
            let kept = connection.partial.len();
            let mut longer;
            let buffer = if kept + READ_MIN <= self.buffer.len() {
                &mut *self.buffer
            } else {
                longer = vec![0; kept + READ_MIN];
                longer.as_mut_slice()
            };
            buffer[..kept].copy_from_slice(&connection.partial);
            let stream = connection.stream.as_mut().ok_or("no stream")?;
            let count = match stream.read(&mut buffer[kept..]) {
                Ok(0) => return Err("closed by the server".to_owned()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.to_string()),
            };
            let whole = kept + count;
            let emptied = whole < buffer.len();
            *self.reads += 1;
            let at = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let stamp = Stamp { number: self.number, read: *self.reads, at };
            let taken = frames(&buffer[..whole], stamp, connection, on)?;
            connection.partial.clear();
            connection.partial.extend_from_slice(&buffer[taken..whole]);
            if connection.partial.is_empty() && connection.partial.capacity() > 4096 {
                connection.partial = Vec::new();
            }
            // Edge-triggered, but a short read proves the socket empty and saves a system call.
            if emptied && !self.drain {
                return Ok(());
            }
        }
    }
}

/// Which read of which connection frames came with.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    number: usize,
    read: u64,
    at: u64,
}

/// Hands over the whole frames in `bytes`; how many bytes they took.
fn frames(
    bytes: &[u8],
    stamp: Stamp,
    connection: &mut Connection,
    on: &mut impl FnMut(Happening<'_>),
) -> Result<usize, String> {
    let number = stamp.number;
    let mut taken = 0;
    if !connection.open {
        let Some(head) = check_upgrade(bytes)? else {
            return Ok(0);
        };
        taken = head;
        connection.open = true;
        on(Happening::Open { connection: number });
    }
    while let Some((frame, length)) = next_frame(&bytes[taken..]).map_err(|_| "not a WebSocket frame".to_owned())? {
        taken += length;
        match frame.opcode {
            Opcode::Text if frame.last_fragment => on(Happening::Frame(Arrival {
                connection: number,
                text: frame.payload,
                bytes: length,
                read: stamp.read,
                at: stamp.at,
            })),
            Opcode::Ping => push_client_frame(&mut connection.outgoing, Opcode::Pong, frame.payload),
            Opcode::Pong => {}
            Opcode::Close => {
                let (code, reason) = close_reason(frame.payload);
                return Err(format!("close {code} {reason}"));
            }
            Opcode::Text | Opcode::Continuation | Opcode::Binary => {
                return Err(format!("unexpected {:?} frame", frame.opcode));
            }
        }
    }
    Ok(taken)
}

fn connect(target: SocketAddr, number: usize) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(target), Type::STREAM, Some(Protocol::TCP))?;
    if target.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        let last = 1 + u8::try_from(number % SOURCE_ADDRESSES).expect("a small remainder");
        socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0)).into())?;
    }
    socket.connect_timeout(&target.into(), CONNECT_DEADLINE)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    Ok(TcpStream::from_std(socket.into()))
}
