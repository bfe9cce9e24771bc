//! The terminal of `terminal_chat`: lines above, an input line below. Without a terminal, plain lines.

use std::{
    collections::HashMap,
    io::{BufRead as _, IsTerminal as _},
};

use anyhow::Context as _;
use parlour_client::{
    Ending, Room, RoomEvent, SlashCommand, Snapshot, plain_text,
    protocol::{RowKey, UserId, object::Message},
};
use rustyline::{
    Context, Editor, ExternalPrinter, Helper, completion::Completer, highlight::Highlighter, hint::Hinter,
    history::DefaultHistory, validate::Validator,
};
use tokio::sync::mpsc;

type Printer = Box<dyn ExternalPrinter + Send>;

/// Where lines are printed and typed.
#[expect(missing_debug_implementations, reason = "the printer has none")]
pub struct Screen {
    lines: mpsc::Receiver<String>,
    printer: Option<Printer>,
    /// The oldest message that was printed.
    oldest: Option<RowKey>,
}

/// Completes slash commands, and says what belongs behind them.
struct Slashes;

impl Completer for Slashes {
    type Candidate = String;

    fn complete(&self, line: &str, end: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..end).unwrap_or(line);
        Ok((0, SlashCommand::complete(begun).iter().map(|command| format!("/{} ", command.name)).collect()))
    }
}

impl Hinter for Slashes {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        SlashCommand::hint(line)
    }
}

impl Highlighter for Slashes {}
impl Validator for Slashes {}
impl Helper for Slashes {}

impl Screen {
    /// Opens the terminal.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn open() -> anyhow::Result<Self> {
        let (typed, lines) = mpsc::channel(16);
        if !std::io::stdin().is_terminal() {
            // A thread of its own: it may wait for a line until the process ends.
            std::thread::spawn(move || {
                let mut input = std::io::stdin().lock().lines().map_while(Result::ok);
                while input.next().is_some_and(|line| typed.blocking_send(line).is_ok()) {}
            });
            return Ok(Self { lines, printer: None, oldest: None });
        }
        let mut editor = Editor::<Slashes, DefaultHistory>::new()?;
        editor.set_helper(Some(Slashes));
        let printer: Printer = Box::new(editor.create_external_printer()?);
        std::thread::spawn(move || {
            while let Ok(line) = editor.readline("> ") {
                // What is remembered for the arrow keys may be full or a repeat.
                drop(editor.add_history_entry(&line));
                if typed.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { lines, printer: Some(printer), oldest: None })
    }

    /// The next line that is typed; none at the end of the input.
    pub async fn next_line(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Prints a line above the input.
    pub fn print(&mut self, line: &str) {
        // Others' text must not steer the terminal.
        let clean: String = line.chars().map(|c| if c.is_control() && c != '\n' { '\u{FFFD}' } else { c }).collect();
        match &mut self.printer {
            Some(printer) => drop(printer.print(format!("{clean}\n"))),
            None => println!("{clean}"),
        }
    }

    /// Prints the messages that are older than what is on the screen.
    pub fn print_older(&mut self, timeline: &Snapshot, names: &Names) {
        // A larger key is an older message.
        let oldest = self.oldest;
        let older = timeline.messages.iter().filter(|message| oldest.is_none_or(|oldest| message.row_key > oldest));
        older.for_each(|message| self.print(&names.line(message)));
        self.oldest = timeline.messages.first().map(|message| message.row_key).or(self.oldest);
    }

    /// What is on the screen is out of date: everything counts as older.
    pub fn forget(&mut self) {
        self.oldest = None;
    }
}

/// Who is who in a room.
#[derive(Debug, Default)]
pub struct Names {
    me: Option<UserId>,
    names: HashMap<UserId, String>,
}

impl Names {
    /// Reads the members of a room.
    ///
    /// # Errors
    /// As any request.
    pub async fn read(room: &Room) -> anyhow::Result<Self> {
        let members = room.members().await?;
        let name = |nickname: String, name: String| if nickname.is_empty() { name } else { nickname };
        let names = members.into_iter().map(|member| (member.user_id, name(member.nickname, member.user.name)));
        Ok(Self { me: room.client().user().map(|user| user.user_id), names: names.collect() })
    }

    /// The newest message of one's own.
    ///
    /// # Errors
    /// When there is none.
    pub async fn my_last(&self, room: &Room) -> anyhow::Result<RowKey> {
        let timeline = room.timeline().await?;
        let found = self.me.and_then(|me| timeline.latest_of(me));
        found.map(|message| message.row_key).context("there is none of yours")
    }

    /// The newest message of others.
    ///
    /// # Errors
    /// When there is none.
    pub async fn last_of_others(&self, room: &Room) -> anyhow::Result<RowKey> {
        let timeline = room.timeline().await?;
        let found = self.me.and_then(|me| timeline.latest_but_of(me));
        found.map(|message| message.row_key).context("there is none of others")
    }

    /// All names.
    pub fn list(&self) -> String {
        let mut names: Vec<_> = self.names.values().cloned().collect();
        names.sort();
        names.join(", ")
    }

    /// A message in one line, or as many as it has.
    pub fn line(&self, message: &Message) -> String {
        let time = message.created_at.to_string();
        let time = time.get(11..16).unwrap_or_default();
        let text = plain_text(message);
        if !message.r#type.is_markup() && message.poll.is_none() {
            return format!("{time} * {text}");
        }
        let app = message.app_user.as_ref().map(|app| app.name.as_str());
        let name = message.user_id.and_then(|id| self.names.get(&id).map(String::as_str)).or(app).unwrap_or("somebody");
        let reply = if message.reply_row_key.is_some() { "↳ " } else { "" };
        let edited = if message.is_edited { " (edited)" } else { "" };
        let reactions: String =
            message.reactions.iter().map(|held| format!(" [{} {}]", held.emoji, held.count)).collect();
        format!("{time} {name}: {reply}{text}{edited}{reactions}")
    }
}

/// What an event looks like; none for what shows nothing.
pub fn show(event: &RoomEvent, names: &Names) -> Option<String> {
    Some(match event {
        RoomEvent::Created { message, .. } => names.line(message),
        RoomEvent::Changed { message, .. } => format!("~ {}", names.line(message)),
        RoomEvent::Deleted { .. } => "~ a message was deleted".into(),
        RoomEvent::Reset => "… too much was missed; the latest messages:".into(),
        RoomEvent::Ended(Ending::Lost(reason)) => format!("… you are no longer in this room: {}", reason.as_str()),
        RoomEvent::Ended(ending) => format!("… the room has ended: {ending:?}"),
        _ => return None,
    })
}
