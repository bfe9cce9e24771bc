//! Clients that missed messages subscribe with their position and get them as catch-up pages.

use anyhow::{Result, ensure};

use super::fan_out::{Flow, Shape, set};
use crate::commands::SUBSCRIBE;
use crate::measure::{Mark, Measured};
use crate::server_process::ServerProcess;
use crate::stage::CONNECT_BURST;
use crate::statistics::Histogram;
use crate::venue::Accounts;

/// Rooms caught up one after the other, all clients at once each time.
const WAVES: usize = 5;

pub(crate) fn run(
    clients: usize,
    messages: usize,
    server: &mut ServerProcess,
    accounts: &Accounts,
) -> Result<Measured> {
    let flow = Flow::Paced { per_second: 1.0 };
    let shape = Shape { rooms: WAVES, connections: clients, rooms_each: WAVES, publishers: 1, flow };
    let mut stage = set(shape, server, accounts)?;
    for connection in 1..=clients {
        stage.take_rooms(connection);
    }
    stage.bring_up(0..=clients, CONNECT_BURST)?;
    // The publisher subscribes and leaves again, to learn where the rooms stand.
    let rooms: Vec<usize> = (0..WAVES).collect();
    stage.learn_heads(0, &rooms)?;

    for room in 0..WAVES {
        for _ in 0..messages {
            stage.send(0, room);
        }
        stage.until("the messages to catch up", |stage| {
            stage.inbox.tally.acknowledged == ((room + 1) * messages) as u64
        })?;
    }
    stage.resume_from_heads();
    stage.inbox.tally.clear();
    let mut latency = Histogram::default();
    let from = Mark::now(server)?;
    for room in 0..WAVES {
        let started = stage.pool.now();
        for connection in 1..=clients {
            stage.subscribe(connection, SUBSCRIBE + 1 + room as u64, &[room]);
        }
        let mut done = 0;
        stage.until("catch-up", |stage| {
            for (_, at) in stage.inbox.caught_up.drain(..) {
                done += 1;
                latency.record(at - started);
            }
            done == clients
        })?;
    }
    let mut measured = Measured::between(from, Mark::now(server)?, (clients * WAVES) as u64);
    measured.p50_ms = latency.quantile_ms(0.5);
    measured.p99_ms = latency.quantile_ms(0.99);
    let tally = &stage.inbox.tally;
    measured.bytes = Some(tally.catch_up_bytes as f64 / (clients * WAVES) as f64);
    let due = (clients * WAVES * messages) as u64;
    ensure!(tally.caught_up == due, "{due} messages to catch up, {} came", tally.caught_up);
    stage.audit()?;
    Ok(measured)
}
