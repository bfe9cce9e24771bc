//! Acknowledged sends a second: publishers keep a window each, nobody is subscribed. Afterwards the
//! history must hold every message once, in each publisher's order.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use super::Pace;
use crate::measure::{Mark, Measured};
use crate::payload::Payload;
use crate::server_process::{Program, ServerProcess};
use crate::session::Session;
use crate::stage::{CONNECT_BURST, Client, Stage};
use crate::venue::Accounts;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rooms: usize,
    pub(crate) publishers: usize,
    /// Sends of one publisher in flight.
    pub(crate) window: usize,
}

pub(crate) fn run(shape: Shape, server: &mut ServerProcess, accounts: &Accounts, pace: Pace) -> Result<Measured> {
    let rooms = accounts.open_rooms(server.address(), shape.rooms, 0, |_| Vec::new())?;
    let clients = (0..shape.publishers)
        .map(|number| Client { token: accounts.publisher(number).token.clone(), rooms: Vec::new() })
        .collect();
    let mut stage = Stage::new(server.address(), rooms, shape.publishers, clients)?;
    stage.bring_up(0..shape.publishers, CONNECT_BURST)?;

    let mut next_room: Vec<usize> = (0..shape.publishers).map(|publisher| publisher % shape.rooms).collect();
    // A lone publisher goes round the rooms; of several each keeps to its own.
    let step = if shape.publishers == 1 { 1 } else { 0 };
    let mut send = |stage: &mut Stage, publisher: usize| {
        stage.send(publisher, next_room[publisher]);
        next_room[publisher] = (next_room[publisher] + step) % shape.rooms;
    };
    for publisher in 0..shape.publishers {
        for _ in 0..shape.window {
            send(&mut stage, publisher);
        }
    }
    let mut from = Mark::now(server)?;
    let mut end = Instant::now() + pace.warm_up;
    let mut warm = false;
    let measured = loop {
        stage.turn(Duration::from_millis(100))?;
        for publisher in std::mem::take(&mut stage.inbox.acknowledged) {
            send(&mut stage, publisher);
        }
        if Instant::now() < end {
            continue;
        }
        let mark = Mark::now(server)?;
        let tally = &mut stage.inbox.tally;
        if warm {
            let mut measured = Measured::between(from, mark, tally.acknowledged);
            measured.p50_ms = tally.reply_latency.quantile_ms(0.5);
            measured.p99_ms = tally.reply_latency.quantile_ms(0.99);
            break measured;
        }
        warm = true;
        server.begin_measurement(pace.measure)?;
        from = mark;
        end = Instant::now() + pace.measure;
        tally.clear();
    };
    let mut open = shape.publishers * shape.window;
    stage.until("the last replies", |stage| {
        open -= stage.inbox.acknowledged.drain(..).count();
        open == 0
    })?;
    if matches!(server.program(), Program::Parlour { .. }) {
        let mut session = Session::connect(server.address(), &accounts.publisher(0).token)?;
        for (number, room_id) in stage.rooms().iter().enumerate() {
            check_history(&mut session, room_id, stage.sent(number))?;
        }
    }
    Ok(measured)
}

/// Reads a room's whole history and compares it with what was acknowledged.
fn check_history(session: &mut Session, room_id: &str, sent: u64) -> Result<()> {
    let mut next: Vec<u64> = Vec::new();
    let mut found = 0;
    let mut cursor = None;
    loop {
        let data = match &cursor {
            Some(cursor) => {
                json!({"roomId": room_id, "order": "Asc", "limit": 1000, "cursor": cursor})
            }
            None => json!({"roomId": room_id, "order": "Asc", "limit": 1000}),
        };
        let page = session.call_text("message.list", &data)?;
        for payload in Payload::all(&page) {
            let publisher = payload.publisher();
            if next.len() <= publisher {
                next.resize(publisher + 1, 0);
            }
            let (due, sequence) = (next[publisher], payload.sequence());
            ensure!(sequence == due, "history of {room_id}: publisher {publisher} at {sequence} where {due} was due");
            next[publisher] += 1;
            found += 1;
        }
        let following = text_after(&page, br#""nextCursor":""#);
        if memchr::memmem::find(&page, br#""hasMore":true"#).is_none() {
            break;
        }
        let following = following.context("hasMore without nextCursor")?;
        if cursor.as_ref() == Some(&following) {
            bail!("history of {room_id}: the cursor does not advance");
        }
        cursor = Some(following);
    }
    ensure!(found == sent, "history of {room_id}: {sent} sends acknowledged, {found} messages listed");
    Ok(())
}

fn text_after(page: &[u8], key: &[u8]) -> Option<String> {
    let start = memchr::memmem::rfind(page, key)? + key.len();
    let length = memchr::memchr(b'"', &page[start..])?;
    Some(String::from_utf8_lossy(&page[start..start + length]).into_owned())
}
