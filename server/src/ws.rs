//! WebSocket transport: handshake, frames, connections. It moves bytes and knows nothing of messages.

pub(crate) mod codec;
pub(crate) mod connection;
pub(crate) mod dispatch;
pub(crate) mod heartbeat;
pub(crate) mod upgrade;
