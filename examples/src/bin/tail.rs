//! Prints a room as JSON lines: its latest messages, then whatever happens.
//!
//! cargo run -p parlour-examples --bin tail -- --name ada --password "correct horse" --room 3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03

use std::io::Write as _;

use clap::Parser;
use parlour_client::{RoomEvent, RoomItem, protocol::RoomId};
use parlour_examples::Account;
use serde_json::{Value, json};

/// Prints a room as JSON lines.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    account: Account,
    /// The room: the last part of its address in the page
    #[arg(long)]
    room: RoomId,
    /// How many of the latest messages to print first
    #[arg(long, default_value_t = 10)]
    lines: usize,
    /// End when so many lines were printed
    #[arg(long)]
    count: Option<usize>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let client = arguments.account.client("tail", None).await?.connect().await?;
    let room = client.room(arguments.room);
    let mut events = room.events();
    room.subscribe().history(arguments.lines).await?;

    let mut left = arguments.count.unwrap_or(usize::MAX);
    let mut print = |line: Value| {
        left = left.saturating_sub(1);
        // A closed pipe is how `tail | head` ends.
        writeln!(std::io::stdout(), "{line}").is_ok() && left > 0
    };
    let mut is_first_page = arguments.lines > 0;
    loop {
        let item = tokio::select! {
            item = events.next() => item,
            pressed = tokio::signal::ctrl_c() => { pressed?; break }
        };
        let lines = match item {
            None => break,
            Some(RoomItem::Lagged(events)) => vec![json!({ "event": "lagged", "events": events })],
            Some(RoomItem::Event(RoomEvent::Loaded)) if is_first_page => {
                is_first_page = false;
                let page = room.timeline().await?.messages;
                let oldest = page.len().saturating_sub(arguments.lines);
                page[oldest..].iter().map(|message| json!({ "event": "history", "message": message })).collect()
            }
            Some(RoomItem::Event(event)) => line(event).into_iter().collect(),
        };
        if !lines.into_iter().all(&mut print) {
            break;
        }
    }
    client.close().await;
    Ok(())
}

fn line(event: RoomEvent) -> Option<Value> {
    Some(match event {
        RoomEvent::Created { message, seq } => json!({ "event": "created", "seq": seq, "message": message }),
        RoomEvent::Changed { message, seq } => json!({ "event": "changed", "seq": seq, "message": message }),
        RoomEvent::Deleted { row_key, seq } => json!({ "event": "deleted", "seq": seq, "rowKey": row_key }),
        RoomEvent::Other { event, seq } => json!({ "event": event.name(), "seq": seq }),
        RoomEvent::Typing(typing) => json!({ "event": "typing", "userId": typing.user_id }),
        RoomEvent::Reset => json!({ "event": "reset" }),
        RoomEvent::Ended(ending) => json!({ "event": "ended", "why": format!("{ending:?}") }),
        _ => return None,
    })
}
