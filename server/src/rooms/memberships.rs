//! `membership.get`, `membership.update`, `membership.clearMentions`.

use std::sync::Arc;

use parlour_protocol::{
    ErrorCode, Patch, Permissions, ProtocolError, RoomId, Timestamp, UserEvent,
    event::MembershipUpdated,
    object::{Items, Membership},
    operation::{MembershipClearMentions, MembershipGet, MembershipReply, MembershipUpdate, MembershipUpdateReply},
};

use super::append;
use crate::{
    accounts::caller::Caller,
    app::AppState,
    bus::BusEvent,
    directory::{
        categories,
        members::{self, MembershipPatch},
        room_changes,
    },
    error::store_error,
    store::RoomChange,
};

/// One's own memberships.
///
/// # Errors
/// `forbidden` unless a member of all.
pub(crate) async fn get(
    state: &AppState,
    caller: &Caller,
    data: MembershipGet,
) -> Result<Items<Membership>, ProtocolError> {
    let items = members::memberships(&state.db, caller.user_id, &data.room_ids).await.map_err(store_error)?;
    if items.len() < data.room_ids.len() {
        return Err(ProtocolError::no_access());
    }
    Ok(Items { items })
}

/// Changes one's own settings in a room, or another's nickname.
///
/// # Errors
/// `forbidden`; `not_found` for no such member or category.
pub(crate) async fn update(
    state: &AppState,
    caller: &Caller,
    data: MembershipUpdate,
) -> Result<MembershipUpdateReply, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?;
    let patch = MembershipPatch {
        notification_type: data.notification_type,
        last_read_at: data.last_read_at.map(|marker| marker.min(Timestamp::now())),
        category_id: data.category_id,
    };
    let nickname = match data.nickname {
        Patch::Set(nickname) if nickname.trim().is_empty() => Patch::Clear,
        nickname => nickname.map(|nickname| nickname.trim().to_owned()),
    };
    if let Some(user_id) = data.user_id.filter(|user_id| *user_id != caller.user_id) {
        if patch != MembershipPatch::default() || nickname.is_keep() {
            return Err(ProtocolError::bad_field("/userId", "of another member only the nickname can be changed"));
        }
        access.require(Permissions::MANAGE_NICKNAMES)?;
        let target = state.rooms.access(data.room_id, user_id).await.map_err(|error| match error.code {
            ErrorCode::Forbidden => ProtocolError::not_found("no such member"),
            _ => error,
        })?;
        rename(state, caller, data.room_id, &target.member.membership, nickname).await?;
        tell(state, user_id, data.room_id).await?;
        let member = members::one(&state.db, data.room_id, user_id).await.map_err(store_error)?;
        return Ok(MembershipUpdateReply { membership: None, member });
    }
    if let Patch::Set(category_id) = data.category_id
        && !categories::exists(&state.db, caller.user_id, category_id).await.map_err(store_error)?
    {
        return Err(ProtocolError::not_found("no such category"));
    }
    let mut changed = rename(state, caller, data.room_id, &access.member.membership, nickname).await?;
    changed |= members::update(&state.db, data.room_id, caller.user_id, &patch).await.map_err(store_error)?;
    if changed {
        state.rooms.forget_member(data.room_id, caller.user_id);
        room_changes::announce(&state.db, data.room_id, caller.user_id).await.map_err(store_error)?;
        tell(state, caller.user_id, data.room_id).await?;
    }
    let membership = own(state, caller.user_id, data.room_id).await?;
    Ok(MembershipUpdateReply { membership: Some(membership), member: None })
}

/// Changes a nickname through the room's log; nothing when it is the same.
async fn rename(
    state: &AppState,
    caller: &Caller,
    room_id: RoomId,
    current: &Membership,
    nickname: Patch<String>,
) -> Result<bool, ProtocolError> {
    let unchanged = match &nickname {
        Patch::Keep => true,
        Patch::Clear => current.nickname.is_empty(),
        Patch::Set(nickname) => *nickname == current.nickname,
    };
    if unchanged {
        return Ok(false);
    }
    let change = RoomChange::UpdateMember { user_id: current.user_id, nickname, timeout_until: Patch::Keep };
    append(state, caller, room_id, change).await?;
    Ok(true)
}

/// Clears one's mention count.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn clear_mentions(
    state: &AppState,
    caller: &Caller,
    data: MembershipClearMentions,
) -> Result<MembershipReply, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let had = own(state, caller.user_id, data.room_id).await?.mention_count > 0;
    members::clear_mentions(&state.db, data.room_id, caller.user_id, Timestamp::now()).await.map_err(store_error)?;
    if had {
        tell(state, caller.user_id, data.room_id).await?;
    }
    Ok(MembershipReply { membership: own(state, caller.user_id, data.room_id).await? })
}

async fn own(
    state: &AppState,
    user_id: parlour_protocol::UserId,
    room_id: RoomId,
) -> Result<Membership, ProtocolError> {
    let found = members::memberships(&state.db, user_id, &[room_id]).await.map_err(store_error)?;
    found.into_iter().next().ok_or_else(ProtocolError::no_access)
}

/// Tells a member's devices of their present membership.
pub(crate) async fn tell(
    state: &AppState,
    user_id: parlour_protocol::UserId,
    room_id: RoomId,
) -> Result<(), ProtocolError> {
    let membership = own(state, user_id, room_id).await?;
    let event = UserEvent::MembershipUpdated(Box::new(MembershipUpdated { membership }));
    state.bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
    Ok(())
}
