//! Identifiers. On the wire they are lower-case UUID text, but for [`InviteId`].

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::{Distinct, InvalidValue, wire::IsEmpty};

macro_rules! id {
    ($( $(#[$meta:meta])* $name:ident ),* $(,)?) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, ordered by the time of its making.
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id of a stored UUID.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID behind the id.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.as_hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_uuid(text).map(Self)
            }
        }

        impl IsEmpty for $name {
            fn is_empty(&self) -> bool {
                false
            }
        }

        impl Distinct for $name {
            type Key = Self;

            fn key(&self) -> Self {
                *self
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.0.as_hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::constrained::from_text(deserializer, "a lower-case UUID", str::parse)
            }
        }

        #[cfg(feature = "codegen")]
        crate::codegen_support::text_schema!($name, "format": "uuid");
    )* };
}

id! {
    /// A room, or a direct message.
    RoomId,
    /// An account.
    UserId,
    /// One socket.
    ConnectionId,
    /// One log-in.
    SessionId,
    /// A role of a room.
    RoleId,
    /// A stored file.
    FileId,
    /// A room's custom emoji.
    EmojiId,
    /// A scheduled message or reminder.
    JobId,
    /// An inbound webhook.
    WebhookId,
    /// The sender that a webhook's messages show.
    AppUserId,
    /// A personal folder of rooms.
    CategoryId,
    /// An option of a poll.
    OptionId,
    /// An entry of the moderation log, or a note.
    LogEntryId,
}

fn parse_uuid(text: &str) -> Result<Uuid, InvalidValue> {
    let canonical = text.len() == 36 && !text.bytes().any(|byte| byte.is_ascii_uppercase());
    canonical.then(|| Uuid::try_parse(text).ok()).flatten().ok_or(InvalidValue::new("must be a lower-case UUID"))
}

/// An invite's code: eight ASCII letters and digits, case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InviteId([u8; 8]);

impl InviteId {
    /// The letters and digits of a code.
    pub const ALPHABET: &'static [u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("an invite id is ASCII")
    }
}

impl fmt::Display for InviteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InviteId {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        <[u8; 8]>::try_from(text.as_bytes())
            .ok()
            .filter(|code| code.iter().all(u8::is_ascii_alphanumeric))
            .map(Self)
            .ok_or(InvalidValue::new("must be 8 letters and digits"))
    }
}

impl IsEmpty for InviteId {
    fn is_empty(&self) -> bool {
        false
    }
}

impl Serialize for InviteId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for InviteId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "an invite id", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(InviteId, "pattern": "^[A-Za-z0-9]{8}$");
