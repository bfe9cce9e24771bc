//! The Parlour server. Read it in the order of a message: `ws` → `messages` → `store` → `bus` → `hub` → `ws`.

pub(crate) mod accounts;
pub(crate) mod app;
#[cfg(feature = "azure-blob")]
pub(crate) mod azure;
pub(crate) mod blobs;
pub mod bus;
pub mod cli;
pub(crate) mod clock;
mod config;
pub(crate) mod cursor;
pub(crate) mod directory;
pub(crate) mod dispatch;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod filter;
mod http;
pub(crate) mod hub;
pub(crate) mod messages;
pub(crate) mod moderation;
pub(crate) mod notifications;
pub(crate) mod page;
pub(crate) mod people;
pub(crate) mod previews;
pub(crate) mod push;
mod rates;
pub(crate) mod rooms;
pub(crate) mod schedule;
pub(crate) mod search;
#[cfg(feature = "service-bus")]
pub(crate) mod service_bus;
mod shutdown;
pub mod store;
mod telemetry;
pub(crate) mod unseen;
pub(crate) mod webhooks;
pub(crate) mod ws;

pub use config::environment;
