//! Bots: commands with a prefix, mentions, answers. A bot is in all rooms of its account, handles one
//! message of a room at a time, and ignores its own. What it answers has a nonce made of the message it
//! answers, so that it never answers twice, also after a crash in mid-answer.

mod progress;
mod text;
mod worker;

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use parlour_protocol::{Nonce, RoomId, RowKey, Timestamp, UserEvent, UserId, object::Message, operation::DmList};
use tokio::task::JoinSet;

pub use self::text::plain_text;
use self::{progress::Progress, worker::Worker};
use crate::{
    client::Client,
    error::{ConnectError, ConnectErrorKind, Error},
    event::{ClientEvent, RoomEvent},
    room::{Room, Send},
};

/// How long handlers may go on after the bot was told to stop.
const LAST_CALL: Duration = Duration::from_secs(10);
/// How often progress without an answer is written to the state file.
const FLUSH: Duration = Duration::from_secs(5);

/// Why a handler failed: any error. It is logged, and the bot goes on.
pub struct HandlerError(Box<dyn std::error::Error + std::marker::Send + Sync>);

impl<E: std::error::Error + std::marker::Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

type Outcome = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + std::marker::Send>>;
type Handler = Arc<dyn Fn(Call) -> Outcome + std::marker::Send + Sync>;

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

/// A message that a bot handles.
#[derive(Debug, Clone)]
pub struct Call {
    message: Arc<Message>,
    room: Room,
    text: String,
    command: Option<(String, String)>,
    bot: Arc<str>,
    answers: Arc<AtomicU32>,
}

impl Call {
    /// The message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Where it was written.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Its text without markup.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The command's name; empty when it is none.
    pub fn command(&self) -> &str {
        self.command.as_ref().map_or("", |(name, _)| name)
    }

    /// What stands behind the command; the whole text when it is none.
    pub fn args(&self) -> &str {
        self.command.as_ref().map_or(&self.text, |(_, args)| args)
    }

    /// Whether it mentions the bot's account by name.
    pub fn is_mentioned(&self) -> bool {
        let me = self.room.client().user().map(|user| user.user_id.to_string());
        me.is_some_and(|me| self.message.mentions.contains(&me))
    }

    /// Whether it mentions everybody, or everybody who is here.
    pub fn is_broadcast(&self) -> bool {
        self.message.mentions.iter().any(|mention| mention == "@everyone" || mention == "@here")
    }

    /// Reacts to it. A reaction that is there stays.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn react(&self, emoji: &str) -> Result<(), crate::RequestError> {
        self.room.react(self.message.row_key, emoji).await.map(drop)
    }

    /// Answers it. The same answer of the same message is never sent twice, over restarts too.
    pub fn reply(&self, text: impl Into<String>) -> Send {
        self.send(text).reply_to(self.message.row_key)
    }

    /// Writes to the room without naming the message. Never sent twice either.
    pub fn send(&self, text: impl Into<String>) -> Send {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        let send = self.room.send(text);
        match Nonce::new(format!("bot.{}.{}.{number}", self.bot, self.message.row_key)) {
            Ok(nonce) => send.nonce(nonce),
            Err(_) => send,
        }
    }
}

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

fn handler<F>(handle: impl Fn(Call) -> F + std::marker::Send + Sync + 'static) -> Handler
where
    F: Future<Output = Result<(), HandlerError>> + std::marker::Send + 'static,
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
    pub fn command<F>(
        mut self,
        name: impl Into<String>,
        handle: impl Fn(Call) -> F + std::marker::Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + std::marker::Send + 'static,
    {
        self.commands.insert(name.into().to_lowercase(), handler(handle));
        self
    }

    /// Handles messages that mention the bot's account and are no command of it.
    pub fn on_mention<F>(mut self, handle: impl Fn(Call) -> F + std::marker::Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + std::marker::Send + 'static,
    {
        self.on_mention = Some(handler(handle));
        self
    }

    /// Handles all other messages of people.
    pub fn on_message<F>(mut self, handle: impl Fn(Call) -> F + std::marker::Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), HandlerError>> + std::marker::Send + 'static,
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
        let begun = self.client.hello().map_or(RowKey::from_tick(0), |hello| key_at(hello.server.time));
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
        let call = Call {
            message: Arc::clone(message),
            room: room.clone(),
            text,
            command,
            bot: self.name.as_str().into(),
            answers: Arc::new(AtomicU32::new(0)),
        };
        Some((Arc::clone(handler), call))
    }
}

fn parse_command(text: &str, prefix: &str) -> Option<(String, String)> {
    let rest = text.trim().strip_prefix(prefix)?;
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty()).then(|| (name.to_lowercase(), args.trim().to_owned()))
}

