//! `room.members`.

use parlour_protocol::{
    ProtocolError,
    object::{Member, Page},
    operation::RoomMembers,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::members::{self, MemberPosition, MemberQuery},
    error::store_error,
    page::PageOf,
};

/// A page of a room's members, by the time they joined.
///
/// # Errors
/// `forbidden`, `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: RoomMembers) -> Result<Page<Member>, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let query = data.query.as_deref().filter(|query| !query.is_empty());
    let user_ids = data.user_ids.as_deref();
    let scope = format!("room.members {} {} {user_ids:?}", data.room_id, query.unwrap_or_default());
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let wanted = MemberQuery { room_id: data.room_id, query, user_ids, after: page.after, limit: page.to_read() };
    Ok(page.of(members::page(&state.db, wanted).await.map_err(store_error)?, MemberPosition::of))
}
