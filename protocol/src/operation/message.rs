//! Messages and everything around them, files and custom emoji.

use std::collections::BTreeMap;

use crate::{
    EmojiId, FileId, Int, InvalidValue, List, Name, Nonce, OptionId, Patch, RoomId, RowKey, Secret, Set, Text,
    Timestamp, UserId,
    object::{CustomEmoji, Message, Mine, Poll, Reaction, Room, ThreadSummary, Upload},
    operation::{Cursor, Format, Limit, Order},
};

/// A body as sent: at most 10 000 characters, read by `format`.
pub type Body = Text<0, 10_000>;
/// An emoji as sent; whether it is one is checked against the room.
pub type EmojiText = Text<1, 64>;
/// Items to skip.
pub type Offset = Int<0, 10_000>;
/// A size in bytes.
pub type Size = Int<1, { i64::MAX }>;

names! {
    /// What a member can create.
    pub enum CreatableType { Message, Poll }

    /// What a search filter looks at.
    pub enum SearchFilterType { From, Mentions, In, Has, Before, After, During, Pinned }
}

object! {
    /// `message.send`.
    pub struct MessageSend {
        /// The room.
        room_id: RoomId,
        ;
        /// Message by default.
        r#type: Option<CreatableType>,
        /// The body.
        message: Option<Body>,
        /// How the body is read; Text by default.
        format: Option<Format>,
        /// One's own uploads of this room.
        files: Option<Set<AttachedFile, 0, 10>>,
        /// The message that this one answers.
        reply_row_key: Option<RowKey>,
        /// The poll; Poll only.
        poll: Option<PollInput>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// An upload to attach.
    pub struct AttachedFile {
        /// The upload.
        file_id: FileId,
        ;
        /// Whether a thumbnail was uploaded.
        has_thumbnail: Option<bool>,
    }

    /// A poll to create.
    pub struct PollInput {
        /// The question.
        question: Name<1, 300>,
        /// The options.
        options: List<PollOptionInput, 2, 10>,
    }

    /// An option of a poll to create.
    pub struct PollOptionInput {
        /// Its text.
        label: Name<1, 100>,
        ;
        /// Its id; made by the server when absent.
        id: Option<OptionId>,
    }

    /// A message.
    pub struct MessageReply {
        /// The message.
        message: Message,
    }

    /// `message.edit`.
    pub struct MessageEdit {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        /// The new body.
        message: Body,
        ;
        /// How the body is read; Text by default.
        format: Option<Format>,
        /// The state that was edited; `conflict` when the body changed after it.
        rev: Option<Int<0, { u32::MAX as i64 }>>,
    }

    /// `message.delete`.
    pub struct MessageDelete {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
    }

    /// `message.forward`.
    pub struct MessageForward {
        /// The source's room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        /// The targets.
        room_ids: Set<RoomId, 1, 1000>,
        ;
        /// A note that follows the copy.
        message: Option<Body>,
        /// How the note is read; Text by default.
        format: Option<Format>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `message.forward`.
    pub struct ForwardReply {
        ;
        /// Each room's outcome, in the order asked.
        results: Vec<ForwardResult>,
    }

    /// A target's outcome.
    pub struct ForwardResult {
        /// The target.
        room_id: RoomId,
        ;
        /// The copy.
        message: Option<Message>,
        /// The note.
        note: Option<Message>,
        /// Why there is none.
        error: Option<crate::ProtocolError>,
    }

    /// `message.pin`.
    pub struct MessagePin {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
    }

    /// `message.unpin`.
    pub struct MessageUnpin {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
    }

    /// `message.list`.
    pub struct MessageList {
        /// The room.
        room_id: RoomId,
        ;
        /// Newest first by default.
        order: Option<Order>,
        /// Any position.
        cursor: Option<RowKey>,
        /// Whether the message at the cursor is part of the page.
        include_cursor: Option<bool>,
        /// A message to read around; alone with `limit`.
        around: Option<RowKey>,
        /// Pinned ones only.
        #[serde(deserialize_with = "crate::wire::given")]
        is_pinned: Option<bool>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// The reply to `message.list`.
    pub struct MessageListReply {
        ;
        /// The messages.
        items: Vec<Message>,
        /// Where the next page begins.
        next_cursor: String,
        /// Whether there is a next page.
        has_more: bool,
        /// With `around`: where the newer page begins.
        prev_cursor: String,
        /// With `around`: whether there is a newer page.
        has_more_newer: bool,
        /// The room's `seq` before the rows were read.
        as_of: u64,
    }

