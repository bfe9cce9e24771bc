//! Slash commands: what people type as `/remind in 2h take the tea out`. One parser for whoever reads them: a
//! program that people type into, and a bot, whatever its prefix is.

mod run;

use crate::when::{Clock, When, WhenError};

pub use self::run::{Done, Run};

/// A slash command, for lists, hints and completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What stands behind the name.
    pub arguments: &'static [SlashArgument],
    /// What it does, for people.
    pub help: &'static str,
}

/// What a slash command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashArgument {
    /// Its name, as in `/remind when|tomorrow 9am text|call Ada`.
    pub name: &'static str,
    /// What it is like.
    pub example: &'static str,
    /// Whether the command goes without it.
    pub is_optional: bool,
}

const fn required(name: &'static str, example: &'static str) -> SlashArgument {
    SlashArgument { name, example, is_optional: false }
}

const fn optional(name: &'static str, example: &'static str) -> SlashArgument {
    SlashArgument { name, example, is_optional: true }
}

/// All slash commands, by name.
pub const SLASH_COMMANDS: [SlashCommand; 10] = [
    SlashCommand { name: "flip", arguments: &[], help: "heads or tails" },
    SlashCommand { name: "me", arguments: &[required("message", "waves")], help: "says what you do" },
    SlashCommand {
        name: "poll",
        arguments: &[required("question", "Tea at four?"), required("options", "| yes | no")],
        help: "asks the room",
    },
    SlashCommand {
        name: "remind",
        arguments: &[required("when", "in 2h"), required("text", "take the tea out")],
        help: "reminds you",
    },
    SlashCommand { name: "roll", arguments: &[], help: "a number from 1 to 100" },
    SlashCommand {
        name: "schedule",
        arguments: &[required("when", "tomorrow 9am"), required("message", "Good morning!")],
        help: "sends a message later",
    },
    SlashCommand { name: "shrug", arguments: &[optional("text", "who knows")], help: "¯\\_(ツ)_/¯" },
    SlashCommand { name: "tableflip", arguments: &[], help: "(╯°□°)╯︵ ┻━┻" },
    SlashCommand { name: "topic", arguments: &[optional("text", "All about tea")], help: "sets the room's topic" },
    SlashCommand { name: "unflip", arguments: &[], help: "┬─┬ノ( º _ ºノ)" },
];

impl SlashCommand {
    /// The command of a name.
    pub fn find(name: &str) -> Option<Self> {
        SLASH_COMMANDS.into_iter().find(|command| command.name.eq_ignore_ascii_case(name))
    }

    /// The name and its arguments: `/remind <when> <text>`.
    pub fn usage(&self) -> String {
        let mut usage = format!("/{}", self.name);
        for argument in self.arguments {
            let (open, close) = if argument.is_optional { ('[', ']') } else { ('<', '>') };
            usage.push_str(&format!(" {open}{}{close}", argument.name));
        }
        usage
    }

    /// What a line that was begun may become: the commands whose name begins so.
    pub fn complete(line: &str) -> Vec<Self> {
        let Some(begun) = line.strip_prefix('/') else { return Vec::new() };
        let fits =
            |command: &Self| command.name.get(..begun.len()).is_some_and(|start| start.eq_ignore_ascii_case(begun));
        SLASH_COMMANDS.into_iter().filter(fits).collect()
    }

    /// What still belongs behind a line: the rest of the only name that it can be, and the arguments to come.
    pub fn hint(line: &str) -> Option<String> {
        let begun = line.strip_prefix('/')?;
        let Some((name, rest)) = begun.split_once(' ') else {
            let [command] = Self::complete(line)[..] else { return None };
            return command.usage().get(line.len()..).map(str::to_owned);
        };
        let command = Self::find(name)?;
        let mut hint = command.usage().get(name.len() + 2..)?.to_owned();
        if !rest.trim().is_empty() {
            // Once something stands there, only what has to follow is said.
            hint = hint.split_once(' ').map(|(_, following)| following.to_owned())?;
        }
        (!hint.is_empty() && rest.split_whitespace().count() <= 1).then_some(hint)
    }
}

/// A slash command that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slash {
    /// Reminds the one who typed it.
    Remind {
        /// When.
        when: When,
        /// Of what.
        text: String,
    },
    /// Sends a message later.
    Schedule {
        /// When.
        when: When,
        /// The message, as typed.
        message: String,
    },
    /// Asks the room.
    Poll {
        /// What.
        question: String,
        /// Two to ten of them.
        options: Vec<String>,
    },
    /// Says what one does.
    Me {
        /// What.
        message: String,
    },
    /// A number from 1 to 100.
    Roll,
    /// Heads or tails.
    Flip,
    /// Shrugs.
    Shrug {
        /// What comes before the shrug; may be empty.
        text: String,
    },
    /// Throws a table.
    TableFlip,
    /// Puts it back.
    Unflip,
    /// Sets the room's topic.
    Topic {
        /// The topic; empty clears it.
        text: String,
    },
}

