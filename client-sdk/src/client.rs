//! The handle of a client: cheap to clone, alive as long as one clone is.

use std::{future::IntoFuture, marker::PhantomData, pin::Pin, sync::Arc, time::Duration};

use parlour_protocol::{
    InviteId, Name, Nonce, Operation, RoomId, Text, Timestamp,
    limits::Limits,
    object::{Page, RoomView, User},
    operation::{Class, Cursor, HelloReply, InviteJoin, Limit, RoomCreate, RoomGet, RoomList, RoomOrder},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    builder::{ClientBuilder, Options},
    command::{Answer, Ask, Command, PendingCommand, Post},
    error::{ConnectError, ConnectErrorKind, RequestError, RequestErrorKind},
    event::{ClientEvent, EventStream},
    outbox::{Letter, Patience},
    room::Room,
};

/// How long [`Client::close`] waits for the outbox.
const CLOSE_DEADLINE: Duration = Duration::from_secs(10);

/// Where the connection stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ConnectionState {
    /// The client is connecting.
    Connecting,
    /// The connection stands.
    Connected,
    /// The connection is lost; the client tries again by itself.
    Waiting {
        /// Why it was lost, for people.
        reason: Arc<str>,
        /// When it tries again.
        until: Instant,
    },
    /// The client has stopped for good.
    Closed {
        /// Why; none when the program closed it.
        reason: Option<ConnectErrorKind>,
        /// The same, for people.
        detail: Arc<str>,
    },
}

/// The close of a client.
#[derive(Debug)]
pub(crate) struct Close {
    pub(crate) deadline: Instant,
    pub(crate) answer: oneshot::Sender<usize>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) close: mpsc::Sender<Close>,
    pub(crate) state: watch::Receiver<ConnectionState>,
    pub(crate) hello: watch::Receiver<Option<Arc<HelloReply>>>,
    pub(crate) events: broadcast::WeakSender<ClientEvent>,
    pub(crate) options: Options,
    /// Where files are fetched from.
    pub(crate) server: reqwest::Url,
    pub(crate) driver: std::sync::Mutex<Option<JoinHandle<()>>>,
}

/// A client of one account. Clones share one connection; when the last is dropped, it ends.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

impl Client {
    /// Begins to make a client of the server at `http://…` or `https://…`.
    pub fn builder(server: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(server)
    }

    /// Whose client it is; none before the first connection.
    pub fn user(&self) -> Option<User> {
        self.hello().map(|hello| hello.user.clone())
    }

    /// The server's limits; the protocol's defaults before the first connection.
    pub fn limits(&self) -> Limits {
        self.hello().map(|hello| hello.limits.clone()).unwrap_or_default()
    }

    /// The latest hello of the server; none before the first connection.
    pub fn hello(&self) -> Option<Arc<HelloReply>> {
        self.inner.hello.borrow().clone()
    }

