//! The seam to where messages live: a room's log and its messages.
//!
//! A change becomes real in [`MessageStore::append`]; everything else reads.

pub mod backup;
#[cfg(test)]
mod conformance;
pub mod db;
mod emoji;
mod moderation;
pub mod sql;
#[cfg(test)]
pub(crate) mod testing;

use std::{fmt, pin::Pin, sync::Arc, task};

use async_trait::async_trait;
use parlour_protocol::{
    ConnectionId, DurableEvent, FileId, InviteId, JobId, MessageType, Nonce, OptionId, Patch, RoleId, RoomId, RowKey,
    Timestamp, UserId,
    event::{LeaveReason, RoomDelta},
    object::{File, Head, LinkPreview, Message, MessageAppUser, Poll},
    operation::Order,
};
use tokio::sync::oneshot;
use uuid::Uuid;

pub use self::emoji::EmojiChange;

pub use self::moderation::{Automod, Effect, Moderate, Purge, RejectedMessage, RoleChange};

/// Where a message comes from. Nonces of different origins never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i64)]
pub enum Origin {
    /// Sent by a member.
    Live = 0,
    /// A copy of a message of another room.
    Forward = 1,
    /// The note that follows such a copy.
    ForwardNote = 2,
    /// Posted by a job.
    Job = 3,
    /// Posted through a webhook.
    Webhook = 4,
    /// Written by the server.
    System = 5,
}

impl Origin {
    /// Whether its author is a member who has to pass the gate, and whose markers it moves.
    pub const fn is_gated(self) -> bool {
        match self {
            Self::Live | Self::Forward | Self::Job => true,
            // The note passes the gate together with its copy.
            Self::ForwardNote | Self::Webhook | Self::System => false,
        }
    }

    /// Whether slowmode holds for it: a note comes right after its copy.
    pub const fn is_slowed(self) -> bool {
        self.is_gated()
    }

    /// Whether its author is a member of the room, which the commit checks again.
    pub const fn is_by_member(self) -> bool {
        match self {
            Self::Live | Self::Forward | Self::ForwardNote | Self::Job => true,
            Self::Webhook | Self::System => false,
        }
    }
}

/// Whom a message mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mention {
    /// A user.
    User(UserId),
    /// Whoever holds a role.
    Role(RoleId),
    /// All members.
    Everyone,
    /// All members who are there.
    Here,
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user_id) => user_id.fmt(f),
            Self::Role(role_id) => role_id.fmt(f),
            Self::Everyone => f.write_str("@everyone"),
            Self::Here => f.write_str("@here"),
        }
    }
}

/// One durable change of one room, to be decided and stored in one commit.
#[derive(Debug, Clone)]
pub struct Append {
    /// The room.
    pub room_id: RoomId,
    /// The time of handling, nanoseconds since the Unix epoch. The stored tick is later when the room's last is.
    pub now: i64,
    /// The socket that caused it.
    pub cause: Option<ConnectionId>,
    /// The store's [`MessageStore::generation`] when the command was received: a change received before a failed
    /// commit that was queued ahead of it is refused, so that a client can repeat in order.
    pub generation: u64,
    /// What changes.
    pub change: RoomChange,
}

