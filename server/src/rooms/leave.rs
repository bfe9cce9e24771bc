//! `room.leave`.

use parlour_protocol::{
    ProtocolError,
    event::{LeaveReason, RemoveReason},
    object::Empty,
    operation::RoomLeave,
};

use super::{append, tell_removed, update};
use crate::{accounts::caller::Caller, app::AppState, store::RoomChange};

/// Leaves a room. The owner's leaving ends the room.
///
/// # Errors
/// `forbidden`, `bad_request` for a direct message.
pub(crate) async fn leave(state: &AppState, caller: &Caller, data: RoomLeave) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    if access.is_owner() {
        return update::end(state, caller, &access).await;
    }
    let change = RoomChange::Leave {
        user_id: caller.user_id,
        reason: LeaveReason::Left,
        by: None,
        line: format!("{} left", access.member.shown_name()),
    };
    append(state, caller, data.room_id, change).await?;
    tell_removed(state, caller.user_id, data.room_id, RemoveReason::Left);
    Ok(Empty {})
}
