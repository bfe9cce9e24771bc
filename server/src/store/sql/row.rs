//! A message as a row.

use parlour_protocol::{MessageType, Nonce, RoomId, RowKey, Timestamp, UserId, object::Message};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::store::{Origin, StoreError};

/// The columns of [`MessageRow`]; `m` is the table.
pub(super) const COLUMNS: &str = "m.room_id, m.tick, m.seq, m.rev, m.body_rev, m.type, m.user_id, m.app_user, \
    m.origin, m.nonce, m.body, m.files, m.mentions, m.reply_tick, m.link_preview, m.poll, m.reactions, m.is_edited, \
    m.is_forward, m.is_pinned, m.updated_at, m.deleted_at";

/// A row of `message`.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct MessageRow {
    room_id: Uuid,
    tick: i64,
    seq: i64,
    rev: i64,
    body_rev: i64,
    r#type: String,
    user_id: Option<Uuid>,
    app_user: Option<String>,
    origin: i64,
    nonce: Option<String>,
    body: String,
    files: Option<String>,
    mentions: Option<String>,
    reply_tick: Option<i64>,
    link_preview: Option<String>,
    poll: Option<String>,
    reactions: Option<String>,
    is_edited: bool,
    is_forward: bool,
    is_pinned: bool,
    updated_at: Option<i64>,
    deleted_at: Option<i64>,
}

/// A stored message; a deleted one has lost its content.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) message: Message,
    pub(super) is_deleted: bool,
}

impl TryFrom<MessageRow> for Stored {
    type Error = StoreError;

    fn try_from(row: MessageRow) -> Result<Self, StoreError> {
        let row_key = RowKey::from_tick(row.tick);
        let message_type = MessageType::parse(&row.r#type)
            .ok_or_else(|| StoreError::Internal(format!("a message of type {}", row.r#type).into()))?;
        let message = Message {
            room_id: RoomId::from_uuid(row.room_id),
            row_key,
            seq: unsigned(row.seq),
            rev: u32::try_from(row.rev).unwrap_or(u32::MAX),
            body_rev: u32::try_from(row.body_rev).unwrap_or(u32::MAX),
            r#type: message_type,
            created_at: row_key.created_at(),
            updated_at: row.updated_at.map_or_else(|| row_key.created_at(), Timestamp::from_millis),
            user_id: row.user_id.filter(|_| message_type != MessageType::Webhook).map(UserId::from_uuid),
            app_user: from_json(row.app_user)?,
            message: row.body,
            files: from_json(row.files)?.unwrap_or_default(),
            mentions: from_json(row.mentions)?.unwrap_or_default(),
            reply_row_key: row.reply_tick.map(RowKey::from_tick),
            link_preview: from_json(row.link_preview)?,
            reactions: from_json(row.reactions)?.unwrap_or_default(),
            poll: from_json(row.poll)?,
            reply_count: 0,
            is_edited: row.is_edited,
            is_forward: row.is_forward,
            is_pinned: row.is_pinned,
            nonce: row.nonce.filter(|_| shows_nonce(row.origin)).and_then(|nonce| nonce.parse::<Nonce>().ok()),
            mine: None,
        };
        Ok(Self { message, is_deleted: row.deleted_at.is_some() })
    }
}

/// Whether a nonce is one that the author made: others are the server's own.
pub(super) fn shows_nonce(origin: i64) -> bool {
    origin == Origin::Live as i64
}

/// A sequence number as it is stored.
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A sequence number to be stored.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn from_json<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>, StoreError> {
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| StoreError::Internal(format!("unreadable JSON: {error}").into()))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("objects of the protocol encode")
}

/// JSON of a list; none for an empty one.
pub(super) fn list_to_json<T: Serialize>(values: &[T]) -> Option<String> {
    (!values.is_empty()).then(|| to_json(&values))
}
