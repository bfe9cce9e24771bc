//! WebSocket transport: handshake, frames, connections, and the order in which a socket's commands are begun.

pub(crate) mod codec;
pub(crate) mod connection;
pub(crate) mod dispatch;
pub(crate) mod heartbeat;
pub(crate) mod upgrade;
