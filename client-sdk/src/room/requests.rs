//! Requests with optional parts: set them, then await.

use std::{future::IntoFuture, pin::Pin, time::Duration};

use parlour_protocol::{
    FileId, Int, Nonce, RowKey, Set, Text,
    object::Message,
    operation::{
        AttachedFile, Format, Limit, MessageEdit, MessageList, MessageListReply, MessageReply, MessageSend, Order,
        Position, Subscribed,
    },
};
use tokio::time::Instant;

use super::Room;
use crate::{
    client::{Queued, RequestOptions, queue, request},
    command::{Command, Subscription},
    error::RequestError,
    outbox::Patience,
};

type Reply<T> = Pin<Box<dyn Future<Output = Result<T, RequestError>> + std::marker::Send>>;

/// A message to send: await it for the message as stored.
#[derive(Debug, Clone)]
#[must_use = "a message is sent when it is awaited"]
pub struct Send {
    room: Room,
    text: String,
    format: Option<Format>,
    reply_to: Option<RowKey>,
    files: Vec<AttachedFile>,
    nonce: Option<Nonce>,
    options: RequestOptions,
}

impl Send {
    pub(super) fn new(room: Room, text: String) -> Self {
        let options = RequestOptions::of(&room.client);
        Self { room, text, format: None, reply_to: None, files: Vec::new(), nonce: None, options }
    }

    /// How the text is read; as typed by default.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The text is Markdown.
    pub fn markdown(self) -> Self {
        self.format(Format::Markdown)
    }

    /// Answers a message.
    pub fn reply_to(mut self, row_key: RowKey) -> Self {
        self.reply_to = Some(row_key);
        self
    }

    /// With a file of [`Room::upload`]; ten at most.
    pub fn file(mut self, file_id: FileId) -> Self {
        self.files.push(AttachedFile { file_id, has_thumbnail: None });
        self
    }

    /// With an image of [`Room::upload`] and its thumbnail of [`Room::upload_thumbnail`].
    pub fn image(mut self, file_id: FileId) -> Self {
        self.files.push(AttachedFile { file_id, has_thumbnail: Some(true) });
        self
    }

    /// The nonce, for programs that repeat over restarts by themselves: one text per nonce, for ever.
    pub fn nonce(mut self, nonce: Nonce) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// How long to wait for the answer. The message stays in the outbox after that, and is still delivered.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }

    /// What to do when the server asks to wait.
    pub fn patience(mut self, patience: Patience) -> Self {
        self.options.patience = patience;
        self
    }

    /// Returns when the message is in the outbox, and in its file. Messages queued one after the other
    /// arrive in that order.
    ///
    /// # Errors
    /// When the text breaks a limit, the outbox is full or its file cannot be written.
    pub async fn queue(self) -> Result<Queued<MessageReply>, RequestError> {
        let (client, options) = (self.room.client.clone(), self.options);
        let operation = self.operation()?;
        queue(&client, operation, options).await
    }

    fn operation(self) -> Result<MessageSend, RequestError> {
        Ok(MessageSend {
            room_id: self.room.room_id,
            r#type: None,
            message: Some(Text::new(self.text)?),
            format: self.format,
            files: if self.files.is_empty() { None } else { Some(Set::new(self.files)?) },
            reply_row_key: self.reply_to,
            poll: None,
            nonce: self.nonce,
        })
    }
}

impl IntoFuture for Send {
    type Output = Result<Message, RequestError>;
    type IntoFuture = Reply<Message>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (client, options) = (self.room.client.clone(), self.options);
            let operation = self.operation()?;
            request(&client, operation, options).await.map(|reply| reply.message)
        })
    }
}

/// An edit: await it for the message as stored.
#[derive(Debug, Clone)]
#[must_use = "an edit is made when it is awaited"]
pub struct Edit {
    room: Room,
    row_key: RowKey,
    text: String,
    format: Option<Format>,
    rev: Option<u32>,
    options: RequestOptions,
}

impl Edit {
    pub(super) fn new(room: Room, row_key: RowKey, text: String) -> Self {
        let options = RequestOptions::of(&room.client);
        Self { room, row_key, text, format: None, rev: None, options }
    }

