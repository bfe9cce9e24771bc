//! `message.delete`.

use parlour_protocol::{
    ProtocolError,
    message_type::MessageOperation,
    operation::{MessageDelete, RevReply},
};

use super::find_for;
use crate::{
    accounts::caller::Caller,
    app::AppState,
    clock,
    error::append_error,
    store::{Append, RoomChange},
};

/// Ends a message, for ever.
///
/// # Errors
/// `not_found`, also the second time; `bad_request`; `forbidden`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: MessageDelete) -> Result<RevReply, ProtocolError> {
    let generation = state.store.generation();
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    let message = find_for(state, &access, data.row_key, MessageOperation::Delete).await?;
    let append = Append {
        room_id: data.room_id,
        now: clock::now_nanos(),
        cause: caller.connection_id,
        generation,
        change: RoomChange::Delete { row_key: data.row_key },
    };
    let appended = state.store.append(append).await.await.map_err(append_error)?;
    if !message.files.is_empty() {
        state.files.released();
    }
    Ok(RevReply { rev: appended.rev })
}
