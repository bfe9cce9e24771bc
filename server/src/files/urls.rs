//! `file.urls`.

use std::collections::HashMap;

use parlour_protocol::{
    FileId, ProtocolError, Timestamp,
    operation::{FileReference, FileUrl, FileUrls, FileUrlsReply},
};

use super::{THUMBNAIL_TYPE, blob_error, thumbnail_name, uploads::after};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    blobs::{Blob, Shown},
    directory::files::{self, FileKind, StoredFile},
    error::store_error,
};

/// Makes addresses for fetching files of messages, and uploads of one's own; what is gone is left out.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn urls(state: &AppState, caller: &Caller, data: FileUrls) -> Result<FileUrlsReply, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let now = Timestamp::now();
    let expires_at = after(now, state.limits.download_expires_ms);
    let file_ids: Vec<FileId> = data.files.iter().map(|file| file.file_id).collect();
    let found = files::of_room(&state.db, data.room_id, &file_ids).await.map_err(store_error)?;
    let found: HashMap<FileId, StoredFile> = found.into_iter().map(|file| (file.file_id, file)).collect();
    let mut reply = FileUrlsReply { files: Vec::with_capacity(file_ids.len()) };
    for reference in data.files.iter() {
        let Some(file) = found.get(&reference.file_id).filter(|file| is_named(file, reference, caller, now)) else {
            continue;
        };
        let thumbnail = Blob::thumbnail(file.file_id.uuid());
        let has_thumbnail = if file.row_key.is_some() {
            file.has_thumbnail
        } else {
            state.files.blobs.measure(thumbnail).await.map_err(blob_error)?.is_some()
        };
        let blobs = &state.files.blobs;
        let shown = Shown { filename: &file.filename, mimetype: &file.mimetype };
        let small = thumbnail_name(&file.filename);
        let small = Shown { filename: &small, mimetype: THUMBNAIL_TYPE };
        reply.files.push(FileUrl {
            file_id: file.file_id,
            url: blobs.download_url(Blob::original(file.file_id.uuid()), shown, expires_at),
            expires_at,
            thumbnail_url: has_thumbnail.then(|| blobs.download_url(thumbnail, small, expires_at)),
        });
    }
    Ok(reply)
}

/// Whether a file is what was asked for: of that message, or one's own upload.
fn is_named(file: &StoredFile, reference: &FileReference, caller: &Caller, now: Timestamp) -> bool {
    file.kind == FileKind::File
        && match reference.row_key {
            Some(row_key) => file.row_key == Some(row_key) && file.expires_at.is_none(),
            None => file.row_key.is_none() && file.user_id == caller.user_id && file.is_pending(now),
        }
}
