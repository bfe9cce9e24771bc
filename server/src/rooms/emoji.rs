//! Custom emoji: `emoji.*`.

use parlour_protocol::{
    EmojiId, FileId, Permissions, ProtocolError, RoomId, Timestamp,
    object::{CustomEmoji, Empty, Items},
    operation::{EmojiCreate, EmojiCreateUpload, EmojiDelete, EmojiList, EmojiReply, EmojiUpdate, EmojiUploadReply},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    blobs::{Blob, Shown},
    clock,
    directory::{
        emoji,
        files::{self, CreateError, FileKind, StoredFile},
        nonces::{self, FirstResult},
    },
    error::{append_error, store_error},
    files::{
        blob_error, check_mimetype, looks_like,
        uploads::{after, first_result, original_url},
    },
    store::{Append, Appended, EmojiChange, RoomChange},
};

async fn permit(state: &AppState, caller: &Caller, room_id: RoomId) -> Result<(), ProtocolError> {
    let access = state.rooms.access(room_id, caller.user_id).await?;
    access.require_room()?.require(Permissions::MANAGE_EMOJIS).map(drop)
}

/// Makes an address for the image of an emoji to be.
///
/// # Errors
/// `bad_request` when it is no image, or the room is full.
pub(crate) async fn create_upload(
    state: &AppState,
    caller: &Caller,
    data: EmojiCreateUpload,
) -> Result<EmojiUploadReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    permit(state, caller, data.room_id).await?;
    check_mimetype(&data.mimetype, "/mimetype")?;
    let existing = emoji::of_room(&state.db, data.room_id).await.map_err(store_error)?;
    if existing.len() >= usize::try_from(state.limits.emoji_per_room).unwrap_or(usize::MAX) {
        return Err(ProtocolError::bad_request("the room has as many emoji as it can have"));
    }
    let now = Timestamp::now();
    let file = StoredFile {
        file_id: FileId::new(),
        kind: FileKind::Emoji,
        room_id: Some(data.room_id),
        user_id: caller.user_id,
        filename: "emoji".to_owned(),
        mimetype: data.mimetype.to_string(),
        size: data.size.unsigned(),
        has_thumbnail: false,
        row_key: None,
        expires_at: Some(after(now, state.limits.upload_keep_ms)),
    };
    let expires_at = after(now, state.limits.upload_expires_ms);
    let reply = EmojiUploadReply {
        emoji_id: EmojiId::from_uuid(file.file_id.uuid()),
        upload_url: original_url(state, &file, expires_at),
        expires_at,
    };
    let result = FirstResult::of(caller.user_id, &data, &reply);
    match files::create(&state.db, std::slice::from_ref(&file), now, result).await {
        Ok(()) => Ok(reply),
        Err(CreateError::Repeat) => first_result(nonces::first_result(&state.db, caller.user_id, &data).await?),
        Err(CreateError::Store(error)) => Err(store_error(error)),
    }
}

