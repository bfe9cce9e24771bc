//! Errors: one kind per way to fail, with the cause as its source. Match on [`Error::kind`]; the text is
//! for people.

use std::{error::Error as StdError, fmt};

use parlour_protocol::{ErrorCode, ProtocolError};

/// An error of one operation.
pub struct Error<K> {
    kind: K,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl<K> Error<K> {
    pub(crate) fn new(kind: K) -> Self {
        Self { kind, source: None }
    }

    pub(crate) fn with_source(kind: K, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { kind, source: Some(source.into()) }
    }
}

impl<K: Clone> Error<K> {
    /// What went wrong.
    pub fn kind(&self) -> K {
        self.kind.clone()
    }
}

impl<K> Error<K> {
    /// The server's error object, where the server refused.
    pub fn rejection(&self) -> Option<&ProtocolError> {
        self.source.as_deref().and_then(<dyn StdError + Send + Sync>::downcast_ref)
    }
}

impl<K: fmt::Debug> fmt::Debug for Error<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.kind).field("source", &self.source).finish()
    }
}

impl<K: fmt::Display> fmt::Display for Error<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<K: fmt::Debug + fmt::Display> StdError for Error<K> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Why a connection could not be made, or ended for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectErrorKind {
    /// The server's address is not one.
    Address,
    /// The server takes neither this log-in nor this token, and there is no way to a new one.
    Unauthenticated,
    /// The server refuses this client for good: fix the client.
    Refused,
    /// The server could not be reached, or broke the connection off.
    Unreachable,
    /// No connection in time.
    DeadlinePassed,
    /// The outbox file cannot be used.
    Outbox,
}

impl fmt::Display for ConnectErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "not a server's address",
            Self::Unauthenticated => "the server does not accept the log-in or token",
            Self::Refused => "the server refuses this client",
            Self::Unreachable => "the server cannot be reached",
            Self::DeadlinePassed => "no connection in time",
            Self::Outbox => "the outbox file cannot be used",
        })
    }
}

/// Why there is no connection.
pub type ConnectError = Error<ConnectErrorKind>;

/// Why an account command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthErrorKind {
    /// The server's address is not one.
    Address,
    /// The server could not be reached.
    Unreachable,
    /// The server refused.
    Rejected(ErrorCode),
    /// The answer is not of the protocol.
    Malformed,
}

impl fmt::Display for AuthErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("not a server's address"),
            Self::Unreachable => f.write_str("the server cannot be reached"),
            Self::Rejected(code) => write!(f, "the server refused: {code}"),
            Self::Malformed => f.write_str("the answer is not of the protocol"),
        }
    }
}

/// Why an account command failed.
pub type AuthError = Error<AuthErrorKind>;

/// Why a request was not answered as wished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestErrorKind {
    /// The server refused; [`Error::rejection`] has its error object.
    Rejected(ErrorCode),
    /// No answer in time. A creating command stays in the outbox and is still delivered.
    DeadlinePassed,
    /// The client is closed.
    Closed,
    /// The request breaks a rule of the protocol, or is one that the client makes by itself.
    Invalid,
    /// The request does not fit a frame.
    TooLarge,
    /// The outbox is full.
    OutboxFull,
    /// The outbox file could not be written; nothing was sent.
    Storage,
    /// The answer is not of the protocol.
    Malformed,
    /// The room is not subscribed.
    NotSubscribed,
    /// A file's bytes did not get through.
    TransferFailed,
}

impl fmt::Display for RequestErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(code) => return write!(f, "the server refused: {code}"),
            Self::DeadlinePassed => "no answer in time",
            Self::Closed => "the client is closed",
            Self::Invalid => "the request breaks a rule of the protocol",
            Self::TooLarge => "the request does not fit a frame",
            Self::OutboxFull => "the outbox is full",
            Self::Storage => "the outbox file could not be written",
            Self::Malformed => "the answer is not of the protocol",
            Self::NotSubscribed => "the room is not subscribed",
            Self::TransferFailed => "the file did not get through",
        }
        .fmt(f)
    }
}

/// Why a request was not answered as wished.
pub type RequestError = Error<RequestErrorKind>;

impl From<ProtocolError> for RequestError {
    fn from(error: ProtocolError) -> Self {
        Self::with_source(RequestErrorKind::Rejected(error.code), error)
    }
}

impl From<parlour_protocol::InvalidValue> for RequestError {
    fn from(error: parlour_protocol::InvalidValue) -> Self {
        Self::with_source(RequestErrorKind::Invalid, error)
    }
}
