//! Friends, blocks, direct messages and presence.

mod account;
mod direct_messages;
mod friends;
mod status;

pub use self::status::StatusChange;
