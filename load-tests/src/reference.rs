//! The reference writer: what this machine allows a server of one thread to do. It speaks just
//! enough of Parlour's protocol for the generator, keeps no accounts and checks nothing, builds
//! each event's frame once, and gives every connection at most one write a turn.

mod commands;
mod connection;
mod room;

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Protocol, Socket, Type};

use connection::{Connection, Input};
use room::Room;

const LISTENER: Token = Token(usize::MAX);
const BACKLOG: i32 = 4096;
/// How often it looks whether the process that started it still lives.
const PARENT_CHECK: Duration = Duration::from_secs(5);
/// Sends accepted before a fault is committed.
const FAULT_AFTER: u64 = 20;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// Address to listen on
    #[arg(long)]
    listen: SocketAddr,
    /// Append every send to this file and sync it before the reply
    #[arg(long)]
    durable: Option<PathBuf>,
    /// Commit one fault on purpose, to see whether the auditor notices
    #[arg(long)]
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    DropOne,
    DoubleOne,
    SwapTwo,
}

/// Runs until the process that started it ends.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut reference = Reference::new(arguments)?;
    let parent = std::os::unix::process::parent_id();
    let mut events = Events::with_capacity(1024);
    let mut buffer = vec![0; 256 * 1024];
    while std::os::unix::process::parent_id() == parent {
        match reference.poll.poll(&mut events, Some(PARENT_CHECK)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.context("epoll failed")?,
        }
        for event in &events {
            if event.token() == LISTENER {
                reference.accept()?;
                continue;
            }
            let number = event.token().0;
            if event.is_writable() {
                reference.write(number);
            }
            if event.is_readable() || event.is_read_closed() {
                reference.read(number, &mut buffer, event.is_read_closed());
            }
        }
        reference.end_turn()?;
    }
    Ok(())
}

#[derive(Debug)]
struct Reference {
    poll: Poll,
    listener: TcpListener,
    connections: Vec<Connection>,
    free: Vec<usize>,
    rooms: Vec<Room>,
    rooms_by_id: HashMap<[u8; 36], usize>,
    /// Rooms with events of this turn.
    dirty_rooms: Vec<usize>,
    /// Connections with something queued in this turn.
    touched: Vec<usize>,
    journal: Option<File>,
    unsynced: Vec<u8>,
    fault: Option<Fault>,
    accounts: u64,
    sends: u64,
    scratch: Vec<u8>,
}

impl Reference {
    fn new(arguments: &Arguments) -> Result<Self> {
        let socket = Socket::new(Domain::for_address(arguments.listen), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&arguments.listen.into()).with_context(|| format!("{} is taken", arguments.listen))?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(socket.into());
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let journal = arguments.durable.as_ref().map(File::create).transpose().context("no durable file")?;
        Ok(Self {
            poll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            rooms: Vec::new(),
            rooms_by_id: HashMap::new(),
            dirty_rooms: Vec::new(),
            touched: Vec::new(),
            journal,
            unsynced: Vec::new(),
            fault: arguments.fault,
            accounts: 0,
            sends: 0,
            scratch: Vec::new(),
        })
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("accept failed"),
            };
            stream.set_nodelay(true)?;
            let number = self.free.pop().unwrap_or(self.connections.len());
            self.poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
            let connection = Connection::new(stream);
            match self.connections.get_mut(number) {
                Some(slot) => *slot = connection,
                None => self.connections.push(connection),
            }
        }
    }

    fn read(&mut self, number: usize, buffer: &mut Vec<u8>, closing: bool) {
        loop {
            let Some((filled, emptied)) = self.connections[number].read(buffer) else {
                return self.end(number);
            };
            if filled == 0 {
                return;
            }
            let mut taken = 0;
            while let Some((input, length)) = self.connections[number].next_input(&mut buffer[taken..filled]) {
                taken += length;
                match input {
                    Input::Answer(bytes) => self.reply(number, bytes),
                    Input::Register => self.register(number),
                    Input::Command(range) => {
                        let start = taken - length;
                        let command = &buffer[start + range.start..start + range.end];
                        self.command(number, command);
                    }
                    Input::End => return self.end(number),
                }
            }
            self.connections[number].keep(&buffer[taken..filled]);
            if emptied && !closing {
                return;
            }
        }
    }

    fn reply(&mut self, number: usize, bytes: Vec<u8>) {
        self.connections[number].push(Rc::new(bytes));
        self.touch(number);
    }

    fn touch(&mut self, number: usize) {
        if !std::mem::replace(&mut self.connections[number].touched, true) {
            self.touched.push(number);
        }
    }

    fn write(&mut self, number: usize) {
        self.connections[number].write();
    }

    /// Syncs, then gives each room's batch to its members and writes once to every touched connection.
    fn end_turn(&mut self) -> Result<()> {
        if let Some(journal) = &mut self.journal
            && !self.unsynced.is_empty()
        {
            journal.write_all(&self.unsynced)?;
            journal.sync_data()?;
            self.unsynced.clear();
        }
        for index in std::mem::take(&mut self.dirty_rooms) {
            let room = &mut self.rooms[index];
            let faulty = self.fault.filter(|_| self.sends > FAULT_AFTER).and_then(|fault| room.faulty_batch(fault));
            let batch = Rc::new(room.take_batch());
            let victim = room.members.last().copied().filter(|_| faulty.is_some());
            let faulty = faulty.map(Rc::new);
            if victim.is_some() {
                self.fault = None;
            }
            for at in 0..self.rooms[index].members.len() {
                let member = self.rooms[index].members[at];
                let bytes = match &faulty {
                    Some(faulty) if victim == Some(member) => faulty,
                    _ => &batch,
                };
                let connection = &mut self.connections[member];
                if connection.rooms.len() == 1 && connection.is_idle() {
                    connection.write_now(bytes);
                } else {
                    connection.push(Rc::clone(bytes));
                    self.touch(member);
                }
            }
        }
        for number in std::mem::take(&mut self.touched) {
            self.connections[number].touched = false;
            self.connections[number].write();
        }
        Ok(())
    }

    fn end(&mut self, number: usize) {
        for room in std::mem::take(&mut self.connections[number].rooms) {
            self.rooms[room].members.retain(|member| *member != number);
        }
        if self.connections[number].close() {
            self.free.push(number);
        }
    }
}