    /// `message.get`.
    pub struct MessageGet {
        /// The room.
        room_id: RoomId,
        /// The messages.
        row_keys: Set<RowKey, 1, 1000>,
    }

    /// The reply to `message.get`.
    pub struct MessageGetReply {
        ;
        /// Newest first.
        items: Vec<Message>,
        /// Not looked at: ask again.
        rest: Vec<RowKey>,
        /// The room's `seq` before the rows were read.
        as_of: u64,
    }

    /// `message.thread`: the replies to a message.
    pub struct MessageThread {
        /// The room.
        room_id: RoomId,
        /// The root.
        row_key: RowKey,
        ;
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// The reply to `message.thread`.
    pub struct MessageThreadReply {
        ;
        /// Replies, newest first.
        items: Vec<Message>,
        /// Where the next page begins.
        next_cursor: String,
        /// Whether there is a next page.
        has_more: bool,
        /// The root; none when deleted.
        root: Option<Message>,
        /// The room's `seq` before the rows were read.
        as_of: u64,
    }

    /// `message.search`.
    pub struct MessageSearch {
        /// The room.
        room_id: RoomId,
        ;
        /// Words.
        query: Option<Text<0, 10_000>>,
        /// Filters.
        filters: Option<List<SearchFilter, 0, 1000>>,
        /// Newest first by default.
        order: Option<Order>,
        /// Where days begin; UTC by default.
        time_zone: Option<Text<1, 100>>,
        /// Items to skip.
        offset: Option<Offset>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// A filter of a search.
    pub struct SearchFilter {
        /// What it looks at.
        r#type: SearchFilterType,
        /// What it wants.
        value: Text<0, 100>,
    }

    /// The reply to `message.search`.
    pub struct MessageSearchReply {
        ;
        /// The messages.
        items: Vec<Message>,
        /// Whether there are more.
        has_more: bool,
        /// How many there are in all.
        total: u64,
        /// Each room's `seq` before the rows were read.
        as_of: BTreeMap<RoomId, u64>,
    }

    /// `message.sent`: one's own messages.
    pub struct MessageSent {
        ;
        /// Items to skip.
        offset: Option<Offset>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// One of one's own messages.
    pub struct SentMessage {
        /// The message.
        message: Message,
        /// Its room.
        room: Room,
    }

    /// `poll.vote`.
    pub struct PollVote {
        /// The room.
        room_id: RoomId,
        /// The poll.
        row_key: RowKey,
        ;
        /// The option; `null` withdraws.
        option_id: Patch<OptionId>,
    }

    /// The reply to `poll.vote`.
    pub struct PollVoteReply {
        /// The poll.
        poll: Poll,
        ;
        /// The message's revision.
        rev: u32,
        /// One's own vote.
        mine: Option<Mine>,
    }

    /// `reaction.add`.
    pub struct ReactionAdd {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        /// The emoji.
        emoji: EmojiText,
    }

    /// `reaction.remove`.
    pub struct ReactionRemove {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        /// The emoji.
        emoji: EmojiText,
    }

    /// The reply to `reaction.add` and `reaction.remove`.
    pub struct ReactionReply {
        /// The reaction after it.
        reaction: Reaction,
        ;
        /// The message's revision.
        rev: u32,
    }

    /// `reaction.list`.
    pub struct ReactionList {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        ;
        /// One emoji only.
        emoji: Option<EmojiText>,
        /// Where the page begins.
        cursor: Option<Cursor>,
        /// Most items wanted.
        limit: Option<Limit>,
    }

    /// Who reacted, with what, when.
    pub struct ReactionEntry {
        /// The emoji.
        emoji: String,
        /// Who.
        user_id: UserId,
        /// When.
        created_at: Timestamp,
    }

    /// `typing.start`.
    pub struct TypingStart {
        /// The room.
        room_id: RoomId,
    }

    /// `thread.follow`.
    pub struct ThreadFollow {
        /// The room.
        room_id: RoomId,
        /// The root.
        row_key: RowKey,
    }

    /// `thread.unfollow`.
    pub struct ThreadUnfollow {
        /// The room.
        room_id: RoomId,
        /// The root.
        row_key: RowKey,
    }

    /// `thread.followed`.
    pub struct ThreadFollowed {
        /// The room.
        room_id: RoomId,
    }

    /// The reply to `thread.followed`.
    pub struct ThreadFollowedReply {
        ;
        /// Newest follow first, deleted roots too.
        row_keys: Vec<RowKey>,
        /// Live roots, newest first.
        items: Vec<ThreadSummary>,
    }

