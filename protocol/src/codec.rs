//! The two encodings of one model: JSON text frames and MessagePack binary frames.

mod objects;
mod transcode;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use self::objects::Objects;

use crate::{
    ErrorCode, Operation, ProtocolError,
    frame::{LARGEST_ID, ServerFrame},
};

/// How the frames of a connection are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codec {
    /// Text frames.
    #[default]
    Json,
    /// Binary frames: the same model, maps with the same text keys, ids and times as text.
    MessagePack,
}

impl Codec {
    /// The WebSocket subprotocol that stands for it.
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Self::Json => "parlour.v1.json",
            Self::MessagePack => "parlour.v1.msgpack",
        }
    }

    /// The encoding of a subprotocol.
    pub fn from_subprotocol(name: &str) -> Option<Self> {
        [Self::Json, Self::MessagePack].into_iter().find(|codec| codec.subprotocol() == name)
    }

    /// Encodes a frame.
    ///
    /// # Panics
    /// Never: the frames of this crate have text keys and no floats.
    pub fn encode<T: Serialize + ?Sized>(self, frame: &T) -> Vec<u8> {
        match self {
            Self::Json => serde_json::to_vec(frame).expect("a frame of the protocol encodes"),
            Self::MessagePack => rmp_serde::to_vec_named(frame).expect("a frame of the protocol encodes"),
        }
    }

    /// Decodes a server's frame.
    ///
    /// # Errors
    /// When the bytes are not a frame of the protocol.
    pub fn decode_server_frame(self, bytes: &[u8]) -> Result<ServerFrame, DecodeError> {
        match self {
            Self::Json => ServerFrame::from_json(bytes).map_err(|error| DecodeError(error.to_string())),
            Self::MessagePack => rmp_serde::from_slice(bytes).map_err(|error| DecodeError(error.to_string())),
        }
    }
}

/// Bytes that are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a frame: {0}")]
pub struct DecodeError(String);

/// A client's frame with its data as JSON text.
#[derive(Debug, PartialEq)]
pub struct Incoming<'a> {
    /// The command's id.
    pub id: u64,
    /// The operation.
    pub op: std::borrow::Cow<'a, str>,
    /// Its data as JSON; `{}` when absent.
    pub data: std::borrow::Cow<'a, str>,
}

/// Why a client's bytes are no command frame; the socket is closed with 4400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Neither JSON nor MessagePack, as agreed.
    #[error("not a {0} document")]
    Encoding(&'static str),
    /// Not an object, no `op`, or a bad `id`.
    #[error("a command is an object with `id` (1 to 2^53 - 1) and `op`")]
    Shape,
}

/// Reads a client's frame.
///
/// # Errors
/// When the bytes are not a command frame.
pub fn decode_command_frame(codec: Codec, bytes: &[u8]) -> Result<Incoming<'_>, FrameError> {
    let incoming = match codec {
        Codec::Json => {
            let text = std::str::from_utf8(bytes).map_err(|_| FrameError::Encoding("JSON"))?;
            let frame: RawCommand<'_> = serde_json::from_str(text)
                .map_err(|error| if error.is_data() { FrameError::Shape } else { FrameError::Encoding("JSON") })?;
            if !text.trim_ascii_start().starts_with('{') {
                return Err(FrameError::Shape);
            }
            Incoming { id: frame.id, op: frame.op, data: frame.data.map_or("{}", RawValue::get).into() }
        }
        Codec::MessagePack => {
            let parts = transcode::command(bytes).map_err(|_| FrameError::Encoding("MessagePack"))?;
            let Some(transcode::Parts { id: Some(id), op: Some(op), data }) = parts else {
                return Err(FrameError::Shape);
            };
            Incoming { id, op: op.into(), data: data.unwrap_or("{}".to_owned()).into() }
        }
    };
    let incoming = if incoming.data == "null" { Incoming { data: "{}".into(), ..incoming } } else { incoming };
    if incoming.id == 0 || incoming.id > LARGEST_ID {
        return Err(FrameError::Shape);
    }
    Ok(incoming)
}

#[derive(serde::Deserialize)]
struct RawCommand<'a> {
    id: u64,
    #[serde(borrow)]
    op: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Decodes a command's data.
///
/// # Errors
/// `bad_request` with a JSON pointer to what is wrong.
pub fn decode_data<T: Operation>(data: &str) -> Result<T, ProtocolError> {
    let data: T = decode_body(data)?;
    data.check()?;
    Ok(data)
}

/// Decodes an HTTP body.
///
/// # Errors
/// `bad_request` with a JSON pointer to what is wrong.
pub fn decode_body<T: DeserializeOwned>(data: &str) -> Result<T, ProtocolError> {
    let mut deserializer = serde_json::Deserializer::from_str(data);
    let decoded = T::deserialize(Objects(&mut deserializer)).and_then(|decoded| {
        deserializer.end()?;
        Ok(decoded)
    });
    decoded.map_err(|_| explain::<T>(data))
}

/// Decodes again, slower, to learn where the fault lies.
fn explain<T: DeserializeOwned>(data: &str) -> ProtocolError {
    let mut deserializer = serde_json::Deserializer::from_str(data);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(Objects(&mut deserializer)) else {
        return ProtocolError::bad_request("characters after the data");
    };
    let mut pointer = String::new();
    for segment in error.path() {
        use serde_path_to_error::Segment;
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    let inner = error.inner();
    if inner.is_eof() || inner.is_syntax() && pointer.is_empty() {
        return ProtocolError::bad_request("the data is not well-formed JSON");
    }
    let text = inner.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    if let Some(name) = reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        pointer.push_str(&format!("/{name}"));
        return ProtocolError::bad_field(pointer, "is missing");
    }
    let message = reason.to_owned();
    if pointer.is_empty() {
        ProtocolError::new(ErrorCode::BadRequest, message)
    } else {
        ProtocolError::bad_field(pointer, message)
    }
}
