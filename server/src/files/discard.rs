//! `file.discard`, and the grants that prove an upload to be one's own.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parlour_protocol::{
    ErrorCode, FileId, ProtocolError, RoomId, Timestamp, UserId, object::Empty, operation::FileDiscard,
};

use super::Files;
use crate::{accounts::caller::Caller, app::AppState, directory::files, error::store_error};

const GRANT: &str = "grant";

/// The proof that an upload is a user's.
pub(super) fn grant(files: &Files, user_id: UserId, room_id: RoomId, file_id: FileId, expires_at: Timestamp) -> String {
    let expires_at = expires_at.as_millis().to_be_bytes();
    let code = files.signer.code(GRANT, &granted(user_id, room_id, file_id, expires_at));
    URL_SAFE_NO_PAD.encode([&expires_at[..], &code].concat())
}

fn is_grant(files: &Files, user_id: UserId, room_id: RoomId, file_id: FileId, grant: &str, now: Timestamp) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(grant) else { return false };
    let Some((expires_at, code)) = bytes.split_first_chunk::<8>() else { return false };
    files.signer.is_code(GRANT, &granted(user_id, room_id, file_id, *expires_at), code)
        && i64::from_be_bytes(*expires_at) > now.as_millis()
}

fn granted(user_id: UserId, room_id: RoomId, file_id: FileId, expires_at: [u8; 8]) -> Vec<u8> {
    let ids = [user_id.uuid(), room_id.uuid(), file_id.uuid()];
    let mut bytes: Vec<u8> = ids.iter().flat_map(|id| *id.as_bytes()).collect();
    bytes.extend_from_slice(&expires_at);
    bytes
}

/// Gives up uploads, all or none.
///
/// # Errors
/// `forbidden` when one grant is foreign, altered or over; `conflict` when one file is attached.
pub(crate) async fn discard(state: &AppState, caller: &Caller, data: FileDiscard) -> Result<Empty, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let now = Timestamp::now();
    let holds = |file: &parlour_protocol::operation::FileGrant| {
        is_grant(&state.files, caller.user_id, data.room_id, file.file_id, file.grant.expose(), now)
    };
    if let Some(index) = data.files.iter().position(|file| !holds(file)) {
        let error = ProtocolError::new(ErrorCode::Forbidden, "this grant is not yours, or over");
        return Err(ProtocolError { field: Some(format!("/files/{index}/grant")), ..error });
    }
    let file_ids: Vec<FileId> = data.files.iter().map(|file| file.file_id).collect();
    if !files::discard(&state.db, caller.user_id, &file_ids).await.map_err(store_error)? {
        return Err(ProtocolError::new(ErrorCode::Conflict, "a file is attached to a message"));
    }
    state.files.released();
    Ok(Empty {})
}
