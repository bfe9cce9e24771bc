//! `message.list`, `message.get`, `message.thread`: pages of live messages, each with the `seq` it is at least as
//! new as.

use parlour_protocol::{
    ProtocolError, RoomId, RowKey,
    limits::PAGE_BYTES,
    object::Message,
    operation::{MessageGet, MessageGetReply, MessageList, MessageListReply, MessageThread, MessageThreadReply, Order},
};

use crate::{
    accounts::caller::Caller, app::AppState, cursor, directory::marks, error::store_error, page::page_size,
    store::ListQuery,
};

/// Reads a page of a room.
///
/// # Errors
/// `not_found` when `around` is absent, `bad_request`.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    data: MessageList,
) -> Result<MessageListReply, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let as_of = head(state, data.room_id).await?;
    let limit = page_size(data.limit);
    let pinned = data.is_pinned == Some(true);
    if let Some(around) = data.around {
        if data.order.is_some() || data.cursor.is_some() || data.include_cursor.is_some() || data.is_pinned.is_some() {
            return Err(ProtocolError::bad_field("/around", "stands alone with limit"));
        }
        return list_around(state, caller, (data.room_id, around), limit, as_of).await;
    }
    let query = ListQuery {
        room_id: data.room_id,
        order: data.order.unwrap_or(Order::Desc),
        from: data.cursor,
        inclusive: data.include_cursor == Some(true),
        pinned,
        reply_to: None,
        limit: limit + 1,
    };
    let Cut { mut items, has_more } = cut(state.store.list(query).await.map_err(store_error)?, limit, PAGE_BYTES);
    marks::fill(&state.db, caller.user_id, &mut items).await.map_err(store_error)?;
    Ok(MessageListReply {
        next_cursor: last_key(&items),
        items,
        has_more,
        prev_cursor: String::new(),
        has_more_newer: false,
        as_of,
    })
}

async fn list_around(
    state: &AppState,
    caller: &Caller,
    (room_id, around): (RoomId, RowKey),
    limit: usize,
    as_of: u64,
) -> Result<MessageListReply, ProtocolError> {
    let newer_limit = (limit - 1) / 2;
    let older_limit = limit - newer_limit;
    let page = |order, inclusive, limit| ListQuery {
        room_id,
        order,
        from: Some(around),
        inclusive,
        pinned: false,
        reply_to: None,
        limit,
    };
    let older = state.store.list(page(Order::Desc, true, older_limit + 1)).await.map_err(store_error)?;
    if older.first().is_none_or(|message| message.row_key != around) {
        return Err(ProtocolError::not_found("no such message"));
    }
    let newer = state.store.list(page(Order::Asc, false, newer_limit + 1)).await.map_err(store_error)?;
    let older = cut(older, older_limit, PAGE_BYTES / 2);
    let newer = cut(newer, newer_limit, PAGE_BYTES / 2);
    let mut items: Vec<_> = newer.items.into_iter().rev().chain(older.items).collect();
    marks::fill(&state.db, caller.user_id, &mut items).await.map_err(store_error)?;
    Ok(MessageListReply {
        next_cursor: last_key(&items),
        prev_cursor: items.first().map(|message| message.row_key.to_string()).unwrap_or_default(),
        items,
        has_more: older.has_more,
        has_more_newer: newer.has_more,
        as_of,
    })
}

/// Reads single messages.
///
/// # Errors
/// `forbidden`, `unavailable`.
pub(crate) async fn get(state: &AppState, caller: &Caller, data: MessageGet) -> Result<MessageGetReply, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let as_of = head(state, data.room_id).await?;
    let mut row_keys = data.row_keys.into_vec();
    row_keys.sort_unstable();
    let found = state.store.get(data.room_id, &row_keys).await.map_err(store_error)?;
    let Cut { mut items, has_more } = cut(found, row_keys.len(), PAGE_BYTES);
    marks::fill(&state.db, caller.user_id, &mut items).await.map_err(store_error)?;
    let rest = match items.last().filter(|_| has_more) {
        Some(last) => row_keys.into_iter().filter(|row_key| *row_key > last.row_key).collect(),
        None => Vec::new(),
    };
    Ok(MessageGetReply { items, rest, as_of })
}

/// Reads the replies to a message.
///
/// # Errors
/// `bad_request` for an unknown cursor.
pub(crate) async fn thread(
    state: &AppState,
    caller: &Caller,
    data: MessageThread,
) -> Result<MessageThreadReply, ProtocolError> {
    let room_id = data.room_id;
    state.rooms.reader(room_id, caller.user_id).await?;
    let scope = format!("message.thread {room_id} {}", data.row_key);
    let from = cursor::decode::<RowKey>(&scope, data.cursor.as_deref())?;
    let as_of = head(state, room_id).await?;
    let limit = page_size(data.limit);
    let query = ListQuery {
        room_id,
        order: Order::Desc,
        from,
        inclusive: false,
        pinned: false,
        reply_to: Some(data.row_key),
        limit: limit + 1,
    };
    let Cut { mut items, has_more } = cut(state.store.list(query).await.map_err(store_error)?, limit, PAGE_BYTES);
    marks::fill(&state.db, caller.user_id, &mut items).await.map_err(store_error)?;
    let mut root = state.store.get(room_id, &[data.row_key]).await.map_err(store_error)?;
    marks::fill(&state.db, caller.user_id, &mut root).await.map_err(store_error)?;
    let root = root.into_iter().next();
    let next_cursor = items.last().filter(|_| has_more).map(|last| cursor::encode(&scope, &last.row_key));
    Ok(MessageThreadReply { items, next_cursor: next_cursor.unwrap_or_default(), has_more, root, as_of })
}

/// The room's `seq`, read before the rows.
async fn head(state: &AppState, room_id: RoomId) -> Result<u64, ProtocolError> {
    let heads = state.store.heads(&[room_id]).await.map_err(store_error)?;
    heads.into_iter().next().map(|(_, head)| head.seq).ok_or_else(ProtocolError::no_access)
}

/// A page, cut.
struct Cut {
    items: Vec<Message>,
    has_more: bool,
}

/// Cuts what was read to `limit` messages and about `bytes` of JSON; one message always remains.
fn cut(mut items: Vec<Message>, limit: usize, bytes: usize) -> Cut {
    let read = items.len();
    items.truncate(limit);
    let mut total = 0;
    let fitting = items.iter().take_while(|message| {
        total += serde_json::to_vec(message).map_or(0, |json| json.len() + 1);
        total <= bytes
    });
    let fitting = fitting.count().max(1);
    items.truncate(fitting);
    Cut { has_more: read > items.len(), items }
}

fn last_key(items: &[Message]) -> String {
    items.last().map(|message| message.row_key.to_string()).unwrap_or_default()
}
