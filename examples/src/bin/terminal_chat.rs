//! A terminal client: the room above, an input line below. `/help` names the commands, Tab completes them.
//!
//! cargo run -p parlour-examples --bin terminal_chat -- --name ada --password "correct horse" --register --create Tea

use anyhow::Context as _;
use clap::Parser;
use parlour_client::{
    Client, Clock, ConnectionState, Done, Room, RoomEvent, RoomItem, SLASH_COMMANDS, Slash, protocol::RoomId,
};
use parlour_examples::{
    Account, join,
    screen::{Names, Screen, show},
};

/// What there is beside the slash commands that everybody has.
const COMMANDS: &str = "/older [n] · /reply <text> (to the last of others) · /edit <text> (the own last) · /delete \
                        (the own last) · /react <emoji> · /jobs · /members · /invite · /quit";

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
    room.subscribe().history(30).await?;
    loop {
        tokio::select! {
            item = events.next() => match item {
                None => break,
                Some(RoomItem::Lagged(count)) => screen.print(&format!("… {count} events were dropped")),
                Some(RoomItem::Event(RoomEvent::Other { .. })) => names = Names::read(&room).await?,
                Some(RoomItem::Event(RoomEvent::Loaded)) => screen.print_older(&room.timeline().await?, &names),
                Some(RoomItem::Event(event)) => {
                    if matches!(event, RoomEvent::Reset) {
                        screen.forget();
                    }
                    show(&event, &names).into_iter().for_each(|line| screen.print(&line));
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
        (None, None) => client.latest_room().await?.context("no room yet: use --create or --invite")?.room.room_id,
    };
    Ok(client.room(room_id))
}

async fn act(line: &str, room: &Room, names: &Names, screen: &mut Screen) -> anyhow::Result<()> {
    if let Some(slash) = Slash::read(line, &Clock::here()) {
        if let Done::Planned(job) = room.run(slash?).await? {
            screen.print(&format!("… planned for {}", Clock::here().show(job.run_at)));
        }
        return Ok(());
    }
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    match command {
        "" => {}
        "/older" => {
            let count = room.load_older(rest.parse().unwrap_or(30)).await?;
            screen.print(&format!("… {count} older messages"));
        }
        "/reply" => drop(room.send(rest).reply_to(names.last_of_others(room).await?).queue().await?),
        "/edit" => drop(room.edit(names.my_last(room).await?, rest).await?),
        "/delete" => {
            room.delete(names.my_last(room).await?).await?;
        }
        "/react" => drop(room.react(names.last_of_others(room).await?, rest).await?),
        "/jobs" => {
            for job in room.jobs().await? {
                screen.print(&format!("… {}: {:?}", Clock::here().show(job.run_at), job.payload));
            }
        }
        "/members" => screen.print(&names.list()),
        "/invite" => screen.print(&format!("invite: {}", room.create_invite().await?.url)),
        _ if command.starts_with('/') => {
            screen.print(COMMANDS);
            SLASH_COMMANDS.iter().for_each(|known| screen.print(&format!("{}  {}", known.usage(), known.help)));
        }
        _ => drop(room.send(line).markdown().queue().await?),
    }
    Ok(())
}