/// Why a slash command cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlashError {
    /// Something is missing, or too much.
    #[error("usage: {}", .0.usage())]
    Usage(SlashCommand),
    /// Its time is none.
    #[error("{1}")]
    When(SlashCommand, #[source] WhenError),
    /// A poll has two to ten options.
    #[error("a poll is a question and two to ten options: /poll Tea at four? | yes | no")]
    Options,
}

impl Slash {
    /// Reads a line. None when it is no slash command, which may be a message as well.
    pub fn read(line: &str, clock: &Clock) -> Option<Result<Self, SlashError>> {
        let typed = line.trim().strip_prefix('/')?;
        let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        Self::read_command(name, arguments.trim(), clock)
    }

    /// Reads a command whose name and arguments are apart already. None when there is none of this name.
    pub fn read_command(name: &str, arguments: &str, clock: &Clock) -> Option<Result<Self, SlashError>> {
        SlashCommand::find(name).map(|command| read(command, arguments, clock))
    }
}

fn read(command: SlashCommand, arguments: &str, clock: &Clock) -> Result<Slash, SlashError> {
    let usage = SlashError::Usage(command);
    let text = || text(command, arguments);
    Ok(match command.name {
        "remind" => {
            let (when, text) = timed(command, arguments, clock)?;
            Slash::Remind { when, text }
        }
        "schedule" => {
            let (when, message) = timed(command, arguments, clock)?;
            Slash::Schedule { when, message }
        }
        "poll" => poll(arguments)?,
        "me" => Slash::Me { message: text()? },
        "shrug" => Slash::Shrug { text: text()? },
        "topic" => Slash::Topic { text: text()? },
        _ if !arguments.is_empty() => return Err(usage),
        "roll" => Slash::Roll,
        "flip" => Slash::Flip,
        "tableflip" => Slash::TableFlip,
        "unflip" => Slash::Unflip,
        _ => return Err(usage),
    })
}

/// The only argument: everything that stands there, with its name or without.
fn text(command: SlashCommand, arguments: &str) -> Result<String, SlashError> {
    let named = named(command, arguments);
    let text = named.and_then(|values| values[0]).unwrap_or(arguments).trim();
    let is_missing = text.is_empty() && command.arguments.iter().any(|argument| !argument.is_optional);
    if is_missing { Err(SlashError::Usage(command)) } else { Ok(text.to_owned()) }
}

/// A time, and what to do then.
fn timed(command: SlashCommand, arguments: &str, clock: &Clock) -> Result<(When, String), SlashError> {
    let (usage, wrong) = (SlashError::Usage(command), |error| SlashError::When(command, error));
    let (when, text) = match named(command, arguments).as_deref() {
        Some([Some(when), Some(text)]) => (clock.read(when).map_err(wrong)?, *text),
        Some(_) => return Err(usage),
        None if arguments.is_empty() => return Err(usage),
        None => clock.read_prefix(arguments).map_err(wrong)?,
    };
    // People write `in 2h to …`, and `tomorrow 9am | …` as they do in a poll.
    let text = text.trim_start_matches(['|', '-', '–']).trim();
    if text.is_empty() { Err(usage) } else { Ok((when, text.to_owned())) }
}

/// `Tea? | yes | no`, or `Tea? yes, no`.
fn poll(arguments: &str) -> Result<Slash, SlashError> {
    let (question, options) = match arguments.split_once('|') {
        Some((question, options)) => (question, options.split('|').collect::<Vec<_>>()),
        None => {
            let end = arguments.find("? ").ok_or(SlashError::Options)? + 1;
            (&arguments[..end], arguments[end..].split(',').collect())
        }
    };
    let question = question.trim().to_owned();
    let options: Vec<_> = options.into_iter().map(|option| option.trim().to_owned()).collect();
    let is_one =
        !question.is_empty() && (2..=10).contains(&options.len()) && options.iter().all(|label| !label.is_empty());
    if is_one { Ok(Slash::Poll { question, options }) } else { Err(SlashError::Options) }
}

/// Arguments that are given by name, `when|tomorrow 9am text|call Ada`, in any order: each runs to the next
/// name. None when the first is not named.
fn named(command: SlashCommand, arguments: &str) -> Option<Vec<Option<&str>>> {
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (number, argument) in command.arguments.iter().enumerate() {
        let name = format!("{}|", argument.name);
        let begins = |place: usize| arguments[..place].ends_with(char::is_whitespace) || place == 0;
        let place = arguments.match_indices(&name).map(|(place, _)| place).find(|place| begins(*place));
        places.extend(place.map(|place| (place, place + name.len(), number)));
    }
    places.sort_unstable();
    if places.first().is_none_or(|(place, ..)| *place != 0) {
        return None;
    }
    let mut values = vec![None; command.arguments.len()];
    for (index, (_, begin, number)) in places.iter().enumerate() {
        let end = places.get(index + 1).map_or(arguments.len(), |(next, ..)| *next);
        values[*number] = Some(arguments[*begin..end].trim());
    }
    Some(values)
}

#[cfg(test)]
mod tests;
