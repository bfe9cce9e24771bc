//! `file.createImageUpload`: the public images of users and rooms.

use parlour_protocol::{
    FileId, Permissions, ProtocolError, Timestamp,
    operation::{FileCreateImageUpload, ImageUploadReply},
};

use super::{
    kind,
    uploads::{after, first_result, original_url},
};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        files::{self, CreateError, FileKind, StoredFile},
        nonces::{self, FirstResult},
    },
    error::store_error,
};

/// Makes an address for an image, and the lasting one under which everybody sees it. It goes when nobody shows it for
/// as long as an upload is kept.
///
/// # Errors
/// `bad_request` when it is not an image.
pub(crate) async fn create(
    state: &AppState,
    caller: &Caller,
    data: FileCreateImageUpload,
) -> Result<ImageUploadReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    if let Some(room_id) = data.room_id {
        state.rooms.access(room_id, caller.user_id).await?.require(Permissions::MANAGE_ROOM)?;
    }
    kind::check_mimetype(&data.mimetype, "/mimetype")?;
    let now = Timestamp::now();
    let file = StoredFile {
        file_id: FileId::new(),
        kind: FileKind::Image,
        room_id: data.room_id,
        user_id: caller.user_id,
        filename: "image".to_owned(),
        mimetype: data.mimetype.to_string(),
        size: data.size.unsigned(),
        has_thumbnail: false,
        row_key: None,
        expires_at: Some(after(now, state.limits.upload_keep_ms)),
    };
    let expires_at = after(now, state.limits.upload_expires_ms);
    let reply = ImageUploadReply {
        image: state.files.public_address(file.file_id),
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
