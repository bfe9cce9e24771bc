//! The Parlour server. Read it in the order of a message: `ws` → `messages` → `store` → `bus` → `hub` → `ws`.

pub(crate) mod accounts;
pub mod bus;
mod config;
mod http;
pub(crate) mod hub;
mod rates;
pub mod store;
pub(crate) mod ws;
