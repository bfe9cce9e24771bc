//! Live delivery: publishers send, every member of the room receives. Flat out with a window of
//! messages that not all members have yet, or paced.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Pace;
use crate::measure::{Mark, Measured};
use crate::server_process::ServerProcess;
use crate::stage::{CONNECT_BURST, Client, Stage};
use crate::venue::Accounts;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rooms: usize,
    /// Receiving connections, spread evenly over the rooms.
    pub(crate) connections: usize,
    pub(crate) rooms_each: usize,
    pub(crate) publishers: usize,
    pub(crate) flow: Flow,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow {
    /// At most so many messages that some member lacks, at most `per_room` of them in one room.
    Window {
        messages: usize,
        per_room: usize,
    },
    Paced {
        per_second: f64,
    },
}

impl Shape {
    pub(crate) fn rooms_of(&self, member: usize) -> Vec<usize> {
        let step = self.rooms / self.rooms_each;
        (0..self.rooms_each).map(|index| (member + index * step) % self.rooms).collect()
    }
}

pub(crate) fn run(shape: Shape, server: &mut ServerProcess, accounts: &Accounts, pace: Pace) -> Result<Measured> {
    let mut stage = set(shape, server, accounts)?;
    stage.bring_up(0..shape.publishers + shape.connections, CONNECT_BURST)?;
    let mut pump = Pump::new(shape);

    let mut from = Mark::now(server)?;
    let mut end = Instant::now() + pace.warm_up;
    let mut warm = false;
    let measured = loop {
        let wait = pump.send_due(&mut stage);
        stage.turn(wait)?;
        pump.settle(&mut stage);
        if Instant::now() < end {
            continue;
        }
        let mark = Mark::now(server)?;
        if warm {
            let tally = &stage.inbox.tally;
            break Measured::between(from, mark, tally.deliveries).with_deliveries(tally);
        }
        warm = true;
        server.begin_measurement(pace.measure)?;
        from = mark;
        end = Instant::now() + pace.measure;
        stage.inbox.tally.clear();
    };
    stage.until("the last deliveries", |stage| {
        pump.settle(stage);
        pump.in_flight == 0 || stage.inbox.audit.fault_count() > 0
    })?;
    stage.audit()?;
    Ok(measured)
}

/// Rooms and clients of a shape, not yet connected.
pub(crate) fn set(shape: Shape, server: &ServerProcess, accounts: &Accounts) -> Result<Stage> {
    let rooms =
        accounts.open_rooms(server.address(), shape.rooms, shape.connections, |member| shape.rooms_of(member))?;
    let publishers = (0..shape.publishers)
        .map(|number| Client { token: accounts.publisher(number).token.clone(), rooms: Vec::new() });
    let members = (0..shape.connections)
        .map(|number| Client { token: accounts.member(number).token.clone(), rooms: shape.rooms_of(number) });
    Stage::new(server.address(), rooms, shape.publishers, publishers.chain(members).collect())
}

/// Decides when the next message goes where.
#[derive(Debug)]
struct Pump {
    shape: Shape,
    in_flight: usize,
    in_flight_by_room: Vec<usize>,
    next_room: usize,
    started: Instant,
    sent: u64,
}

impl Pump {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            in_flight: 0,
            in_flight_by_room: vec![0; shape.rooms],
            next_room: 0,
            started: Instant::now(),
            sent: 0,
        }
    }

    /// Sends what may go now; how long nothing more can go of itself.
    fn send_due(&mut self, stage: &mut Stage) -> Duration {
        match self.shape.flow {
            Flow::Window { messages, per_room } => {
                let mut looked_at = 0;
                while self.in_flight < messages && looked_at < self.shape.rooms {
                    if self.in_flight_by_room[self.next_room] < per_room {
                        self.send(stage);
                        looked_at = 0;
                    } else {
                        self.next_room = (self.next_room + 1) % self.shape.rooms;
                        looked_at += 1;
                    }
                }
                Duration::from_millis(100)
            }
            Flow::Paced { per_second } => {
                let due = (self.started.elapsed().as_secs_f64() * per_second) as u64;
                while self.sent < due {
                    self.send(stage);
                }
                let next = Duration::from_secs_f64((self.sent + 1) as f64 / per_second);
                next.saturating_sub(self.started.elapsed())
            }
        }
    }

    fn send(&mut self, stage: &mut Stage) {
        let room = self.next_room;
        self.next_room = (room + 1) % self.shape.rooms;
        let publisher = room % self.shape.publishers;
        stage.send(publisher, room);
        // One write a message, as independent senders would: the server sees them come one by one.
        stage.pool.write_now(publisher);
        self.in_flight += 1;
        self.in_flight_by_room[room] += 1;
        self.sent += 1;
    }

    /// Takes out of the window what all members have.
    fn settle(&mut self, stage: &mut Stage) {
        for room in stage.inbox.completed.drain(..) {
            self.in_flight = self.in_flight.saturating_sub(1);
            self.in_flight_by_room[room] = self.in_flight_by_room[room].saturating_sub(1);
        }
        stage.inbox.acknowledged.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_spread_evenly() {
        let flow = Flow::Paced { per_second: 1.0 };
        let shape = Shape { rooms: 100, connections: 1_000, rooms_each: 20, publishers: 1, flow };
        let mut members = vec![0; 100];
        for member in 0..shape.connections {
            let rooms = shape.rooms_of(member);
            let distinct: std::collections::BTreeSet<_> = rooms.iter().collect();
            assert_eq!(distinct.len(), 20);
            for room in rooms {
                members[room] += 1;
            }
        }
        assert!(members.iter().all(|count| *count == 200));
    }
}
