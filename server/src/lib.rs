//! The Parlour server.

mod http;
mod ws;
