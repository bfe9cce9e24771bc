//! `room.members`.

use parlour_protocol::{
    ProtocolError,
    object::{Member, Page},
    operation::RoomMembers,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    cursor,
    directory::members::{self, MemberPosition, MemberQuery},
    error::store_error,
    messages::read::page_size,
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
    let after = cursor::decode::<MemberPosition>(&scope, data.cursor.as_deref())?;
    let limit = page_size(data.limit);
    let wanted = MemberQuery { room_id: data.room_id, query, user_ids, after, limit: limit + 1 };
    let mut items = members::page(&state.db, wanted).await.map_err(store_error)?;
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| has_more).map(|last| cursor::encode(&scope, &MemberPosition::of(last)));
    Ok(Page { items, next_cursor: next_cursor.unwrap_or_default(), has_more })
}
