//! `room.get` and `room.list`.

use parlour_protocol::{
    Maybe, ProtocolError, RoomId,
    object::{Page, RoomType, RoomView},
    operation::{RoomGet, RoomList, RoomOrder},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::rooms::{self, RoomPosition, RoomsQuery},
    error::store_error,
    page::PageOf,
};

/// A room, or the latest active one.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn get(state: &AppState, caller: &Caller, data: RoomGet) -> Result<Maybe<RoomView>, ProtocolError> {
    let Some(room_id) = data.room_id else {
        let query = RoomsQuery {
            user_id: caller.user_id,
            room_type: RoomType::Room,
            order: RoomOrder::Activity,
            query: None,
            after: None,
            limit: 1,
        };
        let latest = rooms::page(&state.db, query).await;
        let Some(position) = latest.map_err(store_error)?.into_iter().next() else { return Ok(Maybe(None)) };
        return view(state, caller, position.room_id).await.map(|view| Maybe(Some(view)));
    };
    view(state, caller, room_id).await.map(|view| Maybe(Some(view)))
}

/// The caller's view of one room.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn view(state: &AppState, caller: &Caller, room_id: RoomId) -> Result<RoomView, ProtocolError> {
    let views = rooms::views(&state.db, caller.user_id, &[room_id]).await.map_err(store_error)?;
    views.into_iter().next().ok_or_else(ProtocolError::no_access)
}

/// A page of the caller's rooms.
///
/// # Errors
/// `forbidden` when `roomId` is not joined, `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: RoomList) -> Result<Page<RoomView>, ProtocolError> {
    let order = data.order.unwrap_or(RoomOrder::Activity);
    let query = data.query.as_deref().filter(|query| !query.is_empty());
    let scope = format!("room.list {} {} {}", caller.user_id, order.as_str(), query.unwrap_or_default());
    let page = PageOf::<RoomPosition>::new(scope, data.cursor.as_ref(), data.limit)?;
    let wanted = RoomsQuery {
        user_id: caller.user_id,
        room_type: RoomType::Room,
        order,
        query,
        after: page.after,
        limit: page.to_read(),
    };
    let positions = page.of(rooms::page(&state.db, wanted).await.map_err(store_error)?, |position| *position);
    let mut room_ids: Vec<_> = positions.items.iter().map(|position| position.room_id).collect();
    let appended = data.room_id.filter(|room_id| !room_ids.contains(room_id));
    room_ids.extend(appended);
    let items = rooms::views(&state.db, caller.user_id, &room_ids).await.map_err(store_error)?;
    if appended.is_some_and(|room_id| items.iter().all(|view| view.room.room_id != room_id)) {
        return Err(ProtocolError::no_access());
    }
    Ok(Page { items, next_cursor: positions.next_cursor, has_more: positions.has_more })
}
