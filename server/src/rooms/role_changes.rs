//! `role.create`, `role.update`, `role.delete`, `role.assign`, `role.revoke`.

use std::sync::Arc;

use parlour_protocol::{
    ErrorCode, Patch, Permissions, ProtocolError, RoleId, RoomId, Timestamp, UserId,
    event::{AddReason, RoleDelta},
    object::{Empty, Role},
    operation::{RoleAssign, RoleCreate, RoleDelete, RoleReply, RoleRevoke, RoleUpdate},
};

use super::{
    append, append_as,
    hierarchy::{Rank, Target},
    state::{Access, RoomSettings},
    tell_added,
};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        members,
        nonces::{self, FirstResult},
        rooms,
    },
    error::{append_error, store_error},
    store::{AppendError, RoleChange, RoomChange},
};

/// Makes a role below the caller's highest.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message or when the room is full.
pub(crate) async fn create(state: &AppState, caller: &Caller, data: RoleCreate) -> Result<RoleReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let access = manager(state, caller, data.room_id).await?;
    let position = data.position.map_or(0, |position| u32::try_from(position.get()).unwrap_or(u32::MAX));
    let permissions = data.permissions.unwrap_or_default();
    Rank::of(&access).require_above(Rank::Position(position.into()), "the position")?;
    require_held(&access, permissions)?;
    let now = Timestamp::now();
    let reply = RoleReply {
        role: Role {
            role_id: RoleId::new(),
            room_id: data.room_id,
            name: data.name.to_string(),
            color: data.color.as_ref().map(ToString::to_string).unwrap_or_default(),
            position,
            permissions,
            is_everyone: false,
            created_at: Some(now),
            updated_at: Some(now),
        },
    };
    let first = FirstResult::of(caller.user_id, &data, &reply);
    let most = state.limits.roles_per_room;
    let change = RoleChange::Create { role: reply.role.clone(), most, first };
    match append_as(state, caller.connection_id, data.room_id, RoomChange::Role(Box::new(change))).await {
        Ok(_) => Ok(reply),
        Err(AppendError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            first.ok_or_else(|| append_error(AppendError::Repeat))
        }
        Err(error) => Err(append_error(error)),
    }
}

/// Changes a role. A repeat stores and announces nothing.
///
/// # Errors
/// `not_found`, `forbidden`, `bad_request`.
pub(crate) async fn update(state: &AppState, caller: &Caller, data: RoleUpdate) -> Result<RoleReply, ProtocolError> {
    let access = manager(state, caller, data.room_id).await?;
    let role = find(&access, data.role_id)?;
    let position = data.position.map(|position| u32::try_from(position.get()).unwrap_or(u32::MAX));
    if role.is_everyone && position.is_some_and(|position| position != 0) {
        return Err(ProtocolError::bad_field("/position", "of @everyone is 0"));
    }
    let rank = Rank::of(&access);
    for position in [Some(role.position), position].into_iter().flatten() {
        rank.require_above(Rank::Position(position.into()), "the role")?;
    }
    let added = data.permissions.map_or(0, |permissions| permissions.bits() & !role.permissions.bits());
    require_held(&access, Permissions::from_bits(added))?;
    let color = match data.color.map(|color| color.to_string()) {
        Patch::Set(color) if color.is_empty() => Patch::Clear,
        color => color,
    };
    let changes = RoleDelta {
        name: data.name.map(|name| name.to_string()),
        color,
        permissions: data.permissions,
        position,
        updated_at: None,
    };
    let change = RoleChange::Update { role_id: role.role_id, changes };
    append(state, caller, data.room_id, RoomChange::Role(Box::new(change))).await?;
    let after = state.rooms.access(data.room_id, caller.user_id).await?;
    let gains = Permissions::READ_MESSAGES.bits() | Permissions::ADMINISTRATOR.bits();
    if added & gains != 0 {
        let holders = (!role.is_everyone).then_some(role.role_id);
        tell_restored(state, data.room_id, holders, &access.settings, &after.settings).await?;
    }
    Ok(RoleReply { role: find(&after, data.role_id)?.clone() })
}

/// Ends a role; nobody holds it any more.
///
/// # Errors
/// `not_found`, `bad_request` for `@everyone`, `forbidden`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: RoleDelete) -> Result<Empty, ProtocolError> {
    let access = manager(state, caller, data.room_id).await?;
    let role = find(&access, data.role_id)?;
    require_assignable(role)?;
    Rank::of(&access).require_above(Rank::Position(role.position.into()), "the role")?;
    let change = RoleChange::Delete { role_id: data.role_id };
    append(state, caller, data.room_id, RoomChange::Role(Box::new(change))).await?;
    Ok(Empty {})
}

