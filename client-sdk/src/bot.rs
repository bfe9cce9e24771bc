//! Bots: commands with a prefix, mentions, answers. A bot is in all rooms of its account, handles one
//! message of a room at a time, and ignores its own. What it answers has a nonce made of the message it
//! answers, so that it never answers twice, also after a crash in mid-answer.

mod call;
mod progress;
mod shift;
mod slash;
mod text;
mod worker;

use std::{collections::HashMap, fmt, future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use parlour_protocol::{RowKey, UserId, object::Message};
use tokio::task::JoinSet;

pub use self::{
    call::Call,
    text::{escape_markdown, plain_text},
};
use self::{progress::Progress, shift::Shift};
use crate::{
    client::Client,
    error::{ConnectError, ConnectErrorKind, Error},
    event::ClientEvent,
    room::Room,
};

/// How long handlers may go on after the bot was told to stop.
const LAST_CALL: Duration = Duration::from_secs(10);
/// How often progress without an answer is written to the state file.
const FLUSH: Duration = Duration::from_secs(5);

/// Why a handler failed: any error. It is logged, and the bot goes on.
pub struct HandlerError(Box<dyn std::error::Error + Send + Sync>);

impl<E: std::error::Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

type Outcome = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;
type Handler = Arc<dyn Fn(Call) -> Outcome + Send + Sync>;

/// Why a bot ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BotErrorKind {
    /// Its client was closed by something other than the program.
    Closed(ConnectErrorKind),
    /// Its state file cannot be used.
    StateFile,
}

impl fmt::Display for BotErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(kind) => write!(f, "the client was closed: {kind}"),
            Self::StateFile => f.write_str("the state file cannot be used"),
        }
    }
}

/// Why a bot ended.
pub type BotError = Error<BotErrorKind>;

/// A bot: set its handlers, then [`Bot::run`] it.
#[must_use]
pub struct Bot {
    client: Client,
    name: String,
    prefix: String,
    commands: HashMap<String, Handler>,
    on_mention: Option<Handler>,
    on_message: Option<Handler>,
    state_file: Option<PathBuf>,
    backlog: usize,
}

impl fmt::Debug for Bot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bot").field("name", &self.name).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

fn handler<F>(handle: impl Fn(Call) -> F + Send + Sync + 'static) -> Handler
where
    F: Future<Output = Result<(), HandlerError>> + Send + 'static,
{
    Arc::new(move |call| Box::pin(handle(call)))
}

impl Bot {
    /// A bot on a client. Its commands begin with `!`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            name: "bot".into(),
            prefix: "!".into(),
            commands: HashMap::new(),
            on_mention: None,
            on_message: None,
            state_file: None,
            backlog: 100,
        }
    }

    /// Its name, which tells several bots of one account apart. At most 20 letters count.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        self
    }

    /// What commands begin with.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Handles a command, `!name` and what follows it.
    pub fn command<F>(mut self, name: impl Into<String>, handle: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.commands.insert(name.into().to_lowercase(), handler(handle));
        self
    }

    /// Handles messages that mention the bot's account and are no command of it.
    pub fn on_mention<F>(mut self, handle: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.on_mention = Some(handler(handle));
        self
    }

    /// Handles all other messages of people.
    pub fn on_message<F>(mut self, handle: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.on_message = Some(handler(handle));
        self
    }

    /// Keeps in a file what was handled: after a restart the bot goes on there. Without it a bot handles
    /// what is written from its client's connection on.
    pub fn state_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.state_file = Some(path.into());
        self
    }

    /// How many messages of a room are handled late, after the bot was away; 100 by default, 1000 at most.
    /// Older ones are left out.
    pub fn backlog(mut self, messages: usize) -> Self {
        self.backlog = messages.min(1000);
        self
    }

    /// Runs the bot until its client is closed.
    ///
    /// # Errors
    /// When the client ends by itself, or the state file cannot be used.
    pub async fn run(self) -> Result<(), BotError> {
        let progress = Progress::open(self.state_file.clone())
            .map_err(|error| BotError::with_source(BotErrorKind::StateFile, error))?;
        let mut events = self.client.events();
        let closed = |error: ConnectError| BotError::with_source(BotErrorKind::Closed(error.kind()), error);
        self.client.connected().await.map_err(closed)?;
        let begun = self.client.hello().map_or(RowKey::from_tick(0), |hello| shift::key_at(hello.server.time));
        let (workers, tasks) = (HashMap::new(), JoinSet::new());
        let mut shift = Shift { bot: Arc::new(self), progress, begun, workers, tasks };
        // A client that is connected already has said so before anybody listened.
        let mut relist = true;
        let mut relist_at = tokio::time::Instant::now();
        let mut flush = tokio::time::interval(FLUSH);
        let reason = loop {
            tokio::select! {
                event = events.next() => match event {
                    None => break None,
                    Some(ClientEvent::Closed { reason }) => break reason,
                    Some(ClientEvent::Connected { .. }) => relist = true,
                    Some(event) => relist |= shift.on_event(event),
                },
                () = tokio::time::sleep_until(relist_at), if relist => {
                    match shift.enter_all_rooms().await {
                        Ok(()) => relist = false,
                        Err(error) => {
                            tracing::warn!(%error, "the rooms could not be listed");
                            relist_at = tokio::time::Instant::now() + FLUSH;
                        }
                    }
                }
                _ = flush.tick() => shift.progress.flush().await,
                Some(finished) = shift.tasks.join_next() => shift.on_finished(finished),
            }
        };
        shift.end().await;
        match reason {
            None => Ok(()),
            Some(kind) => Err(BotError::new(BotErrorKind::Closed(kind))),
        }
    }

    fn me(&self) -> Option<UserId> {
        self.client.user().map(|user| user.user_id)
    }

    /// Who handles a message, if anybody does.
    fn choose(&self, room: &Room, message: &Arc<Message>) -> Option<(Handler, Call)> {
        let me = self.me();
        let is_from_a_person = message.user_id.is_some() && message.user_id != me && message.r#type.is_markup();
        if !is_from_a_person {
            return None;
        }
        let text = plain_text(message);
        let command = parse_command(&text, &self.prefix);
        let known = command.as_ref().and_then(|(name, _)| self.commands.get(name));
        let is_mentioned = me.is_some_and(|me| message.mentions.iter().any(|id| *id == me.to_string()));
        let (handler, command) = match (known, &self.on_mention, &self.on_message) {
            (Some(handler), ..) => (handler, command),
            (None, Some(handler), _) if is_mentioned => (handler, None),
            (None, _, Some(handler)) => (handler, None),
            (None, ..) => return None,
        };
        let call = Call::new(Arc::clone(message), room.clone(), text, command, &self.name);
        Some((Arc::clone(handler), call))
    }
}

fn parse_command(text: &str, prefix: &str) -> Option<(String, String)> {
    let rest = text.trim().strip_prefix(prefix)?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty()).then(|| (name.to_lowercase(), args.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_prefix_a_name_and_the_rest() {
        let parse = |text| parse_command(text, "!");
        assert_eq!(parse("!Echo  hello world "), Some(("echo".into(), "hello world".into())));
        assert_eq!(parse("!ping"), Some(("ping".into(), String::new())));
        assert_eq!(parse("!"), None);
        assert_eq!(parse("say !ping"), None);
        assert_eq!(parse_command("parlour: help me", "parlour: "), Some(("help".into(), "me".into())));
    }
}
