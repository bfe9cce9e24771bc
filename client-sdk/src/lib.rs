//! The Parlour client.
#![warn(missing_docs)]

pub mod auth;
pub mod timeline;

mod backoff;
mod builder;
mod client;
mod command;
mod driver;
mod error;
mod event;
mod feed;
mod outbox;
mod pace;
mod room;
mod transport;

#[cfg(any(test, feature = "test-util"))]
pub mod test_util;

pub use self::{
    builder::ClientBuilder,
    client::{Client, ConnectionState, Queued, Request},
    command::PendingCommand,
    error::{AuthError, AuthErrorKind, ConnectError, ConnectErrorKind, Error, RequestError, RequestErrorKind},
    event::{ClientEvent, Ending, EventStream, RoomEvent, RoomEvents, RoomItem},
    outbox::Patience,
    room::{Edit, History, Room, Send, Snapshot, Subscribe},
};
pub use parlour_protocol as protocol;
