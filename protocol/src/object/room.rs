//! Rooms and what belongs to them.

use serde::{Deserialize, Serialize};

use crate::{
    CategoryId, EmojiId, FileId, InviteId, JobId, LogEntryId, Permissions, RoleId, RoomId, RowKey, Timestamp, UserId,
    WebhookId,
    object::{AppUser, User},
    operation::Format,
};

names! {
    /// A room that people join, or a direct message.
    pub enum RoomType { Room, DirectMessage }

    /// The coarse kind of a file.
    pub enum MimeCategory { Audio, Document, Image, Video }

    /// What notifies: everything, mentions only (`DirectMessage`), nothing.
    pub enum NotificationType { All, DirectMessage, Never }

    /// Where a job stands.
    pub enum JobState { Active, Claimed, Completed, Cancelled }

    /// What the word filter does.
    pub enum FilterAction { Reject, Warn, Timeout }

    /// What a moderator did.
    pub enum ModerationAction {
        KickFromRoom, TimeoutUser, CreateBan, SoftBan, Warn, ForceMute, ForceUnmute, StopScreenShare, KickFromCall,
        DeleteBan,
    }
}

object! {
    /// A room's settings.
    pub struct Room {
        /// The room.
        room_id: RoomId,
        /// Room or direct message.
        r#type: RoomType,
        ;
        /// The name; empty for a direct message.
        name: String,
        /// The topic.
        topic: String,
        /// Image address.
        image: String,
        /// The owner; none for a direct message.
        user_id: Option<UserId>,
        /// Whether only ManageMessages may write.
        is_read_only: bool,
        /// Whether invites are out of use.
        is_invite_paused: bool,
        /// Time between two sends of a member, in ms; none is off.
        slowmode_ms: Option<u64>,
        /// Largest file in bytes; none is the server's limit.
        max_file_size_bytes: Option<u64>,
        /// Kinds of files that are accepted; always present.
        allowed_mime_categories: Vec<MimeCategory>,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When settings were last changed.
        updated_at: Option<Timestamp>,
        /// The last message, else the creation; in replies only.
        last_activity_at: Option<Timestamp>,
    }

    /// One's own membership.
    pub struct Membership {
        /// The room.
        room_id: RoomId,
        /// The member.
        user_id: UserId,
        ;
        /// The name shown here.
        nickname: String,
        /// What notifies.
        notification_type: Option<NotificationType>,
        /// The read marker.
        last_read_at: Option<Timestamp>,
        /// The slowmode clock.
        last_message_at: Option<Timestamp>,
        /// Messages by others after the marker, at most 100.
        unread_count: u32,
        /// Mentions after marker and last clearing, at most 100.
        mention_count: u32,
        /// Until when the member may not write.
        timeout_until: Option<Timestamp>,
        /// Whether a direct message is hidden.
        is_hidden: bool,
        /// The personal folder.
        category_id: Option<CategoryId>,
        /// When one joined.
        created_at: Option<Timestamp>,
    }

    /// A member as others see them.
    pub struct Member {
        /// Who.
        user_id: UserId,
        /// The account.
        user: User,
        ;
        /// The name shown here.
        nickname: String,
        /// Assigned roles.
        role_ids: Vec<RoleId>,
        /// Until when the member may not write.
        timeout_until: Option<Timestamp>,
        /// When they joined.
        created_at: Option<Timestamp>,
    }

    /// The end of a room's log.
    pub struct Head {
        /// Changes when the log starts anew.
        epoch: String,
        ;
        /// The last entry.
        seq: u64,
    }

    /// A room as one member sees it.
    pub struct RoomView {
        /// Its settings.
        room: Room,
        /// One's own membership.
        membership: Membership,
        ;
        /// What one may do.
        permissions: Permissions,
        /// Whether one owns it.
        is_room_owner: bool,
        /// The highest role's position; −1 without a role.
        top_role_position: i32,
        /// The end of its log.
        head: Option<Head>,
        /// The first 10 others of a direct message.
        participants: Vec<User>,
        /// How many others.
        participant_count: u32,
    }

    /// A role of a room.
    pub struct Role {
        /// The role.
        role_id: RoleId,
        /// Its room.
        room_id: RoomId,
        ;
        /// Its name.
        name: String,
        /// Its colour.
        color: String,
        /// Higher has more authority.
        position: u32,
        /// What it grants.
        permissions: Permissions,
        /// The role that all members have.
        is_everyone: bool,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When it was last changed.
        updated_at: Option<Timestamp>,
    }

    /// The roles of a member.
    pub struct MemberRoles {
        /// Who.
        user_id: UserId,
        ;
        /// Assigned roles.
        role_ids: Vec<RoleId>,
    }

    /// What a caller may do in a room.
    pub struct RoleSummary {
        /// The room.
        room_id: RoomId,
        ;
        /// Whether they own it.
        is_room_owner: bool,
        /// Effective bits.
        permissions: Permissions,
        /// The highest role's position; −1 without a role.
        top_role_position: i32,
    }