    /// `preview.delete`.
    pub struct PreviewDelete {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
    }

    /// `file.createUploads`.
    pub struct FileCreateUploads {
        /// The room.
        room_id: RoomId,
        /// The files.
        files: List<FileToUpload, 1, 1000>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// A file to upload.
    pub struct FileToUpload {
        /// One path segment.
        filename: Text<1, 1000>,
        /// The type.
        mimetype: Text<1, 255>,
        /// Bytes.
        size: Size,
    }

    /// The reply to `file.createUploads`.
    pub struct FilesReply {
        ;
        /// In the order asked.
        files: Vec<Upload>,
    }

    /// `file.urls`.
    pub struct FileUrls {
        /// The room.
        room_id: RoomId,
        /// The files.
        files: Set<FileReference, 1, 1000>,
    }

    /// A file of a message, or one's own upload.
    pub struct FileReference {
        /// The file.
        file_id: FileId,
        ;
        /// The message.
        row_key: Option<RowKey>,
    }

    /// The reply to `file.urls`.
    pub struct FileUrlsReply {
        ;
        /// Gone ones are left out.
        files: Vec<FileUrl>,
    }

    /// Where a file can be fetched.
    pub struct FileUrl {
        /// The file.
        file_id: FileId,
        /// Its address.
        url: String,
        /// When the addresses end.
        expires_at: Timestamp,
        ;
        /// The thumbnail's address.
        thumbnail_url: Option<String>,
    }

    /// `file.discard`.
    pub struct FileDiscard {
        /// The room.
        room_id: RoomId,
        /// The uploads.
        files: Set<FileGrant, 1, 1000>,
    }

    /// An upload with the proof that it is the caller's.
    pub struct FileGrant {
        /// The upload.
        file_id: FileId,
        /// The proof.
        grant: Secret,
    }

    /// `file.delete`.
    pub struct FileDelete {
        /// The room.
        room_id: RoomId,
        /// The message.
        row_key: RowKey,
        /// The file.
        file_id: FileId,
    }

    /// `file.createImageUpload`: an image of a user or a room.
    pub struct FileCreateImageUpload {
        /// `image/…`.
        mimetype: Text<1, 255>,
        /// Bytes.
        size: Int<1, 1_048_576>,
        ;
        /// The room.
        room_id: Option<RoomId>,
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `file.createImageUpload`.
    pub struct ImageUploadReply {
        /// The lasting public address.
        image: String,
        /// The address for its bytes.
        upload_url: String,
        /// When that ends.
        expires_at: Timestamp,
    }

    /// `emoji.createUpload`.
    pub struct EmojiCreateUpload {
        /// The room.
        room_id: RoomId,
        /// `image/…`.
        mimetype: Text<1, 255>,
        /// Bytes.
        size: Int<1, 262_144>,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// The reply to `emoji.createUpload`.
    pub struct EmojiUploadReply {
        /// The emoji to be.
        emoji_id: EmojiId,
        /// The address for its bytes.
        upload_url: String,
        /// When that ends.
        expires_at: Timestamp,
    }

    /// `emoji.create`.
    pub struct EmojiCreate {
        /// The room.
        room_id: RoomId,
        /// The upload.
        emoji_id: EmojiId,
        /// Its name.
        name: EmojiName,
        ;
        /// Makes a repeat safe.
        nonce: Option<Nonce>,
    }

    /// A custom emoji.
    pub struct EmojiReply {
        /// The emoji.
        emoji: CustomEmoji,
    }

    /// `emoji.update`.
    pub struct EmojiUpdate {
        /// The room.
        room_id: RoomId,
        /// The emoji.
        emoji_id: EmojiId,
        /// Its new name.
        name: EmojiName,
    }

    /// `emoji.delete`.
    pub struct EmojiDelete {
        /// The room.
        room_id: RoomId,
        /// The emoji.
        emoji_id: EmojiId,
    }

    /// `emoji.list`.
    pub struct EmojiList {
        /// The room.
        room_id: RoomId,
    }
}

/// A custom emoji's name: 1–32 of `a-z`, `0-9` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct EmojiName(String);

impl EmojiName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for EmojiName {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if text.is_empty() || text.len() > 32 || !text.bytes().all(allowed) {
            return Err(InvalidValue::new("must be 1 to 32 of a-z, 0-9 and _"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl<'de> serde::Deserialize<'de> for EmojiName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "an emoji name", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(EmojiName, "pattern": "^[a-z0-9_]{1,32}$");
