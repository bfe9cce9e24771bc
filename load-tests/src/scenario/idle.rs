//! What a silent connection costs: resident memory, and CPU while nothing is said.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Pace;
use super::fan_out::{Flow, Shape, set};
use crate::measure::{Mark, Measured};
use crate::server_process::{Program, ServerProcess};
use crate::stage::{CONNECT_BURST, Stage};
use crate::venue::Accounts;

/// Connections that are up before memory is first read, so that what a server sets up once is not counted.
const FIRST: usize = 100;
/// What connecting leaves to be written, such as when a session was last seen, is done by then.
const SETTLE: Duration = Duration::from_secs(6);
/// The reference writer has nothing to write and never speaks first.
const REFERENCE_REST: Duration = Duration::from_secs(1);

pub(crate) fn run(
    connections: usize,
    rooms: usize,
    server: &mut ServerProcess,
    accounts: &Accounts,
    pace: Pace,
) -> Result<Measured> {
    let shape = Shape { rooms, connections, rooms_each: 1, publishers: 0, flow: Flow::Paced { per_second: 1.0 } };
    let mut stage = match server.program() {
        Program::Parlour { .. } => set(shape, server, &accounts.with_users(connections))?,
        // It knows no users.
        Program::Reference { .. } => set(shape, server, accounts)?,
    };
    // Memory that preparing left behind would hide what connections need.
    server.restart()?;
    stage.bring_up(0..FIRST, CONNECT_BURST)?;
    let before_kib = server.resident_kib()?;
    let from = Mark::now(server)?;
    stage.bring_up(FIRST..connections, CONNECT_BURST)?;
    let connected = Mark::now(server)?;
    let more = connections - FIRST;
    let mut measured = Measured::between(from, connected, more as u64);
    let (settle, silence) = match server.program() {
        Program::Parlour { .. } => (SETTLE, pace.silence),
        Program::Reference { .. } => (REFERENCE_REST, REFERENCE_REST),
    };
    rest(&mut stage, settle)?;
    let kib = server.resident_kib()?.saturating_sub(before_kib);
    measured.kib = Some(kib as f64 / more as f64);

    let silent = Mark::now(server)?;
    rest(&mut stage, silence)?;
    measured.silent_ms = Some(Measured::server_ms_per_second(silent, Mark::now(server)?));
    Ok(measured)
}

/// Answers pings and nothing else.
fn rest(stage: &mut Stage, time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        stage.turn(end.saturating_duration_since(Instant::now()).min(Duration::from_millis(100)))?;
    }
    Ok(())
}
