//! Files of a message that is being sent or forwarded. What is found good here is taken in the commit, once.

use std::collections::HashMap;

use parlour_protocol::{
    ErrorCode, FileId, ProtocolError, RoomId, Timestamp, UserId, object::File, operation::AttachedFile,
};

use super::{
    THUMBNAIL_TYPE, blob_error, looks_like,
    uploads::{after, check_room},
};
use crate::{
    app::AppState,
    blobs::Blob,
    directory::files::{self, CreateError, FileKind, StoredFile},
    error::store_error,
    rooms::state::Access,
};

/// The files that a member attaches: own uploads of this room whose bytes are there, as they were declared.
///
/// # Errors
/// `not_found` for an upload that is unknown or over, `conflict` when it is attached already, `bad_request` when its
/// bytes are missing or are not as declared, or the room does not take it.
pub(crate) async fn uploads(
    state: &AppState,
    access: &Access,
    wanted: &[AttachedFile],
) -> Result<Vec<File>, ProtocolError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (room_id, user_id) = (access.room().room_id, access.member.membership.user_id);
    let now = Timestamp::now();
    let file_ids: Vec<FileId> = wanted.iter().map(|file| file.file_id).collect();
    let found = files::of_room(&state.db, room_id, &file_ids).await.map_err(store_error)?;
    let found: HashMap<FileId, StoredFile> = found.into_iter().map(|file| (file.file_id, file)).collect();
    let mut attached = Vec::with_capacity(wanted.len());
    for (index, wanted) in wanted.iter().enumerate() {
        let field = format!("/files/{index}");
        let upload = found.get(&wanted.file_id).filter(|file| file.user_id == user_id && file.kind == FileKind::File);
        let missing = || ProtocolError { field: Some(field.clone()), ..ProtocolError::not_found("no such upload") };
        let upload = upload.ok_or_else(missing)?;
        if upload.row_key.is_some() {
            let error = ProtocolError::new(ErrorCode::Conflict, "the file is attached already");
            return Err(ProtocolError { field: Some(field), ..error });
        }
        if !upload.is_pending(now) {
            return Err(missing());
        }
        check_room(state, access, &upload.mimetype, upload.size, &field)?;
        check_bytes(state, upload, wanted.has_thumbnail == Some(true), &field).await?;
        attached.push(File {
            file_id: upload.file_id,
            filename: upload.filename.clone(),
            mimetype: upload.mimetype.clone(),
            size: upload.size,
            has_thumbnail: wanted.has_thumbnail == Some(true),
        });
    }
    Ok(attached)
}

/// Whether the bytes of an upload are there, and what they were declared to be.
async fn check_bytes(
    state: &AppState,
    upload: &StoredFile,
    has_thumbnail: bool,
    field: &str,
) -> Result<(), ProtocolError> {
    let wrong = |reason: &str| Err(ProtocolError::bad_field(field, reason));
    let Some(measured) = state.files.blobs.measure(Blob::original(upload.file_id.uuid())).await.map_err(blob_error)?
    else {
        return wrong("the bytes were not uploaded");
    };
    if measured.size != upload.size {
        return wrong("the bytes are not as many as declared");
    }
    if !measured.came_as(&upload.mimetype) {
        return wrong("the bytes came with another type than declared");
    }
    if !looks_like(&upload.mimetype, &measured.head) {
        return wrong("the bytes are not of the type declared");
    }
    if has_thumbnail {
        let thumbnail = state.files.blobs.measure(Blob::thumbnail(upload.file_id.uuid())).await.map_err(blob_error)?;
        match thumbnail {
            None => return wrong("the thumbnail was not uploaded"),
            Some(thumbnail) if !thumbnail.came_as(THUMBNAIL_TYPE) => return wrong("the thumbnail is of another type"),
            Some(thumbnail) if thumbnail.size > state.limits.thumbnail_bytes.into() => {
                return wrong("the thumbnail is too large");
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Copies the files of a message for a forward to another room, as uploads of whoever forwards; all or none. What is
/// not taken by the forward's commit goes by itself.
///
/// # Errors
/// `bad_request` when the room does not take one, `not_found` when one is gone, `unavailable`.
pub(crate) async fn copies(state: &AppState, target: &Access, source: &[File]) -> Result<Vec<File>, ProtocolError> {
    if source.is_empty() {
        return Ok(Vec::new());
    }
    let (room_id, user_id) = (target.room().room_id, target.member.membership.user_id);
    for (index, file) in source.iter().enumerate() {
        check_room(state, target, &file.mimetype, file.size, &format!("/files/{index}"))?;
    }
    let copies: Vec<File> = source.iter().map(|file| File { file_id: FileId::new(), ..file.clone() }).collect();
    let now = Timestamp::now();
    // The rows first: whatever happens to the bytes, somebody knows of them.
    let rows: Vec<StoredFile> = copies.iter().map(|file| copy_row(state, file, room_id, user_id, now)).collect();
    match files::create(&state.db, &rows, now, None).await {
        Ok(()) => {}
        Err(CreateError::Repeat) => return Err(crate::error::internal("a command without a nonce was a repeat")),
        Err(CreateError::Store(error)) => return Err(store_error(error)),
    }
    let outcome = copy_bytes(state, source, &copies).await;
    if outcome.is_err() {
        discard_copies(state, user_id, &copies).await;
    }
    outcome.map(|()| copies)
}

/// Gives up copies whose forward was refused.
pub(crate) async fn discard_copies(state: &AppState, user_id: UserId, copies: &[File]) {
    let file_ids: Vec<FileId> = copies.iter().map(|file| file.file_id).collect();
    if let Err(error) = files::discard(&state.db, user_id, &file_ids).await {
        tracing::warn!(%error, "copies of files are left to expire");
    }
    state.files.released();
}

async fn copy_bytes(state: &AppState, source: &[File], copies: &[File]) -> Result<(), ProtocolError> {
    for (from, to) in source.iter().zip(copies) {
        let (from_id, to_id) = (from.file_id.uuid(), to.file_id.uuid());
        let mut parts = vec![(Blob::original(from_id), Blob::original(to_id))];
        if from.has_thumbnail {
            parts.push((Blob::thumbnail(from_id), Blob::thumbnail(to_id)));
        }
        for (from, to) in parts {
            if !state.files.blobs.copy(from, to).await.map_err(blob_error)? {
                return Err(ProtocolError::not_found("a file of the message is gone"));
            }
        }
    }
    Ok(())
}

fn copy_row(state: &AppState, file: &File, room_id: RoomId, user_id: UserId, now: Timestamp) -> StoredFile {
    StoredFile {
        file_id: file.file_id,
        kind: FileKind::File,
        room_id: Some(room_id),
        user_id,
        filename: file.filename.clone(),
        mimetype: file.mimetype.clone(),
        size: file.size,
        has_thumbnail: file.has_thumbnail,
        row_key: None,
        expires_at: Some(after(now, state.limits.upload_keep_ms)),
    }
}