    /// How the text is read; as typed by default.
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// The `rev` that was edited: `conflict` when the body changed after it.
    pub fn rev(mut self, rev: u32) -> Self {
        self.rev = Some(rev);
        self
    }

    /// How long to wait for the answer.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }
}

impl IntoFuture for Edit {
    type Output = Result<Message, RequestError>;
    type IntoFuture = Reply<Message>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let operation = MessageEdit {
                room_id: self.room.room_id,
                row_key: self.row_key,
                message: Text::new(self.text)?,
                format: self.format,
                rev: self.rev.map(|rev| Int::new(i64::from(rev))).transpose()?,
            };
            request(&self.room.client, operation, self.options).await.map(|reply| reply.message)
        })
    }
}

/// A page of history: await it.
#[derive(Debug, Clone)]
#[must_use = "a page is read when it is awaited"]
pub struct History {
    room: Room,
    cursor: Option<RowKey>,
    order: Order,
    around: Option<RowKey>,
    limit: usize,
    options: RequestOptions,
}

impl History {
    pub(super) fn new(room: Room) -> Self {
        let options = RequestOptions::of(&room.client);
        Self { room, cursor: None, order: Order::Desc, around: None, limit: 50, options }
    }

    /// Messages older than this one, newest first. Without a place: the newest.
    pub fn before(mut self, row_key: RowKey) -> Self {
        (self.cursor, self.order) = (Some(row_key), Order::Desc);
        self
    }

    /// Messages newer than this one, oldest first.
    pub fn after(mut self, row_key: RowKey) -> Self {
        (self.cursor, self.order) = (Some(row_key), Order::Asc);
        self
    }

    /// From the first message on, oldest first.
    pub fn from_start(mut self) -> Self {
        (self.cursor, self.order) = (None, Order::Asc);
        self
    }

    /// Half older, the message, half newer.
    pub fn around(mut self, row_key: RowKey) -> Self {
        self.around = Some(row_key);
        self
    }

    /// At most so many; 50 by default, 1000 at most.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

impl IntoFuture for History {
    type Output = Result<MessageListReply, RequestError>;
    type IntoFuture = Reply<MessageListReply>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let is_around = self.around.is_some();
            let operation = MessageList {
                room_id: self.room.room_id,
                order: (self.order == Order::Asc && !is_around).then_some(Order::Asc),
                cursor: self.cursor.filter(|_| !is_around),
                include_cursor: None,
                around: self.around,
                is_pinned: None,
                limit: Some(page_limit(self.limit)?),
            };
            request(&self.room.client, operation, self.options).await
        })
    }
}

pub(crate) fn page_limit(limit: usize) -> Result<Limit, parlour_protocol::InvalidValue> {
    Limit::new(i64::try_from(limit.clamp(1, 1000)).unwrap_or(1000))
}

/// A subscription to make: await it for the server's verdict.
#[derive(Debug, Clone)]
#[must_use = "a room is subscribed when it is awaited"]
pub struct Subscribe {
    room: Room,
    subscription: Subscription,
    options: RequestOptions,
}

impl Subscribe {
    pub(super) fn new(room: Room) -> Self {
        let options = RequestOptions::of(&room.client);
        let subscription = Subscription { history: 50, ..Subscription::default() };
        Self { room, subscription, options }
    }

    /// Goes on from a position kept from an earlier run.
    pub fn since(mut self, position: &Position) -> Self {
        self.subscription.since = Some(position.into());
        self
    }

    /// How many of the newest messages are read at first, and after too much was missed; 50 by default,
    /// 0 reads none.
    pub fn history(mut self, messages: usize) -> Self {
        self.subscription.history = messages.min(1000);
        self
    }

    /// How many messages the timeline keeps; 1000 by default.
    pub fn keep(mut self, messages: usize) -> Self {
        self.subscription.capacity = Some(messages);
        self
    }

    /// How long to wait for the verdict. The room stays subscribed after that.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }
}

impl IntoFuture for Subscribe {
    type Output = Result<Subscribed, RequestError>;
    type IntoFuture = Reply<Subscribed>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { room, subscription, options } = self;
            let room_id = room.room_id;
            let command = |answer| Command::Subscribe { room_id, subscription, answer };
            room.client.ask_until(Instant::now() + options.deadline, command).await
        })
    }
}