/// The place in any room of what is written at a time of the server's clock.
fn key_at(time: Timestamp) -> RowKey {
    RowKey::from_tick(time.as_millis().saturating_mul(1_000_000))
}

/// A running bot.
struct Shift {
    bot: Arc<Bot>,
    progress: Progress,
    /// Where rooms are begun that nothing is remembered of.
    begun: RowKey,
    workers: HashMap<RoomId, Worker>,
    tasks: JoinSet<RoomId>,
}

impl Shift {
    /// Whether the rooms are to be listed again.
    fn on_event(&mut self, event: ClientEvent) -> bool {
        match event {
            ClientEvent::Room { room_id, event: RoomEvent::Created { message, .. } } => {
                if let Some(worker) = self.workers.get(&room_id) {
                    worker.give(message);
                }
            }
            ClientEvent::Room { room_id, event: RoomEvent::Reset } => {
                self.workers.get(&room_id).into_iter().for_each(Worker::look_again);
            }
            ClientEvent::Room { room_id, event: RoomEvent::Ended(_) } => {
                self.workers.remove(&room_id);
            }
            ClientEvent::Lagged(_) => self.workers.values().for_each(Worker::look_again),
            ClientEvent::User(event) => match &*event {
                UserEvent::RoomAdded(added) => {
                    // Everything since it joined is for it.
                    self.enter(added.view.room.room_id, added.view.membership.created_at.map(key_at));
                }
                UserEvent::UserBehind(_) => return true,
                _ => {}
            },
            _ => {}
        }
        false
    }

    async fn enter_all_rooms(&mut self) -> Result<(), crate::RequestError> {
        let rooms = self.bot.client.rooms().await?;
        for view in rooms {
            self.enter(view.room.room_id, None);
        }
        let direct = DmList { cursor: None, limit: crate::room::page_limit(1000).ok() };
        match self.bot.client.request(direct).await {
            Ok(page) => page.items.iter().for_each(|view| self.enter(view.room.room_id, None)),
            Err(error) => tracing::debug!(%error, "no direct messages"),
        }
        Ok(())
    }

    fn enter(&mut self, room_id: RoomId, since: Option<RowKey>) {
        if self.workers.contains_key(&room_id) {
            return;
        }
        let last = self.progress.get(room_id).or(since).unwrap_or(self.begun);
        let room = self.bot.client.room(room_id);
        let (worker, work) = Worker::new(Arc::clone(&self.bot), room, self.progress.clone(), last);
        self.tasks.spawn(async move {
            work.await;
            room_id
        });
        self.workers.insert(room_id, worker);
    }

    fn on_finished(&mut self, finished: Result<RoomId, tokio::task::JoinError>) {
        match finished {
            Ok(room_id) => {
                // Unless it has been entered again meanwhile.
                if self.workers.get(&room_id).is_some_and(Worker::is_finished) {
                    self.workers.remove(&room_id);
                }
            }
            Err(error) => tracing::error!(%error, "a room's task failed"),
        }
    }

    async fn end(mut self) {
        self.workers.clear();
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_CALL, rest).await.is_err() {
            tracing::warn!("handlers were still at work and are ended");
        }
        self.progress.flush().await;
    }
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
