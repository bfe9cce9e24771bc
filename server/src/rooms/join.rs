//! `invite.join`.

use parlour_protocol::{ErrorCode, ProtocolError, RoomId, event::AddReason, object::RoomView, operation::InviteJoin};

use super::{append, create::check_rooms_per_user, invites, read, tell_added};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{members, nonces, rooms},
    error::store_error,
    store::RoomChange,
};

/// Joins a room by an invite.
///
/// # Errors
/// `not_found` as `invite.get`, `forbidden` banned, `conflict` a member already, `bad_request` over `roomsPerUser`.
pub(crate) async fn join(state: &AppState, caller: &Caller, data: InviteJoin) -> Result<RoomView, ProtocolError> {
    if let Some(nonce) = &data.nonce
        && let Some(room_id) = nonces::find::<RoomId>(&state.db, caller.user_id, "invite.join", nonce).await?
    {
        return read::view(state, caller, room_id).await;
    }
    let invite = invites::usable(state, data.invite_id).await?;
    if members::is_banned(&state.db, invite.room_id, caller.user_id).await.map_err(store_error)? {
        return Err(ProtocolError::new(ErrorCode::Forbidden, "you are banned from this room"));
    }
    if state.rooms.access(invite.room_id, caller.user_id).await.is_ok() {
        return Err(ProtocolError::new(ErrorCode::Conflict, "you are a member already"));
    }
    let joined = rooms::count_of(&state.db, caller.user_id).await.map_err(store_error)?;
    check_rooms_per_user(state, joined)?;
    let user = crate::directory::accounts::user(&state.db, caller.user_id).await.map_err(store_error)?;
    let name = user.map(|user| user.name).unwrap_or_default();
    let change = RoomChange::Join {
        user_id: caller.user_id,
        invite_id: Some(data.invite_id),
        by: None,
        line: format!("{name} joined"),
        nonce: data.nonce,
    };
    append(state, caller, invite.room_id, change).await?;
    let view = read::view(state, caller, invite.room_id).await?;
    tell_added(state, caller.user_id, view.clone(), AddReason::Joined);
    Ok(view)
}
