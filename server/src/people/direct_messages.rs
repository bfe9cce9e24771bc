//! `dm.*`: rooms of a set of people, without owner and roles.

use parlour_protocol::{
    ErrorCode, ProtocolError, RoomId, UserId,
    event::{AddReason, RemoveReason},
    object::{Empty, Page, RoomType, RoomView},
    operation::{DmAdd, DmHide, DmList, DmOpen, DmRemove, RoomOrder},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        direct_messages::{self, NewDirectMessage, OpenError, Opened},
        friends,
        nonces::{self, FirstResult},
        room_changes,
        rooms::{self, RoomPosition, RoomsQuery},
    },
    error::store_error,
    page::PageOf,
    rooms::{append, create, read, tell_added, tell_removed},
    store::RoomChange,
};

/// Tries when others make the same direct message.
const ATTEMPTS: usize = 3;

/// Opens the direct message of oneself and others: there is one for each set of people.
///
/// # Errors
/// `bad_request` with only oneself, or with one who is no friend.
pub(crate) async fn open(state: &AppState, caller: &Caller, data: DmOpen) -> Result<RoomView, ProtocolError> {
    if let Some(room_id) = repeated(state, caller, "dm.open", data.nonce.as_ref()).await? {
        return read::view(state, caller, room_id).await;
    }
    let others: Vec<UserId> = data.user_ids.iter().copied().filter(|user_id| *user_id != caller.user_id).collect();
    if others.is_empty() {
        return Err(ProtocolError::bad_field("/userIds", "must name somebody else"));
    }
    require_friends(state, caller, &others).await?;
    let joined = rooms::count_of(&state.db, caller.user_id).await.map_err(store_error)?;
    create::check_rooms_per_user(state, joined)?;
    let opened = find_or_make(state, caller, &data, &others).await?;
    let room_id = opened.room_id();
    state.rooms.forget_member(room_id, caller.user_id);
    room_changes::announce(&state.db, room_id, caller.user_id).await.map_err(store_error)?;
    let view = read::view(state, caller, room_id).await?;
    match opened {
        Opened::New(_) => {
            tell_added(state, caller.user_id, view.clone(), AddReason::Created);
            tell_others(state, room_id, &others, AddReason::Created).await?;
        }
        Opened::Unhidden(_) => tell_added(state, caller.user_id, view.clone(), AddReason::Opened),
        Opened::Present(_) => {}
    }
    Ok(view)
}

async fn find_or_make(
    state: &AppState,
    caller: &Caller,
    data: &DmOpen,
    others: &[UserId],
) -> Result<Opened, ProtocolError> {
    for _ in 0..ATTEMPTS {
        let epoch = create::new_epoch();
        let new = NewDirectMessage { room_id: RoomId::new(), epoch: &epoch, user_id: caller.user_id, others };
        let result = |room_id: RoomId| FirstResult::naming(caller.user_id, data, &room_id);
        match direct_messages::open(&state.db, new, result).await {
            Ok(opened) => return Ok(opened),
            Err(OpenError::Raced) => {}
            Err(OpenError::Repeat) => {
                let first = repeated(state, caller, "dm.open", data.nonce.as_ref()).await?;
                let taken = || ProtocolError::new(ErrorCode::Conflict, "this nonce is being used");
                return first.map(Opened::Present).ok_or_else(taken);
            }
            Err(OpenError::Db(error)) => return Err(store_error(error.into())),
        }
    }
    Err(ProtocolError::new(ErrorCode::Unavailable, "the direct message is being made; try again"))
}

async fn repeated(
    state: &AppState,
    caller: &Caller,
    op: &'static str,
    nonce: Option<&parlour_protocol::Nonce>,
) -> Result<Option<RoomId>, ProtocolError> {
    match nonce {
        Some(nonce) => nonces::find(&state.db, caller.user_id, op, nonce).await,
        None => Ok(None),
    }
}

async fn require_friends(state: &AppState, caller: &Caller, others: &[UserId]) -> Result<(), ProtocolError> {
    let friends = friends::among(&state.db, caller.user_id, others).await.map_err(store_error)?;
    if friends.len() < others.len() {
        return Err(ProtocolError::bad_field("/userIds", "must all be your friends"));
    }
    Ok(())
}

/// Tells others of a room that appeared for them.
async fn tell_others(
    state: &AppState,
    room_id: RoomId,
    others: &[UserId],
    reason: AddReason,
) -> Result<(), ProtocolError> {
    for user_id in others {
        let views = rooms::views(&state.db, *user_id, &[room_id]).await.map_err(store_error)?;
        if let Some(view) = views.into_iter().next() {
            tell_added(state, *user_id, view, reason);
        }
    }
    Ok(())
}

