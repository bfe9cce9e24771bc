//! WebSocket transport: handshake, frames, connections. It moves bytes and knows nothing of messages.

pub(crate) mod codec;
pub(crate) mod upgrade;

/// How frames are encoded on a connection, fixed by its subprotocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Json,
    MsgPack,
}

impl Encoding {
    /// The subprotocol's name.
    pub(crate) const fn subprotocol(self) -> &'static str {
        match self {
            Self::Json => "parlour.v1.json",
            Self::MsgPack => "parlour.v1.msgpack",
        }
    }

    /// The kind of data frame that carries this encoding.
    pub(crate) const fn data_kind(self) -> codec::DataKind {
        match self {
            Self::Json => codec::DataKind::Text,
            Self::MsgPack => codec::DataKind::Binary,
        }
    }
}
