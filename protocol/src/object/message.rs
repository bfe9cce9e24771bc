//! A message and its parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AppUserId, FileId, MessageKey, MessageType, Nonce, OptionId, Patch, RoomId, RowKey, Timestamp, UserId};

object! {
    /// A message. `(roomId, rowKey)` is its identity; `rev` orders its states.
    pub struct Message {
        /// The room.
        room_id: RoomId,
        /// The place in the room.
        row_key: RowKey,
        /// The position of its creation in the room's log.
        seq: u64,
        /// 1 at creation, one more with every change of any kind.
        rev: u32,
        /// The `rev` of the last change of its body.
        body_rev: u32,
        /// The kind of message.
        r#type: MessageType,
        /// When it was stored.
        created_at: Timestamp,
        /// When body, files, preview or pin were last changed.
        updated_at: Timestamp,
        ;
        /// The author; none for Webhook.
        user_id: Option<UserId>,
        /// The sender that a webhook shows.
        app_user: Option<MessageAppUser>,
        /// Sanitised HTML for Message and Webhook, plain text otherwise.
        message: String,
        /// Attached files.
        files: Vec<File>,
        /// Distinct ids in the order of the text: user ids, role ids, `@everyone`, `@here`.
        mentions: Vec<String>,
        /// The message that this one answers, or that a server line is about.
        reply_row_key: Option<RowKey>,
        /// What the first link shows.
        link_preview: Option<LinkPreview>,
        /// Reactions, first come first.
        reactions: Vec<Reaction>,
        /// The poll of a Poll.
        poll: Option<Poll>,
        /// Live replies; in replies only.
        reply_count: u32,
        /// Set by edit, file and preview deletion.
        is_edited: bool,
        /// A copy of a message of another room.
        is_forward: bool,
        /// Pinned to the room.
        is_pinned: bool,
        /// The author's nonce.
        nonce: Option<Nonce>,
        /// What the reader did; in replies only.
        mine: Option<Mine>,
    }

    /// What the reader did with a message.
    pub struct Mine {
        ;
        /// Own reactions.
        reactions: Vec<String>,
        /// Own vote.
        option_id: Option<OptionId>,
    }

    /// The sender of a webhook's message, as that call showed it.
    pub struct MessageAppUser {
        /// Its id.
        id: AppUserId,
        ;
        /// The name shown.
        name: String,
        /// The image shown.
        image: String,
    }

    /// The sender that a webhook stands for.
    pub struct AppUser {
        /// Its id.
        app_user_id: AppUserId,
        ;
        /// The name shown.
        name: String,
        /// The image shown.
        image: String,
    }

    /// An attached file.
    pub struct File {
        /// Its id.
        file_id: FileId,
        /// One path segment.
        filename: String,
        /// The type as declared.
        mimetype: String,
        /// Bytes, as measured.
        size: u64,
        ;
        /// Whether a thumbnail was uploaded.
        has_thumbnail: bool,
    }

    /// What a link shows of its target.
    pub struct LinkPreview {
        /// The address.
        url: String,
        ;
        /// `website`, `image`, ….
        media_type: String,
        /// The MIME type.
        content_type: String,
        /// The title.
        title: String,
        /// The description.
        description: String,
        /// The site.
        site_name: String,
        /// Image addresses.
        images: Vec<String>,
        /// Icon addresses.
        favicons: Vec<String>,
        /// Videos.
        videos: Vec<LinkPreviewVideo>,
    }

    /// A video of a link preview.
    pub struct LinkPreviewVideo {
        /// The address.
        url: String,
        ;
        /// The address under https.
        secure_url: String,
        /// The MIME type.
        r#type: String,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    }

    /// Who reacted with one emoji.
    pub struct Reaction {
        /// The emoji.
        emoji: String,
        ;
        /// How many.
        count: u32,
        /// At most 10, first come first.
        user_ids: Vec<UserId>,
    }

    /// A question with its options and votes.
    pub struct Poll {
        /// The question.
        question: String,
        /// The options, in order.
        options: Vec<PollOption>,
        ;
        /// Present up to 100 voters.
        votes: BTreeMap<UserId, OptionId>,
    }

    /// An option of a poll.
    pub struct PollOption {
        /// Its id.
        id: OptionId,
        /// Its text.
        label: String,
        ;
        /// Votes for it.
        count: u32,
    }

    /// The votes of one option.
    pub struct PollTally {
        /// The option.
        id: OptionId,
        ;
        /// Votes for it.
        count: u32,
    }

    /// A thread that somebody follows.
    pub struct ThreadSummary {
        /// The message that was answered.
        root: Message,
        ;
        /// Live replies.
        reply_count: u32,
        /// The newest reply.
        last_reply_row_key: Option<RowKey>,
        /// When it was written.
        last_reply_at: Option<Timestamp>,
        /// At most 10 repliers, latest first.
        user_ids: Vec<UserId>,
    }

    /// What a change made different: absent is unchanged, `null` is cleared.
    #[derive(Default)]
    pub struct MessageDelta {
        ;
        /// The body.
        message: Option<String>,
        /// The `rev` of the body.
        body_rev: Option<u32>,
        /// The mentions.
        mentions: Option<Vec<String>>,
        /// The files.
        files: Option<Vec<File>>,
        /// The link preview.
        link_preview: Patch<LinkPreview>,
        /// Whether it was edited.
        is_edited: Option<bool>,
        /// Whether it is pinned.
        is_pinned: Option<bool>,
        /// When it was changed.
        updated_at: Option<Timestamp>,
    }
}

impl Message {
    /// The message's identity.
    pub fn key(&self) -> MessageKey {
        MessageKey { room_id: self.room_id, row_key: self.row_key }
    }

    /// Applies a delta; its `rev` is set by the caller.
    pub fn apply(&mut self, delta: MessageDelta) {
        let MessageDelta { message, body_rev, mentions, files, link_preview, is_edited, is_pinned, updated_at } = delta;
        self.message = message.unwrap_or(std::mem::take(&mut self.message));
        self.body_rev = body_rev.unwrap_or(self.body_rev);
        self.mentions = mentions.unwrap_or(std::mem::take(&mut self.mentions));
        self.files = files.unwrap_or(std::mem::take(&mut self.files));
        self.link_preview = link_preview.apply(self.link_preview.take());
        self.is_edited = is_edited.unwrap_or(self.is_edited);
        self.is_pinned = is_pinned.unwrap_or(self.is_pinned);
        self.updated_at = updated_at.unwrap_or(self.updated_at);
    }
}

/// The `changes` of `message.updated`: a delta when live, the whole message in a catch-up.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageChange {
    /// Only what changed.
    Delta(Box<MessageDelta>),
    /// The present state: it replaces all but `mine` and `replyCount`.
    Whole(Box<Message>),
}

impl Serialize for MessageChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Delta(delta) => delta.serialize(serializer),
            Self::Whole(message) => message.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MessageChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::deserialize(deserializer)?;
        let is_whole = map.contains_key("roomId");
        let value = serde_json::Value::Object(map);
        let change = if is_whole {
            serde_json::from_value(value).map(|message| Self::Whole(Box::new(message)))
        } else {
            serde_json::from_value(value).map(|delta| Self::Delta(Box::new(delta)))
        };
        change.map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "codegen")]
impl schemars::JsonSchema for MessageChange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MessageChange".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let delta = generator.subschema_for::<MessageDelta>();
        let whole = generator.subschema_for::<Message>();
        schemars::json_schema!({ "anyOf": [whole, delta] })
    }
}
