//! The objects that replies and events carry.

mod message;
mod people;
mod room;

pub use message::{
    AppUser, File, LinkPreview, LinkPreviewVideo, Message, MessageAppUser, MessageChange, MessageDelta, Mine, Poll,
    PollOption, PollTally, Reaction, ThreadSummary,
};
pub use people::{
    Friend, FriendRequest, FriendRequestDirection, PresenceStatus, PushSubscription, Session, SessionClient, Status,
    User,
};
pub use room::{
    Ban, Category, CustomEmoji, Filter, FilterAction, FilterWord, Head, Invite, InviteRoom, Job, JobError, JobPayload,
    JobState, Member, MemberRoles, Membership, MimeCategory, ModerationAction, ModerationLogEntry, Note,
    NotificationType, Role, RoleSummary, Room, RoomType, RoomView, Upload, Webhook,
};

use serde::{Deserialize, Serialize};

use crate::wire::IsEmpty;

object! {
    /// An empty object.
    pub struct Empty {}
}

macro_rules! list_object {
    ($( $(#[$meta:meta])* $name:ident $schema:literal { $( $(#[$field_meta:meta])* $field:ident : $type:ty ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "codegen", derive(schemars::JsonSchema), schemars(rename = $schema))]
        #[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
        pub struct $name<T> {
            $( $(#[$field_meta])*
                #[serde(default, skip_serializing_if = "IsEmpty::is_empty")]
                pub $field: $type, )*
        }
    )* };
}

list_object! {
    /// A page of a list.
    Page "Page_for_{T}" {
        /// The items of this page; fewer than `limit`, none included, says nothing about the end.
        items: Vec<T>,
        /// Where the next page begins.
        next_cursor: String,
        /// Whether there is a next page.
        has_more: bool,
    }

    /// A page of a search.
    OffsetPage "OffsetPage_for_{T}" {
        /// The items of this page.
        items: Vec<T>,
        /// Whether there is a next page.
        has_more: bool,
        /// How many there are in all.
        total: u64,
    }

    /// All items of a short list.
    Items "Items_for_{T}" {
        /// The items.
        items: Vec<T>,
    }
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next_cursor: String::new(), has_more: false }
    }
}

macro_rules! never_empty {
    ($($name:ty),* $(,)?) => { $( impl IsEmpty for $name { fn is_empty(&self) -> bool { false } } )* };
}
never_empty!(
    RoomType,
    NotificationType,
    FilterAction,
    JobState,
    ModerationAction,
    FriendRequestDirection,
    PresenceStatus,
    Head,
);
