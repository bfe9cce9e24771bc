//! The kinds of messages and what can be done with each.

use serde::{Deserialize, Serialize};

use crate::wire::IsEmpty;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "codegen", derive(schemars::JsonSchema))]
pub enum MessageType {
    /// Written by a member, a forward or a job.
    Message,
    /// A question with options.
    Poll,
    /// Posted through a webhook.
    Webhook,
    /// Joined, left, added, removed, kicked, banned.
    System,
    /// The room's name was changed.
    EditRoom,
    /// A message was pinned.
    PinMessage,
    /// A call was held.
    Call,
}

impl IsEmpty for MessageType {
    fn is_empty(&self) -> bool {
        false
    }
}

/// What is done with a message, as far as its type decides whether it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageOperation {
    /// `message.edit`, `file.delete`, `preview.delete`.
    Update,
    /// `message.delete`.
    Delete,
    /// `message.pin`, `message.unpin`.
    Pin,
    /// `poll.vote`.
    Vote,
    /// `message.forward`.
    Forward,
    /// Reactions, replies to it.
    Respond,
}

/// Who may do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permitted {
    /// Nobody: `bad_request`.
    Nobody,
    /// Whoever reads the room.
    Reader,
    /// The message's author, or ManageMessages.
    Author,
    /// ManageMessages.
    ManageMessages,
}

impl MessageType {
    /// Every type.
    pub const ALL: [Self; 7] =
        [Self::Message, Self::Poll, Self::Webhook, Self::System, Self::EditRoom, Self::PinMessage, Self::Call];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "Message",
            Self::Poll => "Poll",
            Self::Webhook => "Webhook",
            Self::System => "System",
            Self::EditRoom => "EditRoom",
            Self::PinMessage => "PinMessage",
            Self::Call => "Call",
        }
    }

    /// The type of a stored name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|message_type| message_type.as_str() == name)
    }

    /// Whether the body is sanitised HTML rather than plain text.
    pub const fn is_markup(self) -> bool {
        matches!(self, Self::Message | Self::Webhook)
    }

    /// Whether it counts as unread and as a room's activity.
    pub const fn counts_as_unread(self) -> bool {
        matches!(self, Self::Message | Self::Poll | Self::Webhook)
    }

    /// The operation map: who may do what with a message of this type.
    pub const fn permitted(self, operation: MessageOperation) -> Permitted {
        use MessageOperation::{Delete, Forward, Pin, Respond, Update, Vote};
        match (self, operation) {
            (Self::Message, Update | Delete | Pin) | (Self::Poll, Delete | Pin) => Permitted::Author,
            (Self::Webhook, Update | Delete | Pin) => Permitted::ManageMessages,
            (Self::Poll, Vote) | (Self::Message | Self::Webhook, Forward) => Permitted::Reader,
            (
                Self::Message
                | Self::Poll
                | Self::Webhook
                | Self::System
                | Self::EditRoom
                | Self::PinMessage
                | Self::Call,
                Respond,
            ) => Permitted::Reader,
            (Self::Message | Self::Webhook, Vote)
            | (Self::Poll, Update | Forward)
            | (Self::System | Self::EditRoom | Self::PinMessage | Self::Call, Update | Delete | Pin | Vote | Forward) => {
                Permitted::Nobody
            }
        }
    }
}
