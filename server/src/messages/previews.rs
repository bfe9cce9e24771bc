//! `preview.delete`.

use parlour_protocol::{
    ProtocolError,
    message_type::MessageOperation,
    operation::{PreviewDelete, RevReply},
};

use super::{append, find_for};
use crate::{accounts::caller::Caller, app::AppState, store::RoomChange};

/// Takes the link preview off a message. One without a preview stores nothing.
///
/// # Errors
/// `not_found`, `bad_request`, `forbidden`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: PreviewDelete) -> Result<RevReply, ProtocolError> {
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    find_for(state, &access, data.row_key, MessageOperation::Update).await?;
    let change = RoomChange::RemovePreview { row_key: data.row_key };
    Ok(RevReply { rev: append(state, caller, data.room_id, change).await?.rev })
}
