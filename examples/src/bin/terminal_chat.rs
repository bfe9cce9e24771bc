//! A terminal client: the room above, an input line below. `/help` names the commands.
//!
//! cargo run -p parlour-examples --bin terminal_chat -- --name ada --password "correct horse" --register --create Tea

use clap::Parser;
use parlour_client::{
    Client, ConnectionState, Room, RoomEvent, RoomItem,
    protocol::{RoomId, RowKey, operation::RoomGet},
};
use parlour_examples::{
    Account, join,
    screen::{Names, Screen, show},
};

const HELP: &str = "/older [n] · /reply text (to the last of others) · /edit text (the own last) · /delete (the own \
                    last) · /react emoji · /members · /invite · /quit";

/// A terminal client.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    account: Account,
    /// The room to enter (the last part of its address in the page); the latest active one without it
    #[arg(long)]
    room: Option<RoomId>,
    /// Join a room by invite
    #[arg(long, conflicts_with = "room")]
    invite: Option<String>,
    /// Make a room of this name
    #[arg(long, conflicts_with_all = ["room", "invite"])]
    create: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let client = arguments.account.client("terminal-chat", arguments.invite.as_deref()).await?.connect().await?;
    let room = enter(&client, &arguments).await?;
    let mut events = room.events();
    let mut state = client.state();
    let mut names = Names::read(&room).await?;
    let mut screen = Screen::open()?;
    let mut oldest = None;
    room.subscribe().history(30).await?;
    loop {
        tokio::select! {
            item = events.next() => match item {
                None => break,
                Some(RoomItem::Lagged(count)) => screen.print(&format!("… {count} events were dropped")),
                Some(RoomItem::Event(RoomEvent::Other { .. })) => names = Names::read(&room).await?,
                Some(RoomItem::Event(RoomEvent::Loaded)) => print_older(&mut screen, &room, &names, &mut oldest).await?,
                Some(RoomItem::Event(event)) => {
                    if matches!(event, RoomEvent::Reset) {
                        oldest = None;
                    }
                    if let Some(line) = show(&event, &names) {
                        screen.print(&line);
                    }
                }
            },
            line = screen.next_line() => match line {
                None => break,
                Some(line) if line.trim() == "/quit" => break,
                Some(line) => {
                    if let Err(error) = act(line.trim(), &room, &names, &mut screen).await {
                        screen.print(&format!("! {error:#}"));
                    }
                }
            },
            Ok(()) = state.changed() => match &*state.borrow_and_update() {
                ConnectionState::Waiting { reason, .. } => screen.print(&format!("… connection lost: {reason}")),
                ConnectionState::Connected => screen.print("… connected"),
                _ => {}
            },
        }
    }
    let unsent = client.close().await;
    anyhow::ensure!(unsent == 0, "{unsent} messages could not be sent");
    Ok(())
}

async fn enter(client: &Client, arguments: &Arguments) -> anyhow::Result<Room> {
    if let Some(invite) = &arguments.invite {
        join(client, invite).await?;
    }
    let room_id = match (&arguments.create, arguments.room) {
        (Some(name), _) => client.create_room(name).await?.room.room_id,
        (None, Some(room_id)) => room_id,
        (None, None) => {
            let latest = client.request(RoomGet { room_id: None }).await?;
            latest.0.ok_or_else(|| anyhow::anyhow!("no room yet: use --create or --invite"))?.room.room_id
        }
    };
    Ok(client.room(room_id))
}

/// Prints the messages that are older than what is on the screen.
async fn print_older(
    screen: &mut Screen,
    room: &Room,
    names: &Names,
    oldest: &mut Option<RowKey>,
) -> anyhow::Result<()> {
    let messages = room.timeline().await?.messages;
    // A larger key is an older message.
    for message in messages.iter().filter(|message| oldest.is_none_or(|oldest| message.row_key > oldest)) {
        screen.print(&names.line(message));
    }
    *oldest = messages.first().map(|message| message.row_key).or(*oldest);
    Ok(())
}

async fn act(line: &str, room: &Room, names: &Names, screen: &mut Screen) -> anyhow::Result<()> {
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    let messages = if command.starts_with('/') { room.timeline().await?.messages } else { Vec::new() };
    let last = |mine: bool| {
        let found = messages.iter().rev().find(|message| names.is_mine(message) == mine);
        found.map(|message| message.row_key).ok_or_else(|| anyhow::anyhow!("there is none"))
    };
    match command {
        "" => {}
        "/help" => screen.print(HELP),
        "/older" => {
            let count = room.load_older(rest.parse().unwrap_or(30)).await?;
            screen.print(&format!("… {count} older messages"));
        }
        "/reply" => drop(room.send(rest).reply_to(last(false)?).queue().await?),
        "/edit" => drop(room.edit(last(true)?, rest).await?),
        "/delete" => {
            room.delete(last(true)?).await?;
        }
        "/react" => drop(room.react(last(false)?, rest).await?),
        "/members" => screen.print(&names.list()),
        "/invite" => screen.print(&format!("invite: {}", room.create_invite().await?.url)),
        _ if command.starts_with('/') => screen.print(HELP),
        _ => drop(room.send(line).markdown().queue().await?),
    }
    Ok(())
}
