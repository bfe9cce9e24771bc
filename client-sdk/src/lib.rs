//! The Parlour client: a connection that reconnects by itself, an outbox that loses and doubles nothing,
//! timelines that end as the server's truth, and bots.
//!
//! ```no_run
//! use parlour_client::{Bot, Call, Client};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::builder("http://127.0.0.1:8080").log_in("tea-bot", "correct horse").connect().await?;
//!     Bot::new(client)
//!         .command("tea", |call: Call| async move {
//!             call.reply(format!("One {} coming up!", call.args())).await?;
//!             Ok(())
//!         })
//!         .on_mention(|call: Call| async move {
//!             call.reply("You called? Try **!tea oolong**.").markdown().await?;
//!             Ok(())
//!         })
//!         .run()
//!         .await?;
//!     Ok(())
//! }
//! ```
//!
//! A [`Client`] is a cheap handle; clones share one connection, which one task owns. [`Room`] is a room's
//! handle: [`Room::subscribe`] it once, and its events and its timeline are kept up over every reconnect.
//! [`Client::request`] makes any operation of the protocol. What creates something has a nonce and waits in
//! the outbox until its outcome is certain; with [`ClientBuilder::outbox_file`] over restarts too.
//!
//! What surrounds messages reads as one would say it:
//!
//! ```no_run
//! # async fn example(client: parlour_client::Client, room: parlour_client::Room) -> Result<(), parlour_client::RequestError> {
//! use parlour_client::{Search, StatusChange, protocol::object::PresenceStatus};
//!
//! let poll = room.send_poll("Tea at four?", ["yes", "no"]).await?;
//! room.react(poll.row_key, "👍").await?;
//! room.pin(poll.row_key).await?;
//! let file = room.upload("menu.txt", "text/plain", "oolong".into()).await?;
//! room.send("The menu.").file(file.file_id).await?;
//! let found = room.search(Search::text("menu"), 10).await?;
//!
//! let ada = client.find_users("Ada", 1).await?.remove(0);
//! client.request_friend(ada.user_id).await?;
//! client.set_status(StatusChange::show(PresenceStatus::Idle).message("at tea")).await?;
//! # let _ = found;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing grows without a bound: the outbox refuses when it is full, a timeline keeps its newest messages,
//! and an event stream that is read too slowly says what it dropped ([`ClientEvent::Lagged`]).
#![warn(missing_docs)]

pub mod auth;
pub mod timeline;

mod backoff;
mod bot;
mod builder;
mod client;
mod command;
mod driver;
mod error;
mod event;
mod feed;
mod outbox;
mod pace;
mod people;
mod room;
mod slash;
mod transfer;
mod transport;
mod when;

#[cfg(any(test, feature = "test-util"))]
pub mod test_util;

pub use parlour_protocol as protocol;

pub use self::{
    bot::{Bot, BotError, BotErrorKind, Call, HandlerError, escape_markdown, plain_text},
    builder::ClientBuilder,
    client::{Client, ConnectionState, Queued, Request},
    command::PendingCommand,
    error::{AuthError, AuthErrorKind, ConnectError, ConnectErrorKind, Error, RequestError, RequestErrorKind},
    event::{ClientEvent, Ending, EventStream, RoomEvent, RoomEvents, RoomItem},
    outbox::Patience,
    people::StatusChange,
    room::{Edit, History, Reschedule, RoleChange, Room, RoomChange, Schedule, Search, Send, Snapshot, Subscribe},
    slash::{Done, Run, SLASH_COMMANDS, Slash, SlashArgument, SlashCommand, SlashError},
    transfer::Download,
    when::{Clock, ClockChange, When, WhenError},
};