/// Gives a member a role. Held already: nothing changes.
///
/// # Errors
/// `not_found`, `bad_request` for `@everyone`, `forbidden`.
pub(crate) async fn assign(state: &AppState, caller: &Caller, data: RoleAssign) -> Result<Empty, ProtocolError> {
    let before = check_assignment(state, caller, data.room_id, data.role_id, data.user_id).await?;
    let change = RoleChange::Assign { role_id: data.role_id, user_id: data.user_id };
    append(state, caller, data.room_id, RoomChange::Role(Box::new(change))).await?;
    if !before.allows(Permissions::READ_MESSAGES) {
        let after = state.rooms.access(data.room_id, data.user_id).await?;
        if after.allows(Permissions::READ_MESSAGES) {
            tell_one(state, data.room_id, data.user_id).await;
        }
    }
    Ok(Empty {})
}

/// Takes a role from a member. Not held: nothing changes.
///
/// # Errors
/// `not_found`, `bad_request` for `@everyone`, `forbidden`.
pub(crate) async fn revoke(state: &AppState, caller: &Caller, data: RoleRevoke) -> Result<Empty, ProtocolError> {
    check_assignment(state, caller, data.room_id, data.role_id, data.user_id).await?;
    let change = RoleChange::Revoke { role_id: data.role_id, user_id: data.user_id };
    append(state, caller, data.room_id, RoomChange::Role(Box::new(change))).await?;
    Ok(Empty {})
}

/// The caller's access, when they may manage roles.
async fn manager(state: &AppState, caller: &Caller, room_id: RoomId) -> Result<Access, ProtocolError> {
    state.rooms.access(room_id, caller.user_id).await?.require_room()?.require(Permissions::MANAGE_ROLES)
}

fn find(access: &Access, role_id: RoleId) -> Result<&Role, ProtocolError> {
    access.settings.role(role_id).ok_or_else(|| ProtocolError::not_found("no such role"))
}

fn require_assignable(role: &Role) -> Result<(), ProtocolError> {
    if role.is_everyone { Err(ProtocolError::bad_request("@everyone is everybody's, always")) } else { Ok(()) }
}

/// Nobody grants what they do not hold.
fn require_held(access: &Access, permissions: Permissions) -> Result<(), ProtocolError> {
    if access.allows(permissions) {
        return Ok(());
    }
    Err(ProtocolError::new(ErrorCode::Forbidden, "these are permissions that you do not hold"))
}

/// The target's access before the change.
async fn check_assignment(
    state: &AppState,
    caller: &Caller,
    room_id: RoomId,
    role_id: RoleId,
    user_id: UserId,
) -> Result<Access, ProtocolError> {
    let access = manager(state, caller, room_id).await?;
    let role = find(&access, role_id)?;
    let target = Target::find(state, room_id, user_id).await?;
    let rank = target.rank;
    let target = target.access.ok_or_else(|| ProtocolError::not_found("no such member"))?;
    require_assignable(role)?;
    let own = Rank::of(&access);
    own.require_above(Rank::Position(role.position.into()), "the role")?;
    own.require_above(rank, "the member")?;
    Ok(target)
}

/// Tells the members who can read the room again. Those who are not connected find it in their list.
async fn tell_restored(
    state: &AppState,
    room_id: RoomId,
    holders: Option<RoleId>,
    before: &Arc<RoomSettings>,
    after: &Arc<RoomSettings>,
) -> Result<(), ProtocolError> {
    let reads = |settings: &RoomSettings, user_id, role_ids: &[RoleId]| {
        settings.permissions(user_id, role_ids).allows(Permissions::READ_MESSAGES)
    };
    let members = members::ids(&state.db, room_id).await.map_err(store_error)?;
    let online: Vec<UserId> = members.into_iter().filter(|user_id| state.hub.is_connected(*user_id)).collect();
    for user_ids in online.chunks(500) {
        let held = members::roles_of(&state.db, room_id, user_ids).await.map_err(store_error)?;
        for user_id in user_ids.iter().copied() {
            let role_ids = held.iter().find(|held| held.user_id == user_id).map_or(&[][..], |held| &held.role_ids);
            let holds = holders.is_none_or(|role_id| role_ids.contains(&role_id));
            if holds && !reads(before, user_id, role_ids) && reads(after, user_id, role_ids) {
                tell_one(state, room_id, user_id).await;
            }
        }
    }
    Ok(())
}

/// A hint: who misses it finds the room in their list.
async fn tell_one(state: &AppState, room_id: RoomId, user_id: UserId) {
    match rooms::views(&state.db, user_id, &[room_id]).await {
        Ok(views) => views.into_iter().for_each(|view| tell_added(state, user_id, view, AddReason::Restored)),
        Err(error) => tracing::warn!(%error, "a member was not told that they can read a room again"),
    }
}
