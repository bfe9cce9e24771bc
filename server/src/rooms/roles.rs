//! What can be read of roles: `role.list`, `role.members`, `role.permissions`.

use parlour_protocol::{
    ErrorCode, ProtocolError,
    object::{Items, MemberRoles, Role, RoleSummary},
    operation::{RoleList, RoleMembers, RolePermissions},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{members, rooms},
    error::store_error,
};

/// The roles of rooms, highest first.
///
/// # Errors
/// `forbidden` unless a member of all.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: RoleList) -> Result<Items<Role>, ProtocolError> {
    for room_id in data.room_ids.iter() {
        state.rooms.access(*room_id, caller.user_id).await?;
    }
    Ok(Items { items: rooms::roles(&state.db, &data.room_ids).await.map_err(store_error)? })
}

/// The roles of members.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn of_members(
    state: &AppState,
    caller: &Caller,
    data: RoleMembers,
) -> Result<Items<MemberRoles>, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let items = members::roles_of(&state.db, data.room_id, &data.user_ids).await.map_err(store_error)?;
    Ok(Items { items })
}

/// What the caller may do in rooms.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn permissions(
    state: &AppState,
    caller: &Caller,
    data: RolePermissions,
) -> Result<Items<RoleSummary>, ProtocolError> {
    let mut items = Vec::with_capacity(data.room_ids.len());
    for room_id in data.room_ids.iter().copied() {
        items.push(match state.rooms.access(room_id, caller.user_id).await {
            Ok(access) => RoleSummary {
                room_id,
                is_room_owner: access.is_owner(),
                permissions: access.permissions,
                top_role_position: access.settings.top_role_position(&access.member.role_ids),
            },
            Err(error) if error.code == ErrorCode::Forbidden => {
                RoleSummary { room_id, is_room_owner: false, permissions: Default::default(), top_role_position: -1 }
            }
            Err(error) => return Err(error),
        });
    }
    Ok(Items { items })
}
