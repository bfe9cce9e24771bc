//! Rooms, invites, memberships and personal folders. Each verb is one function that both transports call.

pub(crate) mod categories;
pub(crate) mod changes;
pub(crate) mod create;
pub(crate) mod emoji;
pub(crate) mod hierarchy;
pub(crate) mod invites;
pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod members;
pub(crate) mod memberships;
pub(crate) mod read;
pub(crate) mod role_changes;
pub(crate) mod roles;
pub(crate) mod state;
pub(crate) mod update;

use std::sync::Arc;

use parlour_protocol::{
    ConnectionId, ProtocolError, RoomId, UserEvent, UserId,
    event::{AddReason, RemoveReason, RoomAdded, RoomRemoved},
    object::RoomView,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    bus::BusEvent,
    clock,
    error::append_error,
    store::{Append, AppendError, Appended, RoomChange},
};

/// Appends a change that is not about a message and forgets at once what this node knew of the room, so that whoever
/// caused the change meets it in their next command.
pub(crate) async fn append(
    state: &AppState,
    caller: &Caller,
    room_id: RoomId,
    change: RoomChange,
) -> Result<Appended, ProtocolError> {
    append_as(state, caller.connection_id, room_id, change).await.map_err(append_error)
}

/// The same, with what the store says when it refuses, and for whatever socket caused it.
pub(crate) async fn append_as(
    state: &AppState,
    cause: Option<ConnectionId>,
    room_id: RoomId,
    change: RoomChange,
) -> Result<Appended, AppendError> {
    let generation = state.store.generation();
    let append = Append { room_id, now: clock::now_nanos(), cause, generation, change };
    let appended = state.store.append(append).await.await?;
    for entry in &appended.entries {
        state.rooms.apply(room_id, &entry.event);
    }
    Ok(appended)
}

/// Tells a user's devices of a room that appeared.
pub(crate) fn tell_added(state: &AppState, user_id: UserId, view: RoomView, reason: AddReason) {
    let event = UserEvent::RoomAdded(Box::new(RoomAdded { view, reason }));
    state.bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
}

/// Tells a user's devices of a room that vanished.
pub(crate) fn tell_removed(state: &AppState, user_id: UserId, room_id: RoomId, reason: RemoveReason) {
    let event = UserEvent::RoomRemoved(Box::new(RoomRemoved { room_id, reason }));
    state.bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
}