/// What changes in a room.
#[derive(Debug, Clone)]
pub enum RoomChange {
    /// A new message.
    Send(Box<NewMessage>),
    /// A new body. Nothing is stored when it equals the present one.
    Edit {
        /// The message.
        row_key: RowKey,
        /// The stored form of the body.
        body: String,
        /// Its mentions.
        mentions: Vec<Mention>,
        /// The `rev` that was edited: refused when the body changed after it.
        if_rev: Option<u32>,
    },
    /// The end of a message, and of all that hangs on it.
    Delete {
        /// The message.
        row_key: RowKey,
    },
    /// A reaction; nothing when it is there already.
    AddReaction {
        /// The message.
        row_key: RowKey,
        /// Who.
        user_id: UserId,
        /// With what.
        emoji: String,
    },
    /// The end of a reaction; nothing when it is not there.
    RemoveReaction {
        /// The message.
        row_key: RowKey,
        /// Who.
        user_id: UserId,
        /// With what.
        emoji: String,
    },
    /// A vote in a poll, in place of the voter's earlier one; nothing when it is the same.
    Vote {
        /// The poll.
        row_key: RowKey,
        /// Who.
        user_id: UserId,
        /// For what; none withdraws.
        option_id: Option<OptionId>,
    },
    /// Pins a message to the room, with the server's PinMessage line after it; nothing when it is pinned.
    Pin {
        /// The message.
        row_key: RowKey,
        /// By whom.
        by: UserId,
    },
    /// Unpins a message; nothing when it is not pinned.
    Unpin {
        /// The message.
        row_key: RowKey,
    },
    /// Takes a file off a message.
    RemoveFile {
        /// The message.
        row_key: RowKey,
        /// The file.
        file_id: FileId,
    },
    /// What the first link of a message shows, fetched after it was sent; nothing when the body was changed meanwhile.
    SetPreview {
        /// The message.
        row_key: RowKey,
        /// The `bodyRev` of the body that has the link.
        body_rev: u32,
        /// What it shows.
        preview: Box<LinkPreview>,
    },
    /// Takes the link preview off a message; nothing when it has none.
    RemovePreview {
        /// The message.
        row_key: RowKey,
    },
    /// A custom emoji.
    Emoji(EmojiChange),
    /// New settings. `line` is the server's EditRoom line when the name changed.
    UpdateRoom {
        /// The changed settings; `updated_at` is set by the store.
        changes: Box<RoomDelta>,
        /// By whom.
        by: UserId,
    },
    /// The end of the room: no member is left and nothing can be appended after it.
    DeleteRoom {
        /// By whom.
        by: UserId,
    },
    /// A new member, with the server's line after it.
    Join {
        /// Who.
        user_id: UserId,
        /// The invite whose use is consumed, checked again in the commit.
        invite_id: Option<InviteId>,
        /// Who added them; none when they came by themselves.
        by: Option<UserId>,
        /// The text of the server's line.
        line: String,
        /// The operation's nonce, remembered in the same commit.
        nonce: Option<Nonce>,
    },
    /// The end of a membership, with the server's line after it.
    Leave {
        /// Who.
        user_id: UserId,
        /// How.
        reason: LeaveReason,
        /// Who ended it; none when they left by themselves.
        by: Option<UserId>,
        /// The text of the server's line.
        line: String,
    },
    /// More people of a direct message, each with the server's line.
    AddParticipants {
        /// Who.
        user_ids: Vec<UserId>,
        /// Who adds them.
        by: UserId,
        /// The operation's nonce, remembered in the same commit.
        nonce: Option<Nonce>,
    },
    /// The end of somebody's being in a direct message, with the server's line after it.
    RemoveParticipant {
        /// Who.
        user_id: UserId,
        /// Who takes them out; oneself when they leave.
        by: UserId,
        /// The text of the server's line.
        line: String,
    },
    /// A member's nickname or timeout.
    UpdateMember {
        /// Who.
        user_id: UserId,
        /// The name shown here.
        nickname: Patch<String>,
        /// Until when they may not write.
        timeout_until: Patch<Timestamp>,
    },
    /// A change of roles.
    Role(Box<RoleChange>),
    /// A moderator's action.
    Moderate(Box<Moderate>),
    /// The word filter's action.
    Automod(Box<Automod>),
    /// The end of messages of a purge, at most a hundred.
    Purge(Purge),
}

impl RoomChange {
    /// Whether something is left to be removed in the background.
    pub(crate) fn leaves_purge(&self) -> bool {
        match self {
            Self::DeleteRoom { .. } => true,
            Self::Moderate(moderate) => matches!(moderate.effect, Effect::Ban { purges: true }),
            _ => false,
        }
    }

    /// The message that it changes; none when it makes one, or is not about messages.
    pub(crate) fn row_key(&self) -> Option<RowKey> {
        match self {
            Self::Edit { row_key, .. }
            | Self::Delete { row_key }
            | Self::AddReaction { row_key, .. }
            | Self::RemoveReaction { row_key, .. }
            | Self::Vote { row_key, .. }
            | Self::Pin { row_key, .. }
            | Self::Unpin { row_key }
            | Self::RemoveFile { row_key, .. }
            | Self::SetPreview { row_key, .. }
            | Self::RemovePreview { row_key } => Some(*row_key),
            _ => None,
        }
    }
}

