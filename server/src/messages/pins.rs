//! `message.pin`, `message.unpin`.

use parlour_protocol::{
    ProtocolError,
    message_type::MessageOperation,
    operation::{MessagePin, MessageUnpin, RevReply},
};

use super::{append, find_for};
use crate::{accounts::caller::Caller, app::AppState, store::RoomChange};

/// Pins a message to its room, with the room's line about it. One that is pinned stores nothing.
///
/// # Errors
/// `not_found`, `bad_request`, `forbidden`.
pub(crate) async fn pin(state: &AppState, caller: &Caller, data: MessagePin) -> Result<RevReply, ProtocolError> {
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    find_for(state, &access, data.row_key, MessageOperation::Pin).await?;
    let change = RoomChange::Pin { row_key: data.row_key, by: caller.user_id };
    Ok(RevReply { rev: append(state, caller, data.room_id, change).await?.rev })
}

/// Unpins a message. One that is not pinned stores nothing.
///
/// # Errors
/// `not_found`, `bad_request`, `forbidden`.
pub(crate) async fn unpin(state: &AppState, caller: &Caller, data: MessageUnpin) -> Result<RevReply, ProtocolError> {
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    find_for(state, &access, data.row_key, MessageOperation::Pin).await?;
    let change = RoomChange::Unpin { row_key: data.row_key };
    Ok(RevReply { rev: append(state, caller, data.room_id, change).await?.rev })
}
