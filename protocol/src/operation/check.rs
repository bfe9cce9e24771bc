//! What the fields of one command must be to each other.

use std::collections::HashSet;

use super::*;
use crate::{
    Patch,
    limits::{INVITE_EXPIRES_IN_MS, INVITE_MAX_USES},
    object::{FilterAction, ModerationAction},
};

/// A command with such rules.
pub(super) trait Checked {
    fn check_fields(&self) -> Result<(), ProtocolError>;
}

fn require(holds: bool, message: &str) -> Result<(), ProtocolError> {
    if holds { Ok(()) } else { Err(ProtocolError::bad_request(message)) }
}

fn require_field(holds: bool, field: &str, message: &str) -> Result<(), ProtocolError> {
    if holds { Ok(()) } else { Err(ProtocolError::bad_field(field, message)) }
}

const NOTHING_GIVEN: &str = "at least one field to change is needed";

impl Checked for SessionRevoke {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require(self.session_id.is_some() != self.others.is_some(), "exactly one of sessionId and others is needed")
    }
}

impl Checked for UserUpdate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { name, image, biography } = self;
        require(name.is_some() || !image.is_keep() || !biography.is_keep(), NOTHING_GIVEN)
    }
}

impl Checked for RoomUpdate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let nothing = Self {
            room_id: self.room_id,
            name: None,
            topic: Patch::Keep,
            image: Patch::Keep,
            is_read_only: None,
            is_invite_paused: None,
            slowmode_ms: Patch::Keep,
            max_file_size_bytes: Patch::Keep,
            allowed_mime_categories: None,
        };
        require(*self != nothing, NOTHING_GIVEN)
    }
}

impl Checked for InviteCreate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let lifetime = self.expires_in_ms.is_none_or(|lifetime| INVITE_EXPIRES_IN_MS.contains(&lifetime));
        require_field(lifetime, "/expiresInMs", "must be one of the values of `limits.inviteExpiresInMs`")?;
        let uses = self.max_uses.is_none_or(|uses| INVITE_MAX_USES.contains(&uses));
        require_field(uses, "/maxUses", "must be one of the values of `limits.inviteMaxUses`")
    }
}

impl Checked for MembershipUpdate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { user_id, notification_type, last_read_at, category_id, .. } = self;
        let is_nickname_alone = notification_type.is_none() && last_read_at.is_none() && category_id.is_keep();
        require(user_id.is_none() || is_nickname_alone, "with userId only nickname can be given")
    }
}

impl Checked for MessageSend {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { r#type, message, files, poll, .. } = self;
        match (r#type.unwrap_or(CreatableType::Message), poll) {
            (CreatableType::Message, None) => Ok(()),
            (CreatableType::Message, Some(_)) => Err(ProtocolError::bad_field("/poll", "only a Poll has a poll")),
            (CreatableType::Poll, None) => Err(ProtocolError::bad_field("/poll", "is missing")),
            (CreatableType::Poll, Some(poll)) => {
                let has_message = message.as_ref().is_some_and(|message| !message.as_str().is_empty());
                require_field(!has_message, "/message", "a Poll has no message")?;
                let has_files = files.as_ref().is_some_and(|files| !files.is_empty());
                require_field(!has_files, "/files", "a Poll has no files")?;
                let mut seen = HashSet::new();
                let are_distinct = poll.options.iter().filter_map(|option| option.id).all(|id| seen.insert(id));
                require_field(are_distinct, "/poll/options", "must not name one thing twice")
            }
        }
    }
}

impl Checked for MessageList {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { order, cursor, include_cursor, around, is_pinned, .. } = self;
        let is_alone = order.is_none() && cursor.is_none() && include_cursor.is_none() && is_pinned.is_none();
        require_field(around.is_none() || is_alone, "/around", "goes with `limit` alone")
    }
}

impl Checked for PollVote {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require_field(!self.option_id.is_keep(), "/optionId", "is missing")
    }
}

fn check_image(mimetype: &str) -> Result<(), ProtocolError> {
    let is_image = mimetype.strip_prefix("image/").is_some_and(|kind| !kind.is_empty());
    require_field(is_image, "/mimetype", "must be an image type")
}

impl Checked for FileCreateImageUpload {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        check_image(&self.mimetype)
    }
}

impl Checked for EmojiCreateUpload {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        check_image(&self.mimetype)
    }
}

impl Checked for ScheduleReschedule {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { run_at, room_id, message, format, reply_row_key, .. } = self;
        let is_given = run_at.is_some() || room_id.is_some() || message.is_some() || format.is_some();
        require(is_given || !reply_row_key.is_keep(), NOTHING_GIVEN)
    }
}

impl Checked for RoleUpdate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { name, color, permissions, position, .. } = self;
        let is_given = name.is_some() || permissions.is_some() || position.is_some();
        require(is_given || !color.is_keep(), NOTHING_GIVEN)
    }
}

impl Checked for ModerationExecute {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require_field(self.r#type != ModerationAction::DeleteBan, "/type", "is written by `moderation.unban` alone")?;
        let is_timeout = self.r#type == ModerationAction::TimeoutUser;
        require_field(!is_timeout || self.duration_ms.is_some(), "/durationMs", "is missing")
    }
}

impl Checked for FilterSet {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let is_timeout = self.action == Some(FilterAction::Timeout);
        let goes_together = is_timeout == self.timeout_duration_ms.is_some();
        require_field(goes_together, "/timeoutDurationMs", "goes with the action Timeout, and only with it")
    }
}

impl Checked for WebhookUpdate {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require(self.name.is_some() || self.is_active.is_some(), NOTHING_GIVEN)
    }
}

impl Checked for StatusSet {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        let Self { status, message, expires_at } = self;
        require(!(status.is_keep() && message.is_keep() && expires_at.is_keep()), NOTHING_GIVEN)
    }
}

impl Checked for FriendRequest {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require(self.user_id.is_some() != self.name.is_some(), "exactly one of userId and name is needed")
    }
}

impl Checked for PushSubscribe {
    fn check_fields(&self) -> Result<(), ProtocolError> {
        require_field(self.endpoint.starts_with("https://"), "/endpoint", "must be an https address")
    }
}