/// A message to be stored.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Its kind.
    pub message_type: MessageType,
    /// The author; none for a webhook.
    pub user_id: Option<UserId>,
    /// The sender that a webhook shows.
    pub app_user: Option<MessageAppUser>,
    /// Where it comes from.
    pub origin: Origin,
    /// Makes it idempotent, for ever, with room, author and origin.
    pub nonce: Option<Nonce>,
    /// The stored form of the body.
    pub body: String,
    /// Attached files.
    pub files: Vec<File>,
    /// Its mentions.
    pub mentions: Vec<Mention>,
    /// The message that it answers: refused when that is not a live message of the room.
    pub reply_row_key: Option<RowKey>,
    /// What the first link shows.
    pub link_preview: Option<LinkPreview>,
    /// Its poll.
    pub poll: Option<Poll>,
    /// A copy of a message of another room.
    pub is_forward: bool,
    /// The room's slowmode in ms, when it holds for this author: checked and moved in the commit.
    pub slowmode_ms: Option<u64>,
    /// The job that it is posted for; see [`MessageStore::completes_jobs`].
    pub job: Option<JobClaim>,
}

/// A claim on a job. A claim that was lost is good for nothing: each has a mark of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobClaim {
    /// The job.
    pub job_id: JobId,
    /// The claim's mark.
    pub mark: Uuid,
}

impl NewMessage {
    /// Whose nonces these are: the author's, or the webhook's sender's.
    pub(crate) fn nonce_author(&self) -> Option<UserId> {
        self.user_id.or_else(|| self.app_user.as_ref().map(|app_user| UserId::from_uuid(app_user.id.uuid())))
    }
}

/// What an append did.
#[derive(Debug, Clone)]
pub struct Appended {
    /// The log entries of the commit, in order; none when nothing was stored.
    pub entries: Vec<LogEntry>,
    /// The present state of the message that was sent or changed; none when it was deleted, and for other changes.
    pub message: Option<Arc<Message>>,
    /// The `rev` that the change made, of a message.
    pub rev: u32,
}

/// An entry of a room's log.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// Its place.
    pub seq: u64,
    /// What happened.
    pub event: Arc<DurableEvent>,
}

/// Why a change was not stored. Nothing was stored, but for [`AppendError::Store`].
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The message named, the member named, or the message answered is absent or deleted.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The nonce belongs to a message that was deleted since.
    #[error("already sent and deleted since")]
    DeletedSince(RowKey),
    /// The word filter rejected the nonce's message and acted on it.
    #[error("rejected by the word filter before")]
    Rejected,
    /// Too early after the author's last message.
    #[error("slowmode for {retry_after_ms} ms more")]
    Slowmode {
        /// Time to wait, in ms.
        retry_after_ms: u64,
    },
    /// The message has no such part, or has as many as it can have.
    #[error("{0}")]
    Unfit(&'static str),
    /// Another thing of this kind has the name.
    #[error("the name is taken")]
    NameTaken,
    /// A file of the message is held by another one.
    #[error("the file is attached already")]
    FileAttached,
    /// The body changed after the `rev` that was edited.
    #[error("the message was changed meanwhile")]
    Conflict,
    /// The room is gone, or the author is not a member any more.
    #[error("no such room, or not a member of it")]
    NoAccess,
    /// The user is a member already.
    #[error("already a member")]
    AlreadyMember,
    /// Another direct message has these very people.
    #[error("a direct message of these people exists")]
    SameSet,
    /// The invite is unknown, expired, used up or paused.
    #[error("no such invite")]
    InviteGone,
    /// The user is banned from the room.
    #[error("banned from the room")]
    Banned,
    /// The job is not claimed by this worker any more.
    #[error("the claim on the job was lost")]
    ClaimLost,
    /// The command was given before, or the message was rejected before.
    #[error("given before")]
    Repeat,
    /// The room has as many of these as it may have.
    #[error("too many {0}")]
    TooMany(&'static str),
    /// The outcome is unknown.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A fault of the store. Whether a change was stored is unknown.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store is away, full, or too slow.
    #[error("the store is unavailable: {0}")]
    Unavailable(Arc<str>),
    /// The store holds what it should not hold, or refuses what it should take.
    #[error("the store failed: {0}")]
    Internal(Arc<str>),
}

/// A change that has its place in the room's order and waits for its commit.
pub struct PendingAppend(oneshot::Receiver<Result<Appended, AppendError>>);

impl PendingAppend {
    pub(crate) fn new(receiver: oneshot::Receiver<Result<Appended, AppendError>>) -> Self {
        Self(receiver)
    }
}

impl fmt::Debug for PendingAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingAppend")
    }
}

