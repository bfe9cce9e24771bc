//! `file.delete`.

use parlour_protocol::{
    ProtocolError,
    message_type::MessageOperation,
    operation::{FileDelete, RevReply},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    clock,
    error::append_error,
    messages::find_for,
    store::{Append, RoomChange},
};

/// Takes a file off a message; its bytes are deleted behind it.
///
/// # Errors
/// `not_found` when the message has no such file, `bad_request` for a forward, or a message without files.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: FileDelete) -> Result<RevReply, ProtocolError> {
    let generation = state.store.generation();
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    let message = find_for(state, &access, data.row_key, MessageOperation::Update).await?;
    if message.is_forward {
        return Err(ProtocolError::bad_request("the files of a forward stay"));
    }
    if message.files.is_empty() {
        return Err(ProtocolError::bad_request("the message has no files"));
    }
    let append = Append {
        room_id: data.room_id,
        now: clock::now_nanos(),
        cause: caller.connection_id,
        generation,
        change: RoomChange::RemoveFile { row_key: data.row_key, file_id: data.file_id },
    };
    let appended = state.store.append(append).await.await.map_err(append_error)?;
    state.files.released();
    Ok(RevReply { rev: appended.rev })
}
