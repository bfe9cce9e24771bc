//! What a handler is given.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use parlour_protocol::{Nonce, UserId, object::Message};

use crate::{
    room::{Room, Send},
    slash::{Slash, SlashError},
    when::Clock,
};

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
    pub(super) fn new(
        message: Arc<Message>,
        room: Room,
        text: String,
        command: Option<(String, String)>,
        bot: &str,
    ) -> Self {
        Self { message, room, text, command, bot: bot.into(), answers: Arc::default() }
    }

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
        self.room.send(text).nonce(self.nonce())
    }

    /// The next nonce of this message, for whatever else a handler makes: a handler that runs again after a
    /// crash gets the same ones in the same order.
    pub fn nonce(&self) -> Nonce {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        let nonce = Nonce::new(format!("bot.{}.{}.{number}", self.bot, self.message.row_key));
        nonce.unwrap_or_else(|_| Nonce::random())
    }

    /// Who wrote it; none when nobody did, as a webhook.
    pub fn author(&self) -> Option<UserId> {
        self.message.user_id
    }

    /// The command read as the slash command of its name, whatever the bot's prefix is. None when there is none
    /// of that name.
    pub fn slash(&self, clock: &Clock) -> Option<Result<Slash, SlashError>> {
        Slash::read_command(self.command(), self.args(), clock)
    }
}