impl Future for PendingAppend {
    type Output = Result<Appended, AppendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|outcome| {
            outcome.unwrap_or_else(|_| Err(StoreError::Unavailable("the store has stopped".into()).into()))
        })
    }
}

/// A page of messages to read.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// The room.
    pub room_id: RoomId,
    /// The direction.
    pub order: Order,
    /// Where to begin; none is the end of the direction.
    pub from: Option<RowKey>,
    /// Whether a message at `from` is part of the page.
    pub inclusive: bool,
    /// Pinned ones only.
    pub pinned: bool,
    /// Replies to this message only.
    pub reply_to: Option<RowKey>,
    /// Most messages.
    pub limit: usize,
}

/// What a room's log holds after a position, folded as the protocol says (section 6, point 4).
#[derive(Debug, Clone)]
pub enum LogRead {
    /// Entries after the position, oldest first, and the position after the last of them.
    Entries {
        /// Folded entries.
        entries: Vec<LogEntry>,
        /// The position after them: the `up_to` that was asked for.
        seq: u64,
    },
    /// The position is further back than the limit, or than the log is kept.
    OutOfReach,
}

/// Where messages live.
#[async_trait]
pub trait MessageStore: Send + Sync + fmt::Debug {
    /// Gives a change its place in the room's order; waits while the queue is full. The future inside is the
    /// outcome: when it is `Ok`, the change is durable and has been published on the bus, in the order of `seq`.
    ///
    /// The next `seq` is allocated without hole, the tick is above the room's last, a repeat of a nonce answers the
    /// first message's present state without entries, and no reader ever sees `seq` n + 1 without n.
    async fn append(&self, append: Append) -> PendingAppend;

    /// Whether a job is completed, or cancelled by the word filter, in the very commit that posts its message or acts
    /// on it, which is refused when the claim was lost. Elsewhere whoever holds the claim completes it afterwards.
    fn completes_jobs(&self) -> bool {
        false
    }

    /// Counts failed commits; see [`Append::generation`].
    fn generation(&self) -> u64;

    /// The message that a nonce stands for, if it was sent before.
    ///
    /// # Errors
    /// [`AppendError::DeletedSince`] when it was deleted since, [`AppendError::Rejected`], [`AppendError::Store`].
    async fn find_nonce(
        &self,
        room_id: RoomId,
        author: UserId,
        origin: Origin,
        nonce: &Nonce,
    ) -> Result<Option<Message>, AppendError>;

    /// The ends of rooms' logs; unknown rooms are left out.
    async fn heads(&self, room_ids: &[RoomId]) -> Result<Vec<(RoomId, Head)>, StoreError>;

    /// The log after `after` up to `up_to`, folded; out of reach beyond `max_entries` unfolded entries.
    async fn read_log(
        &self,
        room_id: RoomId,
        after: u64,
        up_to: u64,
        max_entries: usize,
    ) -> Result<LogRead, StoreError>;

    /// Live messages in the order of the query. Reply counts are filled in.
    async fn list(&self, query: ListQuery) -> Result<Vec<Message>, StoreError>;

    /// Live messages of the keys, newest first. Reply counts are filled in.
    async fn get(&self, room_id: RoomId, row_keys: &[RowKey]) -> Result<Vec<Message>, StoreError>;

    /// Makes a small write and reads it back: the proof that the store works.
    async fn canary(&self) -> Result<(), StoreError>;
}
