//! A scripted server for tests: it speaks the protocol over in-memory sockets, so that tests run on paused
//! time, and misbehaves on demand.

mod fault;
mod process;
mod room_model;
mod server;
mod world;

pub use fault::{EventFault, Fault};
pub use process::{SERVER_BINARY, ServerProcess};
pub use room_model::{LogEntry, RoomModel};
pub use server::FakeServer;
pub use world::Received;
