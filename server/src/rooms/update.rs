//! `room.update` and `room.delete`.

use parlour_protocol::{
    Patch, Permissions, ProtocolError,
    event::{RemoveReason, RoomDelta},
    object::Empty,
    operation::{RoomDelete, RoomReply, RoomUpdate},
};

use super::{append, read, state::Access, tell_removed};
use crate::{accounts::caller::Caller, app::AppState, directory::members, error::store_error, store::RoomChange};

/// Changes a room's settings. A repeat stores and announces nothing.
///
/// # Errors
/// `forbidden`, `bad_request` for a direct message or without a field.
pub(crate) async fn update(state: &AppState, caller: &Caller, data: RoomUpdate) -> Result<RoomReply, ProtocolError> {
    let room_id = data.room_id;
    let access = state.rooms.access(room_id, caller.user_id).await?.require_room()?;
    let access = access.require(Permissions::MANAGE_ROOM)?;
    let wanted = requested(data)?;
    let changes = differences(&access, wanted);
    if changes != RoomDelta::default() {
        append(state, caller, room_id, RoomChange::UpdateRoom { changes: Box::new(changes), by: caller.user_id })
            .await?;
    }
    Ok(RoomReply { room: read::view(state, caller, room_id).await?.room })
}

fn requested(data: RoomUpdate) -> Result<RoomDelta, ProtocolError> {
    let delta = RoomDelta {
        name: data.name.map(|name| name.into_string()),
        topic: emptied(data.topic.map(|topic| topic.into_string())),
        image: emptied(data.image.map(|image| image.into_string())),
        is_read_only: data.is_read_only,
        is_invite_paused: data.is_invite_paused,
        slowmode_ms: data.slowmode_ms.map(|slowmode| slowmode.unsigned()),
        max_file_size_bytes: data.max_file_size_bytes.map(|size| size.unsigned()),
        allowed_mime_categories: data.allowed_mime_categories.map(|categories| {
            let mut categories = categories.into_vec();
            categories.sort_unstable();
            categories
        }),
        updated_at: None,
    };
    if delta == RoomDelta::default() {
        return Err(ProtocolError::bad_request("name at least one setting"));
    }
    Ok(delta)
}

/// An empty text is no text.
fn emptied(patch: Patch<String>) -> Patch<String> {
    match patch {
        Patch::Set(text) if text.is_empty() => Patch::Clear,
        patch => patch,
    }
}

/// Only what differs from the present settings.
fn differences(access: &Access, wanted: RoomDelta) -> RoomDelta {
    let room = access.room();
    fn patched<T: PartialEq>(wanted: Patch<T>, current: Option<&T>) -> Patch<T> {
        match (&wanted, current) {
            (Patch::Clear, None) => Patch::Keep,
            (Patch::Set(value), Some(current)) if value == current => Patch::Keep,
            _ => wanted,
        }
    }
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    RoomDelta {
        name: wanted.name.filter(|name| *name != room.name),
        topic: patched(wanted.topic, text(&room.topic).as_ref()),
        image: patched(wanted.image, text(&room.image).as_ref()),
        is_read_only: wanted.is_read_only.filter(|value| *value != room.is_read_only),
        is_invite_paused: wanted.is_invite_paused.filter(|value| *value != room.is_invite_paused),
        slowmode_ms: patched(wanted.slowmode_ms, room.slowmode_ms.as_ref()),
        max_file_size_bytes: patched(wanted.max_file_size_bytes, room.max_file_size_bytes.as_ref()),
        allowed_mime_categories: wanted
            .allowed_mime_categories
            .filter(|categories| *categories != room.allowed_mime_categories),
        updated_at: None,
    }
}

/// Ends a room.
///
/// # Errors
/// `forbidden` for all but the owner, `bad_request` for a direct message.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: RoomDelete) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    if !access.is_owner() {
        let reason = "only the owner can delete a room";
        return Err(ProtocolError::new(parlour_protocol::ErrorCode::Forbidden, reason));
    }
    end(state, caller, &access).await
}

/// Ends a room and tells its members.
pub(super) async fn end(state: &AppState, caller: &Caller, access: &Access) -> Result<Empty, ProtocolError> {
    let room_id = access.room().room_id;
    let members = members::ids(&state.db, room_id).await.map_err(store_error)?;
    append(state, caller, room_id, RoomChange::DeleteRoom { by: caller.user_id }).await?;
    for user_id in members {
        tell_removed(state, user_id, room_id, RemoveReason::Deleted);
    }
    Ok(Empty {})
}