    /// Where the connection stands, and how that changes.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.inner.state.clone()
    }

    /// All events from now on.
    pub fn events(&self) -> EventStream {
        // After the end there is nothing to tell: the stream of a closed channel ends at once.
        let sender = self.inner.events.upgrade().unwrap_or_else(|| broadcast::channel(1).0);
        EventStream::new(sender.subscribe())
    }

    /// A room's handle. It asks nothing of the server.
    pub fn room(&self, room_id: RoomId) -> Room {
        Room::new(self.clone(), room_id)
    }

    /// Makes a request of any operation. Creating commands get a nonce and go through the outbox; reads and
    /// idempotent changes are repeated over reconnects until their deadline.
    pub fn request<T: Operation>(&self, operation: T) -> Request<T> {
        Request { client: self.clone(), options: RequestOptions::of(self), operation }
    }

    /// Makes a room.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn create_room(&self, name: &str) -> Result<RoomView, RequestError> {
        let create = RoomCreate {
            name: Name::new(name)?,
            topic: None,
            image: None,
            is_read_only: None,
            slowmode_ms: None,
            nonce: None,
        };
        self.request(create).await
    }

    /// Joins a room by invite.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn join(&self, invite_id: InviteId) -> Result<RoomView, RequestError> {
        self.request(InviteJoin { invite_id, nonce: None }).await
    }

    /// All rooms of the account that are no direct messages.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn rooms(&self) -> Result<Vec<RoomView>, RequestError> {
        let mut rooms = Vec::new();
        let mut cursor = None;
        loop {
            let list = RoomList {
                order: Some(RoomOrder::Id),
                query: None,
                room_id: None,
                cursor,
                limit: Some(Limit::new(100)?),
            };
            let page = self.request(list).await?;
            rooms.extend(page.items);
            if !page.has_more {
                return Ok(rooms);
            }
            cursor = Some(Text::new(page.next_cursor)?);
        }
    }

    /// The room in which something happened last; none when the account is in no room.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn latest_room(&self) -> Result<Option<RoomView>, RequestError> {
        self.request(RoomGet { room_id: None }).await.map(|view| view.0)
    }

    /// All items of a list, page by page.
    pub(crate) async fn pages<T, I>(
        &self,
        page: impl Fn(Option<Cursor>, Option<Limit>) -> T,
    ) -> Result<Vec<I>, RequestError>
    where
        T: Operation<Reply = Page<I>>,
    {
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let reply = self.request(page(cursor, Some(Limit::new(1000)?))).await?;
            items.extend(reply.items);
            if !reply.has_more {
                return Ok(items);
            }
            cursor = Some(Text::new(reply.next_cursor)?);
        }
    }

    /// The creating commands that wait for an answer, oldest first.
    ///
    /// # Errors
    /// When the client is closed.
    pub async fn pending(&self) -> Result<Vec<PendingCommand>, RequestError> {
        self.ask(|answer| Command::Pending { answer }).await
    }

    /// Takes a command back that was never sent; false when it may have been.
    ///
    /// # Errors
    /// When the client is closed.
    pub async fn withdraw(&self, nonce: Nonce) -> Result<bool, RequestError> {
        self.ask(|answer| Command::Withdraw { nonce, answer }).await
    }

    /// Closes the client: waits up to 10 s for the outbox, and ends the connection. Answers how many
    /// commands of the outbox remain; a file keeps them for the next start.
    pub async fn close(&self) -> usize {
        self.close_within(CLOSE_DEADLINE).await
    }

    /// As [`Self::close`], waiting as long as given for the outbox.
    pub async fn close_within(&self, wait: Duration) -> usize {
        let (answer, remaining) = oneshot::channel();
        let close = Close { deadline: Instant::now() + wait, answer };
        let remaining = match self.inner.close.send(close).await {
            Ok(()) => remaining.await.unwrap_or(0),
            Err(_) => 0,
        };
        let driver = self.inner.driver.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(driver) = driver
            && let Err(error) = driver.await
        {
            tracing::error!(%error, "the driver task failed");
        }
        remaining
    }

    /// Waits until the client has stopped for good.
    pub async fn closed(&self) {
        // An error means that the driver is gone, which is an end as well.
        drop(self.state().wait_for(|state| matches!(state, ConnectionState::Closed { .. })).await);
    }

    pub(crate) async fn connected(&self) -> Result<(), ConnectError> {
        let mut state = self.state();
        let closed = || ConnectError::new(ConnectErrorKind::Unreachable);
        let reached = state
            .wait_for(|state| matches!(state, ConnectionState::Connected | ConnectionState::Closed { .. }))
            .await
            .map_err(|_| closed())?;
        match &*reached {
            ConnectionState::Closed { reason, detail } => {
                let kind = reason.unwrap_or(ConnectErrorKind::Unreachable);
                Err(ConnectError::with_source(kind, detail.to_string()))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn last_failure(&self) -> Option<Arc<str>> {
        match &*self.inner.state.borrow() {
            ConnectionState::Waiting { reason, .. } => Some(Arc::clone(reason)),
            _ => None,
        }
    }

    /// Asks the driver, within the usual deadline.
    pub(crate) async fn ask<T>(&self, command: impl FnOnce(Answer<T>) -> Command) -> Result<T, RequestError> {
        let deadline = Instant::now() + self.inner.options.request_deadline;
        self.ask_until(deadline, command).await
    }

    pub(crate) async fn ask_until<T>(
        &self,
        deadline: Instant,
        command: impl FnOnce(Answer<T>) -> Command,
    ) -> Result<T, RequestError> {
        let (answer, answered) = oneshot::channel();
        let exchange = async {
            self.inner.commands.send(command(answer)).await.map_err(|_| closed())?;
            answered.await.map_err(|_| closed())?
        };
        within(deadline, exchange).await
    }
}

fn closed() -> RequestError {
    RequestError::new(RequestErrorKind::Closed)
}

async fn within<T>(
    deadline: Instant,
    exchange: impl Future<Output = Result<T, RequestError>>,
) -> Result<T, RequestError> {
    tokio::time::timeout_at(deadline, exchange)
        .await
        .unwrap_or_else(|_| Err(RequestError::new(RequestErrorKind::DeadlinePassed)))
}

/// How a request is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestOptions {
    pub(crate) deadline: Duration,
    pub(crate) patience: Patience,
}

impl RequestOptions {
    pub(crate) fn of(client: &Client) -> Self {
        let options = client.inner.options;
        Self { deadline: options.request_deadline, patience: options.patience }
    }
}

/// A request of one operation: await it for the reply.
#[derive(Debug, Clone)]
#[must_use = "a request is made when it is awaited"]
pub struct Request<T> {
    client: Client,
    options: RequestOptions,
    operation: T,
}

impl<T: Operation> Request<T> {
    /// How long to wait for the answer.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }

    /// What to do when the server asks to wait.
    pub fn patience(mut self, patience: Patience) -> Self {
        self.options.patience = patience;
        self
    }

    /// Puts a creating command into the outbox and returns when it is there, and in its file: from then on
    /// it is delivered, whether or not the answer is waited for.
    ///
    /// # Errors
    /// When it is no creating command, the outbox is full or its file cannot be written.
    pub async fn queue(self) -> Result<Queued<T::Reply>, RequestError> {
        let deadline = Instant::now() + self.options.deadline;
        within(deadline, queue(&self.client, self.operation, self.options)).await
    }
}

impl<T: Operation> IntoFuture for Request<T> {
    type Output = Result<T::Reply, RequestError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { client, options, operation } = self;
        Box::pin(async move { request(&client, operation, options).await })
    }
}

