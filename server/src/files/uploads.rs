//! `file.createUploads`.

use parlour_protocol::{
    ErrorCode, FileId, Permissions, ProtocolError, RoomId, Timestamp, UserId,
    object::{MimeCategory, Upload},
    operation::{FileCreateUploads, FileToUpload, FilesReply},
};

use super::{THUMBNAIL_TYPE, discard, kind};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    blobs::{Blob, Declared, DeclaredSize},
    directory::{
        files::{self, CreateError, FileKind, StoredFile},
        nonces::{self, FirstResult},
    },
    error::store_error,
    rooms::state::Access,
};

/// Makes addresses for files to be attached to a message, all or none.
///
/// # Errors
/// `bad_request` when one is too large, or of a kind that the room refuses.
pub(crate) async fn create(
    state: &AppState,
    caller: &Caller,
    data: FileCreateUploads,
) -> Result<FilesReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require(Permissions::SEND_MESSAGES)?;
    let now = Timestamp::now();
    for (index, file) in data.files.iter().enumerate() {
        check_filename(&file.filename, &format!("/files/{index}/filename"))?;
        kind::check_mimetype(&file.mimetype, &format!("/files/{index}/mimetype"))?;
        check_room(state, &access, &file.mimetype, file.size.unsigned(), &format!("/files/{index}"))?;
    }
    let stored: Vec<_> =
        data.files.iter().map(|file| new_file(state, data.room_id, caller.user_id, file, now)).collect();
    let reply = FilesReply { files: stored.iter().map(|file| upload(state, file, data.room_id, now)).collect() };
    let result = FirstResult::of(caller.user_id, &data, &reply);
    match files::create(&state.db, &stored, now, result).await {
        Ok(()) => Ok(reply),
        Err(CreateError::Repeat) => first_result(nonces::first_result(&state.db, caller.user_id, &data).await?),
        Err(CreateError::Store(error)) => Err(store_error(error)),
    }
}

/// What a repeat answers whose first result was just stored.
pub(crate) fn first_result<T>(first: Option<T>) -> Result<T, ProtocolError> {
    first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"))
}

/// Whether a name is one segment of a path.
fn check_filename(filename: &str, field: &str) -> Result<(), ProtocolError> {
    let is_segment = !filename.contains(['/', '\\']) && filename != "." && filename != "..";
    if is_segment && !filename.chars().any(char::is_control) {
        return Ok(());
    }
    Err(ProtocolError::bad_field(field, "must be a name without a path"))
}

/// Whether a room takes a file.
///
/// # Errors
/// `bad_request` when it is too large, or of a kind that the room refuses.
pub(crate) fn check_room(
    state: &AppState,
    access: &Access,
    mimetype: &str,
    size: u64,
    field: &str,
) -> Result<(), ProtocolError> {
    let most = access.room().max_file_size_bytes.unwrap_or(u64::MAX).min(state.limits.file_bytes);
    if size > most {
        return Err(ProtocolError::bad_field(format!("{field}/size"), format!("this room takes {most} bytes at most")));
    }
    if !access.room().allowed_mime_categories.contains(&kind::category(mimetype)) {
        return Err(ProtocolError::bad_field(
            format!("{field}/mimetype"),
            "this room does not take files of this kind",
        ));
    }
    Ok(())
}

fn new_file(state: &AppState, room_id: RoomId, user_id: UserId, file: &FileToUpload, now: Timestamp) -> StoredFile {
    StoredFile {
        file_id: FileId::new(),
        kind: FileKind::File,
        room_id: Some(room_id),
        user_id,
        filename: file.filename.to_string(),
        mimetype: file.mimetype.to_string(),
        size: file.size.unsigned(),
        has_thumbnail: false,
        row_key: None,
        expires_at: Some(after(now, state.limits.upload_keep_ms)),
    }
}

fn upload(state: &AppState, file: &StoredFile, room_id: RoomId, now: Timestamp) -> Upload {
    let expires_at = after(now, state.limits.upload_expires_ms);
    let is_image = kind::category(&file.mimetype) == MimeCategory::Image;
    let thumbnail =
        Declared { mimetype: THUMBNAIL_TYPE, size: DeclaredSize::UpTo(state.limits.thumbnail_bytes.into()) };
    Upload {
        file_id: file.file_id,
        upload_url: original_url(state, file, expires_at),
        grant: discard::grant(&state.files, file.user_id, room_id, file.file_id, expires_at),
        expires_at,
        thumbnail_upload_url: is_image
            .then(|| state.files.blobs.upload_url(Blob::thumbnail(file.file_id.uuid()), thumbnail, expires_at)),
    }
}

/// The address that takes a file as it was declared.
pub(crate) fn original_url(state: &AppState, file: &StoredFile, expires_at: Timestamp) -> String {
    let declared = Declared { mimetype: &file.mimetype, size: DeclaredSize::Exact(file.size) };
    state.files.blobs.upload_url(Blob::original(file.file_id.uuid()), declared, expires_at)
}

/// A time so many milliseconds later.
pub(crate) fn after(now: Timestamp, millis: u64) -> Timestamp {
    now.plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