    /// An invite.
    pub struct Invite {
        /// The code.
        invite_id: InviteId,
        /// The room.
        room_id: RoomId,
        /// Who made it.
        user_id: UserId,
        ;
        /// When it ends; none is never.
        expires_at: Option<Timestamp>,
        /// Uses it allows; 0 is any number.
        max_uses: u32,
        /// Uses so far.
        uses: u32,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// The page's address of it, relative to the server.
        url: String,
    }

    /// What an invite tells of its room.
    pub struct InviteRoom {
        /// The room.
        room_id: RoomId,
        ;
        /// Its name.
        name: String,
        /// Its topic.
        topic: String,
        /// Its image.
        image: String,
        /// How many are in it.
        member_count: u64,
    }

    /// A scheduled message or reminder.
    pub struct Job {
        /// The job.
        job_id: JobId,
        /// Whose.
        user_id: UserId,
        /// The room.
        room_id: RoomId,
        /// What it does.
        payload: JobPayload,
        /// When.
        run_at: Timestamp,
        /// Where it stands.
        state: JobState,
        ;
        /// Tries so far.
        attempts: u32,
        /// When it gave up.
        failed_at: Option<Timestamp>,
        /// Why the last try failed.
        last_error: Option<JobError>,
        /// When it was posted.
        completed_at: Option<Timestamp>,
        /// When it was cancelled.
        cancelled_at: Option<Timestamp>,
        /// The posted message.
        row_key: Option<RowKey>,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When it was last changed.
        updated_at: Option<Timestamp>,
    }

    /// Why a job's last try failed.
    pub struct JobError {
        /// The error code.
        code: String,
        /// For people.
        message: String,
    }

    /// A ban.
    pub struct Ban {
        /// The room.
        room_id: RoomId,
        /// Who is banned.
        user: User,
        ;
        /// Who banned them.
        banned_by_user_id: Option<UserId>,
        /// Why.
        reason: String,
        /// When.
        created_at: Option<Timestamp>,
    }

    /// An entry of the moderation log.
    pub struct ModerationLogEntry {
        /// The entry.
        id: LogEntryId,
        /// The room.
        room_id: RoomId,
        /// What was done.
        r#type: ModerationAction,
        /// By whom.
        actor_user_id: UserId,
        /// To whom.
        target_user_id: UserId,
        ;
        /// For how long, in ms.
        duration_ms: Option<u64>,
        /// Why.
        reason: String,
        /// When.
        created_at: Option<Timestamp>,
    }

    /// A moderator's note about a member.
    pub struct Note {
        /// The note.
        id: LogEntryId,
        /// The room.
        room_id: RoomId,
        /// About whom.
        target_user_id: UserId,
        /// By whom.
        actor_user_id: UserId,
        /// Its text.
        note: String,
        /// When.
        created_at: Timestamp,
    }

    /// A word of a filter.
    pub struct FilterWord {
        /// The word.
        word: String,
        ;
        /// Whether it matches as a whole word only.
        match_whole_word: bool,
    }

    /// A room's word filter.
    pub struct Filter {
        /// The room.
        room_id: RoomId,
        /// What happens on a match.
        action: FilterAction,
        ;
        /// The words.
        words: Vec<FilterWord>,
        /// How long a Timeout is, in ms.
        timeout_duration_ms: Option<u64>,
        /// When it was last changed.
        updated_at: Option<Timestamp>,
    }

    /// An inbound webhook.
    pub struct Webhook {
        /// The webhook.
        webhook_id: WebhookId,
        /// Its room.
        room_id: RoomId,
        /// Who made it.
        creator_id: UserId,
        /// Its name.
        name: String,
        /// The sender it shows.
        app_user: AppUser,
        ;
        /// Whether it accepts calls.
        is_active: bool,
        /// When it was made.
        created_at: Option<Timestamp>,
        /// When it was last changed.
        updated_at: Option<Timestamp>,
    }

    /// A custom emoji.
    pub struct CustomEmoji {
        /// The emoji.
        emoji_id: EmojiId,
        /// Its room.
        room_id: RoomId,
        /// Its name.
        name: String,
        /// Who made it.
        user_id: UserId,
        /// The image's type.
        mimetype: String,
        /// When it was made.
        created_at: Timestamp,
        ;
        /// The image's address; in replies only.
        url: String,
        /// When the address ends.
        url_expires_at: Option<Timestamp>,
    }

    /// A personal folder of rooms.
    pub struct Category {
        /// The folder.
        category_id: CategoryId,
        /// Its name.
        name: String,
        ;
        /// Its place.
        position: u32,
    }

    /// Where to upload a file to.
    pub struct Upload {
        /// The file.
        file_id: FileId,
        /// The address for its bytes.
        upload_url: String,
        /// Proves that the file is the caller's.
        grant: String,
        /// When the addresses end.
        expires_at: Timestamp,
        ;
        /// The address for a thumbnail; images only.
        thumbnail_upload_url: Option<String>,
    }
}

/// What a job does when its time has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "codegen", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum JobPayload {
    /// Reminds its owner.
    Reminder {
        /// Of what.
        text: String,
    },
    /// Posts a message.
    ScheduledMessage {
        /// The body as given.
        message: String,
        /// How it is read.
        format: Format,
        /// The message it answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_row_key: Option<RowKey>,
    },
}