/// Makes an uploaded image an emoji.
///
/// # Errors
/// `not_found` for an unknown upload; `bad_request` when its bytes are missing or too many, for a name that Unicode's
/// emoji have, and in a full room; `conflict` for a name that is taken.
pub(crate) async fn create(state: &AppState, caller: &Caller, data: EmojiCreate) -> Result<EmojiReply, ProtocolError> {
    if let Some(nonce) = &data.nonce
        && let Some(first) = nonces::find::<CustomEmoji>(&state.db, caller.user_id, "emoji.create", nonce).await?
    {
        return Ok(EmojiReply { emoji: with_url(state, first) });
    }
    permit(state, caller, data.room_id).await?;
    let name = data.name.as_str();
    if emojis::get_by_shortcode(name).is_some() {
        return Err(ProtocolError::bad_field("/name", "is the name of a Unicode emoji"));
    }
    let found = files::find(&state.db, data.emoji_id.uuid()).await.map_err(store_error)?;
    let is_upload = |file: &StoredFile| {
        file.kind == FileKind::Emoji && file.room_id == Some(data.room_id) && file.is_pending(Timestamp::now())
    };
    let file = found.filter(is_upload).ok_or_else(|| ProtocolError::not_found("no such upload"))?;
    let measured = state.files.blobs.measure(Blob::original(file.file_id.uuid())).await.map_err(blob_error)?;
    let measured = measured.ok_or_else(|| ProtocolError::bad_field("/emojiId", "the bytes were not uploaded"))?;
    let is_too_big = measured.size > state.limits.emoji_bytes.into();
    let is_declared = measured.size == file.size && measured.came_as(&file.mimetype);
    if !is_declared || is_too_big || !looks_like(&file.mimetype, &measured.head) {
        return Err(ProtocolError::bad_field("/emojiId", "the bytes are not as declared"));
    }
    let emoji = CustomEmoji {
        emoji_id: data.emoji_id,
        room_id: data.room_id,
        name: name.to_owned(),
        user_id: caller.user_id,
        mimetype: file.mimetype,
        created_at: Timestamp::now(),
        url: String::new(),
        url_expires_at: None,
    };
    let change =
        EmojiChange::Create { emoji: Box::new(emoji.clone()), most: state.limits.emoji_per_room, nonce: data.nonce };
    append(state, caller, data.room_id, change).await?;
    Ok(EmojiReply { emoji: with_url(state, emoji) })
}

/// Renames an emoji.
///
/// # Errors
/// `not_found`; `bad_request` for a name that Unicode's emoji have; `conflict` for a name that is taken.
pub(crate) async fn update(state: &AppState, caller: &Caller, data: EmojiUpdate) -> Result<EmojiReply, ProtocolError> {
    permit(state, caller, data.room_id).await?;
    let name = data.name.as_str();
    if emojis::get_by_shortcode(name).is_some() {
        return Err(ProtocolError::bad_field("/name", "is the name of a Unicode emoji"));
    }
    let change = EmojiChange::Rename { emoji_id: data.emoji_id, name: name.to_owned() };
    append(state, caller, data.room_id, change).await?;
    let all = emoji::of_room(&state.db, data.room_id).await.map_err(store_error)?;
    let emoji = all.into_iter().find(|emoji| emoji.emoji_id == data.emoji_id);
    let emoji = emoji.ok_or_else(|| ProtocolError::not_found("no such emoji"))?;
    Ok(EmojiReply { emoji: with_url(state, emoji) })
}

/// Ends an emoji.
///
/// # Errors
/// `not_found`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: EmojiDelete) -> Result<Empty, ProtocolError> {
    permit(state, caller, data.room_id).await?;
    append(state, caller, data.room_id, EmojiChange::Delete { emoji_id: data.emoji_id }).await?;
    state.files.released();
    Ok(Empty {})
}

/// A room's emoji.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    data: EmojiList,
) -> Result<Items<CustomEmoji>, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let items = emoji::of_room(&state.db, data.room_id).await.map_err(store_error)?;
    Ok(Items { items: items.into_iter().map(|emoji| with_url(state, emoji)).collect() })
}

fn with_url(state: &AppState, emoji: CustomEmoji) -> CustomEmoji {
    let expires_at = after(Timestamp::now(), state.limits.download_expires_ms);
    let shown = Shown { filename: &emoji.name, mimetype: &emoji.mimetype };
    let url = state.files.blobs.download_url(Blob::original(emoji.emoji_id.uuid()), shown, expires_at);
    CustomEmoji { url, url_expires_at: Some(expires_at), ..emoji }
}

async fn append(
    state: &AppState,
    caller: &Caller,
    room_id: RoomId,
    change: EmojiChange,
) -> Result<Appended, ProtocolError> {
    let append = Append {
        room_id,
        now: clock::now_nanos(),
        cause: caller.connection_id,
        generation: state.store.generation(),
        change: RoomChange::Emoji(change),
    };
    state.store.append(append).await.await.map_err(append_error)
}
