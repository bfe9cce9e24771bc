//! The frames: commands from a client; replies and events from the server.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, value::RawValue};

use crate::{
    Event, ProtocolError, RoomId,
    event::{EventParts, Place},
};

/// The largest command id: what a JavaScript number holds exactly.
pub const LARGEST_ID: u64 = (1 << 53) - 1;

/// A command frame as a client writes it. A server reads one with [`crate::codec::decode_command_frame`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandFrame {
    /// Unique among the connection's commands in flight.
    pub id: u64,
    /// The operation.
    pub op: String,
    /// Its data.
    #[serde(default)]
    pub data: Value,
}

/// A reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyFrame<T> {
    /// The command's id.
    pub id: u64,
    /// Its outcome.
    pub result: Result<T, ProtocolError>,
}

impl<T: Serialize> Serialize for ReplyFrame<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("id", &self.id)?;
        match &self.result {
            Ok(data) => map.serialize_entry("data", data)?,
            Err(error) => map.serialize_entry("error", error)?,
        }
        map.end()
    }
}

/// What a client receives.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerFrame {
    /// The outcome of a command.
    Reply(ReplyFrame<Value>),
    /// An event; none when this version does not know it.
    Event(Option<Event>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyFrame {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    error: Option<ProtocolError>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    room_id: Option<RoomId>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    sub: Option<u64>,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawFrame<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    error: Option<ProtocolError>,
    #[serde(borrow, default)]
    event: Option<Cow<'a, str>>,
    #[serde(default)]
    room_id: Option<RoomId>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    sub: Option<u64>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

impl ServerFrame {
    /// Reads JSON text, the data of an event without a tree in between.
    pub(crate) fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        let RawFrame { id, error, event, room_id, seq, sub, data } = serde_json::from_slice(bytes)?;
        let data = data.map_or("null", RawValue::get);
        match (id, event) {
            (Some(id), _) => {
                let result = error.map_or_else(|| serde_json::from_str(data).map(Ok), |error| Ok(Err(error)))?;
                Ok(Self::Reply(ReplyFrame { id, result }))
            }
            (None, Some(event)) => {
                let data = if data == "null" { "{}" } else { data };
                Event::decode_json(&event, Place { room_id, seq, sub }, data).map(Self::Event)
            }
            (None, None) => Err(serde_json::Error::custom("neither a reply nor an event")),
        }
    }
}

impl<'de> Deserialize<'de> for ServerFrame {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let AnyFrame { id, error, event, room_id, seq, sub, data } = AnyFrame::deserialize(deserializer)?;
        match (id, event) {
            (Some(id), _) => Ok(Self::Reply(ReplyFrame { id, result: error.map_or(Ok(data), Err) })),
            (None, Some(event)) => {
                Event::decode(EventParts { event, room_id, seq, sub, data }).map(Self::Event).map_err(D::Error::custom)
            }
            (None, None) => Err(D::Error::custom("neither a reply nor an event")),
        }
    }
}
