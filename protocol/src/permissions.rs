//! What a member may do in a room.

use std::{fmt, ops::BitOr, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{InvalidValue, wire::IsEmpty};

/// A set of permission bits; on the wire its decimal text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Permissions(u64);

macro_rules! bits {
    ($($bit:literal $constant:ident $name:literal $doc:literal;)*) => {
        impl Permissions {
            $( #[doc = $doc] pub const $constant: Self = Self(1 << $bit); )*

            /// Every bit with its name.
            pub const NAMED: &'static [(&'static str, Self)] = &[$(($name, Self::$constant)),*];
        }
    };
}

bits! {
    0 READ_MESSAGES "ReadMessages" "Subscribe to the room and read it.";
    1 SEND_MESSAGES "SendMessages" "Send messages, upload files, show typing.";
    2 MANAGE_MESSAGES "ManageMessages" "Edit, delete and pin the messages of others; warn.";
    3 MENTION_EVERYONE "MentionEveryone" "Mention `@everyone`, `@here` and roles.";
    4 MANAGE_ROOM "ManageRoom" "Change settings, filter and invites; read the moderation log.";
    5 MANAGE_ROLES "ManageRoles" "Make, change and assign roles below one's own.";
    6 MANAGE_INVITES "ManageInvites" "Make invites.";
    7 KICK_MEMBERS "KickMembers" "Kick, time out, and keep notes.";
    8 BAN_MEMBERS "BanMembers" "Ban and unban.";
    9 MUTE_MEMBERS "MuteMembers" "Mute in calls.";
    10 MOVE_MEMBERS "MoveMembers" "Remove from calls.";
    11 MANAGE_NICKNAMES "ManageNicknames" "Change the nicknames of others.";
    12 MANAGE_WEBHOOKS "ManageWebhooks" "Make and change webhooks.";
    13 MANAGE_EMOJIS "ManageEmojis" "Make and change custom emoji.";
    14 ADMINISTRATOR "Administrator" "Every bit; does not lift the hierarchy or touch the owner.";
}

impl Permissions {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// Every bit: what the owner and an Administrator have.
    pub const ALL: Self = Self((1 << 15) - 1);
    /// What `@everyone` of a new room has.
    pub const EVERYONE: Self = Self(75);
    /// What everyone in a direct message has.
    pub const DIRECT_MESSAGE: Self = Self(11);

    /// A stored set; bits that have no meaning are dropped.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether every bit of `other` is held; Administrator holds all.
    pub const fn allows(self, other: Self) -> bool {
        self.0 & Self::ADMINISTRATOR.0 != 0 || self.0 & other.0 == other.0
    }

    /// The set as it counts: Administrator widened to every bit.
    pub const fn effective(self) -> Self {
        if self.0 & Self::ADMINISTRATOR.0 == 0 { self } else { Self::ALL }
    }
}

impl BitOr for Permissions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMED.iter().filter(|(_, bit)| self.0 & bit.0 != 0).map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}

impl FromStr for Permissions {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse::<u64>()
            .ok()
            .filter(|bits| bits & !Self::ALL.0 == 0 && text.bytes().all(|byte| byte.is_ascii_digit()))
            .map(Self)
            .ok_or(InvalidValue::new("must be the decimal text of a set of the bits 0 to 14"))
    }
}

impl IsEmpty for Permissions {
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "a permission set as decimal text", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Permissions, "pattern": "^[0-9]+$");