pub(crate) async fn request<T: Operation>(
    client: &Client,
    operation: T,
    options: RequestOptions,
) -> Result<T::Reply, RequestError> {
    let deadline = Instant::now() + options.deadline;
    if T::CLASS == Class::New {
        return within(deadline, async { queue(client, operation, options).await?.await }).await;
    }
    let data = encode(&operation)?;
    let RequestOptions { patience, .. } = options;
    let ask = |answer| Command::Ask(Ask { op: T::NAME, class: T::CLASS, data, patience, deadline, answer });
    client.ask_until(deadline, ask).await.and_then(decode)
}

pub(crate) async fn queue<T: Operation>(
    client: &Client,
    operation: T,
    options: RequestOptions,
) -> Result<Queued<T::Reply>, RequestError> {
    if T::CLASS != Class::New {
        return Err(RequestError::with_source(RequestErrorKind::Invalid, "only creating commands are queued"));
    }
    let nonce = operation.nonce().cloned().unwrap_or_else(Nonce::random);
    let mut data = encode(&operation)?;
    if let Value::Object(map) = &mut data {
        map.insert("nonce".into(), nonce.as_str().into());
    }
    // Only the order of sends within a room means something.
    let lane = (T::NAME == "message.send").then(|| data["roomId"].as_str()?.parse().ok()).flatten();
    let letter = Letter {
        op: T::NAME.into(),
        data,
        nonce: nonce.clone(),
        lane,
        patience: options.patience,
        added_at: Timestamp::now(),
    };
    let (queued, is_queued) = oneshot::channel();
    let (answer, answered) = oneshot::channel();
    let post = Command::Post(Post { letter, queued, answer });
    client.inner.commands.send(post).await.map_err(|_| closed())?;
    is_queued.await.map_err(|_| closed())??;
    Ok(Queued { nonce, answered, reply: PhantomData })
}

fn encode<T: Operation>(operation: &T) -> Result<Value, RequestError> {
    serde_json::to_value(operation).map_err(|error| RequestError::with_source(RequestErrorKind::Invalid, error))
}

fn decode<T: DeserializeOwned>(data: Value) -> Result<T, RequestError> {
    let data = if data.is_null() { Value::Object(serde_json::Map::new()) } else { data };
    serde_json::from_value(data).map_err(|error| RequestError::with_source(RequestErrorKind::Malformed, error))
}

/// A command in the outbox: await it for the reply. Dropping it does not take the command back.
#[derive(Debug)]
pub struct Queued<R> {
    nonce: Nonce,
    answered: oneshot::Receiver<Result<Value, RequestError>>,
    reply: PhantomData<fn() -> R>,
}

impl<R> Queued<R> {
    /// The command's nonce.
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }
}

impl<R: DeserializeOwned> Future for Queued<R> {
    type Output = Result<R, RequestError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        Pin::new(&mut self.answered).poll(cx).map(|answer| answer.unwrap_or_else(|_| Err(closed())).and_then(decode))
    }
}
