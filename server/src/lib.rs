//! The Parlour server. Read it in the order of a message: `ws` → `messages` → `store` → `bus` → `hub` → `ws`.

pub mod bus;
mod http;
pub(crate) mod hub;
pub mod store;
pub(crate) mod ws;
