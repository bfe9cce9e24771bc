//! A scripted server for tests: it speaks the protocol over in-memory sockets and misbehaves on demand.

mod room_model;

pub use room_model::{LogEntry, RoomModel};
