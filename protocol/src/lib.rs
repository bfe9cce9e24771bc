//! The Parlour wire protocol, version 1: ids, objects, commands, events, errors and codecs.
//!
//! The story of a connection reads in this order: a client's [`frame::CommandFrame`] names an
//! [`operation::Operation`]; the server answers a [`frame::ReplyFrame`] and, to everybody concerned,
//! an [`event::Event`]. A message is identified everywhere by its [`MessageKey`].
//!
//! The crate does no I/O. Every type validates itself while it is decoded, so that a value that
//! exists is a value that the protocol allows.

#[macro_use]
mod wire;

mod codegen_support;
mod constrained;
mod error;
mod ids;
mod permissions;
mod row_key;
mod timestamp;

pub mod account;
pub mod close;
pub mod codec;
#[cfg(feature = "codegen")]
pub mod codegen;
pub mod event;
pub mod frame;
pub mod limits;
pub mod message_type;
pub mod object;
pub mod operation;

pub use constrained::{Distinct, Int, InvalidValue, List, Name, Nonce, Secret, Set, Text};
pub use error::{ErrorCode, ProtocolError};
pub use event::{ControlEvent, DurableEvent, EphemeralEvent, Event, UserEvent};
pub use ids::{
    AppUserId, CategoryId, ConnectionId, EmojiId, FileId, InviteId, JobId, LogEntryId, OptionId, RoleId, RoomId,
    SessionId, UserId, WebhookId,
};
pub use message_type::MessageType;
pub use operation::{Class, Command, Operation};
pub use permissions::Permissions;
pub use row_key::{MessageKey, RowKey};
pub use timestamp::Timestamp;
pub use wire::{IsEmpty, Maybe, Patch};
