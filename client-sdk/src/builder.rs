//! How a client is made.

use std::{fmt, future::Future, path::PathBuf, sync::Arc, time::Duration};

use parlour_protocol::{Secret, Text, codec::Codec, operation::ClientInfo};

use crate::{
    auth::{Credentials, TokenResult, TokenSource, parse_address},
    client::Client,
    driver::{Driver, Target},
    error::{ConnectError, ConnectErrorKind},
    outbox::{Patience, journal::Journal},
    transport::BoxStream,
};

/// How a client opens a stream of bytes to its server. Tests give their own.
pub(crate) type Dialer =
    Arc<dyn Fn() -> futures_util::future::BoxFuture<'static, std::io::Result<BoxStream>> + Send + Sync>;

/// Makes a [`Client`].
#[must_use]
pub struct ClientBuilder {
    server: String,
    source: Option<TokenSource>,
    log_in: Option<(String, Secret)>,
    name: String,
    version: String,
    codec: Codec,
    echo: bool,
    patience: Patience,
    outbox_capacity: usize,
    outbox_file: Option<PathBuf>,
    event_capacity: usize,
    connect_deadline: Duration,
    request_deadline: Duration,
    dialer: Option<Dialer>,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What the driver needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) echo: bool,
    pub(crate) patience: Patience,
    pub(crate) request_deadline: Duration,
}

impl ClientBuilder {
    pub(crate) fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            source: None,
            log_in: None,
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            codec: Codec::Json,
            echo: true,
            patience: Patience::Wait,
            outbox_capacity: 1000,
            outbox_file: None,
            event_capacity: 4096,
            connect_deadline: Duration::from_secs(30),
            request_deadline: Duration::from_secs(30),
            dialer: None,
        }
    }

    /// Uses a token. When the server no longer takes it the client stops.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.source = Some(TokenSource::Fixed(Secret::new(token)));
        self
    }

    /// Logs in with a name and a password, and again whenever the server wants it.
    pub fn log_in(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.log_in = Some((name.into(), Secret::new(password)));
        self
    }

    /// Asks the program for a token at first, when the old one is refused, and before it expires. An error
    /// stops the client.
    pub fn token_from<F>(mut self, callback: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = TokenResult> + Send + 'static,
    {
        self.source = Some(TokenSource::Callback(Arc::new(move || Box::pin(callback()))));
        self
    }

    /// The program's name and version, as the account's list of sessions shows them.
    pub fn program(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        (self.name, self.version) = (name.into(), version.into());
        self
    }

    /// The encoding of frames; JSON by default.
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Whether the server also sends what this client caused itself; true by default. With `false` own
    /// messages and reactions enter the timelines from the replies.
    pub fn echo(mut self, echo: bool) -> Self {
        self.echo = echo;
        self
    }

    /// What to do by default when the server asks to wait.
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Creating commands that may wait for their answers at once; 1000 by default. Beyond it they are refused.
    pub fn outbox_capacity(mut self, capacity: usize) -> Self {
        self.outbox_capacity = capacity;
        self
    }

    /// Keeps the outbox in a file, so that it survives a restart. A file belongs to one account and to one
    /// client at a time.
    pub fn outbox_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.outbox_file = Some(path.into());
        self
    }

    /// Events that an event stream buffers; 4096 by default. Beyond it the oldest are dropped and the
    /// stream says so.
    pub fn event_capacity(mut self, capacity: usize) -> Self {
        self.event_capacity = capacity.max(1);
        self
    }

    /// How long [`Self::connect`] tries; 30 s by default.
    pub fn connect_deadline(mut self, deadline: Duration) -> Self {
        self.connect_deadline = deadline;
        self
    }

    /// How long a request waits for its answer unless it says otherwise; 30 s by default.
    pub fn request_deadline(mut self, deadline: Duration) -> Self {
        self.request_deadline = deadline;
        self
    }

    /// Opens streams of bytes in place of TCP and TLS.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn dialer(mut self, dialer: Dialer) -> Self {
        self.dialer = Some(dialer);
        self
    }

    /// Connects, and returns when the server has said hello. Failures that may pass are tried again until
    /// the deadline.
    ///
    /// # Errors
    /// See [`ConnectErrorKind`].
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let deadline = self.connect_deadline;
        let client = self.start()?;
        match tokio::time::timeout(deadline, client.connected()).await {
            Ok(Ok(())) => Ok(client),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                let error = client.last_failure().unwrap_or_else(|| "no answer".into());
                client.close_within(Duration::ZERO).await;
                Err(ConnectError::with_source(ConnectErrorKind::DeadlinePassed, error.to_string()))
            }
        }
    }

    /// Starts a client that connects in the background. It can be used at once: what is sent waits.
    ///
    /// # Errors
    /// When the address is not one, there are no credentials, or the outbox file cannot be used.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(self) -> Result<Client, ConnectError> {
        let server =
            parse_address(&self.server).map_err(|error| ConnectError::with_source(ConnectErrorKind::Address, error))?;
        let source = match (self.source, self.log_in) {
            (Some(source), _) => source,
            (None, Some((name, password))) => TokenSource::LogIn { server: server.clone(), name, password },
            (None, None) => {
                return Err(ConnectError::with_source(ConnectErrorKind::Unauthenticated, "no token and no log-in"));
            }
        };
        let cut = |text: &str, length: usize| text.chars().filter(|c| *c != '\0').take(length).collect::<String>();
        let client = ClientInfo {
            name: Text::new(cut(&self.name, 100)).map_err(invalid)?,
            version: Text::new(cut(&self.version, 50)).map_err(invalid)?,
        };
        let target = Target { server, codec: self.codec, client, dialer: self.dialer };
        let outbox_error = |error| ConnectError::with_source(ConnectErrorKind::Outbox, error);
        let journal = self.outbox_file.as_deref().map(Journal::open).transpose().map_err(outbox_error)?;
        let options = Options { echo: self.echo, patience: self.patience, request_deadline: self.request_deadline };
        Ok(Driver::start(target, Credentials::new(source), options, journal, self.outbox_capacity, self.event_capacity))
    }
}

fn invalid(error: parlour_protocol::InvalidValue) -> ConnectError {
    ConnectError::with_source(ConnectErrorKind::Refused, error)
}
