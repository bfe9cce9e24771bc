//! Changes of a room's custom emoji.

use parlour_protocol::{EmojiId, Nonce, object::CustomEmoji};

/// What changes.
#[derive(Debug, Clone)]
pub enum EmojiChange {
    /// A new one, whose upload is taken.
    Create {
        /// The emoji.
        emoji: Box<CustomEmoji>,
        /// Most that the room can have.
        most: u32,
        /// The operation's nonce, remembered in the same commit.
        nonce: Option<Nonce>,
    },
    /// A new name; nothing when it is the same.
    Rename {
        /// Which.
        emoji_id: EmojiId,
        /// The name.
        name: String,
    },
    /// The end of one.
    Delete {
        /// Which.
        emoji_id: EmojiId,
    },
}