/// A page of one's direct messages that are not hidden, the latest active first.
///
/// # Errors
/// `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: DmList) -> Result<Page<RoomView>, ProtocolError> {
    let scope = format!("dm.list {}", caller.user_id);
    let page = PageOf::<RoomPosition>::new(scope, data.cursor.as_ref(), data.limit)?;
    let query = RoomsQuery {
        user_id: caller.user_id,
        room_type: RoomType::DirectMessage,
        order: RoomOrder::Activity,
        query: None,
        after: page.after,
        limit: page.to_read(),
    };
    let positions = rooms::page(&state.db, query).await.map_err(store_error)?;
    let Page { items, next_cursor, has_more } = page.of(positions, |position| *position);
    let room_ids: Vec<_> = items.iter().map(|position| position.room_id).collect();
    let items = rooms::views(&state.db, caller.user_id, &room_ids).await.map_err(store_error)?;
    Ok(Page { items, next_cursor, has_more })
}

/// Takes a direct message off one's list.
///
/// # Errors
/// `forbidden`, `bad_request` for a room.
pub(crate) async fn hide(state: &AppState, caller: &Caller, data: DmHide) -> Result<Empty, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?.require_direct_message()?;
    if direct_messages::hide(&state.db, data.room_id, caller.user_id).await.map_err(store_error)? {
        state.rooms.forget_member(data.room_id, caller.user_id);
        room_changes::announce(&state.db, data.room_id, caller.user_id).await.map_err(store_error)?;
        tell_removed(state, caller.user_id, data.room_id, RemoveReason::Hidden);
    }
    Ok(Empty {})
}

/// Adds friends.
///
/// # Errors
/// `forbidden`; `bad_request` for a room, one who is no friend, is in already, or with a block between them and
/// anyone there; `conflict` when a direct message of that very set exists.
pub(crate) async fn add(state: &AppState, caller: &Caller, data: DmAdd) -> Result<RoomView, ProtocolError> {
    if let Some(room_id) = repeated(state, caller, "dm.add", data.nonce.as_ref()).await? {
        return read::view(state, caller, room_id).await;
    }
    let room_id = data.room_id;
    state.rooms.access(room_id, caller.user_id).await?.require_direct_message()?;
    let added: Vec<UserId> = data.user_ids.iter().copied().collect();
    let present = crate::directory::members::ids(&state.db, room_id).await.map_err(store_error)?;
    if added.iter().any(|user_id| present.contains(user_id)) {
        return Err(ProtocolError::bad_field("/userIds", "must not be in it already"));
    }
    let most = usize::try_from(state.limits.dm_participants).unwrap_or(usize::MAX);
    if present.len() + added.len() > most {
        return Err(ProtocolError::bad_field("/userIds", format!("a direct message has {most} people at most")));
    }
    require_friends(state, caller, &added).await?;
    if direct_messages::has_block_with(&state.db, room_id, &added).await.map_err(store_error)? {
        return Err(ProtocolError::bad_field("/userIds", "there is a block between one of them and somebody there"));
    }
    let change = RoomChange::AddParticipants { user_ids: added.clone(), by: caller.user_id, nonce: data.nonce };
    append(state, caller, room_id, change).await?;
    tell_others(state, room_id, &added, AddReason::Added).await?;
    read::view(state, caller, room_id).await
}

/// Takes somebody, or oneself, out.
///
/// # Errors
/// `forbidden`; `bad_request` for a room, `not_found` for one who is not in it, `conflict` as [`add`].
pub(crate) async fn remove(state: &AppState, caller: &Caller, data: DmRemove) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_direct_message()?;
    let is_self = data.user_id == caller.user_id;
    let line = if is_self {
        format!("{} left", access.member.shown_name())
    } else {
        let target = state.rooms.access(data.room_id, data.user_id).await.map_err(|error| match error.code {
            ErrorCode::Forbidden => ProtocolError::not_found("no such participant"),
            _ => error,
        })?;
        format!("{} was removed", target.member.shown_name())
    };
    let change = RoomChange::RemoveParticipant { user_id: data.user_id, by: caller.user_id, line };
    append(state, caller, data.room_id, change).await?;
    tell_removed(state, data.user_id, data.room_id, RemoveReason::Left);
    Ok(Empty {})
}
