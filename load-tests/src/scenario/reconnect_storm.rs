//! All connections are cut at once, miss some messages, and come back at once with their positions.

use anyhow::{Result, ensure};

use super::fan_out::{Flow, Shape, set};
use crate::measure::{Mark, Measured};
use crate::server_process::ServerProcess;
use crate::stage::CONNECT_BURST;
use crate::statistics::Histogram;
use crate::venue::Accounts;

/// Connections on their way at once: what a listen backlog takes without SYNs being dropped.
const STORM_BURST: usize = 2_000;

pub(crate) fn run(
    connections: usize,
    rooms: usize,
    missed: usize,
    server: &mut ServerProcess,
    accounts: &Accounts,
) -> Result<Measured> {
    let flow = Flow::Paced { per_second: 1.0 };
    let shape = Shape { rooms, connections, rooms_each: 1, publishers: 1, flow };
    let mut stage = set(shape, server, accounts)?;
    stage.bring_up(0..=connections, CONNECT_BURST)?;
    stage.resume_from_heads();

    for connection in 1..=connections {
        stage.pool.drop_connection(connection);
    }
    // Few enough at a time for the server to keep reading the publisher's socket.
    for _ in 0..missed {
        for room in 0..rooms {
            stage.send(0, room);
        }
        let sent = stage.sent_in_all();
        stage.until("the messages to miss", |stage| stage.inbox.tally.acknowledged == sent)?;
    }
    stage.inbox.tally.clear();
    stage.inbox.caught_up.clear();
    stage.inbox.completed.clear();
    let from = Mark::now(server)?;
    let started = stage.pool.now();
    let mut latency = Histogram::default();
    stage.bring_up(1..=connections, STORM_BURST)?;
    let mut done = 0;
    stage.until("catch-up after the storm", |stage| {
        for (_, at) in stage.inbox.caught_up.drain(..) {
            done += 1;
            latency.record(at - started);
        }
        done == connections
    })?;
    let mut measured = Measured::between(from, Mark::now(server)?, connections as u64);
    measured.p50_ms = latency.quantile_ms(0.5);
    measured.p99_ms = latency.quantile_ms(0.99);
    measured.bytes = Some(stage.inbox.tally.catch_up_bytes as f64 / connections as f64);
    let due = (connections * missed) as u64;
    ensure!(stage.inbox.tally.caught_up == due, "{due} messages missed, {} caught up", stage.inbox.tally.caught_up);

    // And they are live again.
    for room in 0..rooms {
        stage.send(0, room);
    }
    let mut complete = stage.inbox.completed.len();
    stage.inbox.completed.clear();
    complete = complete.saturating_sub(rooms * missed);
    stage.until("a message to all after the storm", |stage| {
        complete += stage.inbox.completed.drain(..).count();
        complete == rooms || stage.inbox.audit.fault_count() > 0
    })?;
    stage.audit()?;
    Ok(measured)
}
