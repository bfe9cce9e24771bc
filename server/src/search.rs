//! Search: `message.search`, `message.sent`, over an index that is written behind the messages. A search first takes
//! in what its rooms have had since, so that an acknowledged message is always found.

mod filters;
mod found;
pub(crate) mod index;
mod words;

use std::collections::BTreeMap;

use parlour_protocol::{
    ProtocolError, RoomId,
    object::OffsetPage,
    operation::{MessageSearch, MessageSearchReply, MessageSent, Offset, Order, SentMessage},
};

use self::{filters::Wanted, found::Query};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{marks, rooms},
    error::store_error,
    page::page_size,
};

fn offset(offset: Option<Offset>) -> usize {
    offset.map_or(0, |offset| usize::try_from(offset.get()).unwrap_or(0))
}

/// Finds messages of a room, or of the rooms that filters name.
///
/// # Errors
/// `forbidden` for a room that the caller cannot read; `bad_request` for a filter that cannot be read, and without
/// anything to look for.
pub(crate) async fn search(
    state: &AppState,
    caller: &Caller,
    data: MessageSearch,
) -> Result<MessageSearchReply, ProtocolError> {
    let zone = data.time_zone.as_ref().map_or("UTC", |zone| zone.as_str());
    let filters = data.filters.as_ref().map_or(&[][..], |filters| filters);
    let wanted = Wanted::read(filters, zone)?;
    let query = data.query.as_ref().map_or("", |query| query.as_str());
    if query.trim().is_empty() && wanted.is_empty() {
        return Err(ProtocolError::bad_field("/query", "words, or a filter with a value, are needed"));
    }
    state.rooms.reader(data.room_id, caller.user_id).await?;
    for room_id in &wanted.rooms {
        state.rooms.reader(*room_id, caller.user_id).await?;
    }
    let room_ids = if wanted.rooms.is_empty() { vec![data.room_id] } else { wanted.rooms.clone() };
    let heads = state.store.heads(&room_ids).await.map_err(store_error)?;
    let as_of: BTreeMap<RoomId, u64> = heads.into_iter().map(|(room_id, head)| (room_id, head.seq)).collect();
    state.search.catch_up(&room_ids).await.map_err(store_error)?;
    let query = Query {
        room_ids,
        words: (!query.trim().is_empty()).then(|| words::of_query(query)),
        wanted,
        is_ascending: data.order == Some(Order::Asc),
        offset: offset(data.offset),
        limit: page_size(data.limit),
    };
    let found = query.run(&state.db).await.map_err(store_error)?;
    let (items, has_more) = found::load(state, caller, &found).await?;
    Ok(MessageSearchReply { items, has_more: has_more || found.has_more, total: found.total, as_of })
}

/// One's own messages in the rooms that one can read, newest first.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn sent(
    state: &AppState,
    caller: &Caller,
    data: MessageSent,
) -> Result<OffsetPage<SentMessage>, ProtocolError> {
    let joined = found::joined_rooms(&state.db, caller.user_id).await.map_err(store_error)?;
    let mut room_ids = Vec::with_capacity(joined.len());
    for room_id in joined {
        if state.rooms.reader(room_id, caller.user_id).await.is_ok() {
            room_ids.push(room_id);
        }
    }
    state.search.catch_up(&room_ids).await.map_err(store_error)?;
    let found = found::sent(&state.db, caller.user_id, &room_ids, offset(data.offset), page_size(data.limit)).await;
    let found = found.map_err(store_error)?;
    let (messages, has_more) = found::load(state, caller, &found).await?;
    let shown: Vec<RoomId> = messages.iter().map(|message| message.room_id).collect();
    let views = rooms::views(&state.db, caller.user_id, &shown).await.map_err(store_error)?;
    let with_room = |message: parlour_protocol::object::Message| {
        let view = views.iter().find(|view| view.room.room_id == message.room_id)?;
        Some(SentMessage { room: view.room.clone(), message })
    };
    let items = messages.into_iter().filter_map(with_room).collect();
    Ok(OffsetPage { items, has_more: has_more || found.has_more, total: found.total })
}

async fn fill(
    state: &AppState,
    caller: &Caller,
    messages: &mut [parlour_protocol::object::Message],
) -> Result<(), ProtocolError> {
    marks::fill(&state.db, caller.user_id, messages).await.map_err(store_error)
}
