//! `friend.*`: requests, answers, the list.

use std::collections::HashMap;

use parlour_protocol::{
    ErrorCode, ProtocolError, UserId,
    event::FriendChange,
    object::{Empty, Friend, FriendRequest, FriendRequestDirection, Page, User},
    operation::{
        self, FriendAccept, FriendCancel, FriendDecline, FriendList, FriendListReply, FriendRemove, FriendReply,
        FriendRequestReply,
    },
};

use super::{living, status, tell_both};
use crate::{
    accounts::{caller::Caller, names},
    app::AppState,
    directory::{
        accounts,
        friends::{self, FriendError, FriendLimits},
        nonces::{self, FirstResult},
    },
    error::store_error,
    notifications::tell_friend_request,
    page::PageOf,
};

fn limits(state: &AppState) -> FriendLimits {
    FriendLimits { friends: state.limits.friends, requests: state.limits.friend_requests }
}

/// What a client is told when nothing came to be between two users.
pub(super) fn refusal(error: FriendError) -> ProtocolError {
    match error {
        FriendError::Repeat => ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"),
        FriendError::NoUser | FriendError::NoRequest => ProtocolError::not_found(error.to_string()),
        FriendError::Refused(reason) => ProtocolError::bad_request(reason),
        FriendError::Db(error) => store_error(error.into()),
    }
}

/// Asks somebody, by id or name, to be a friend.
///
/// # Errors
/// `not_found` no such user; `bad_request` oneself, a block, friends already, their request pending.
pub(crate) async fn request(
    state: &AppState,
    caller: &Caller,
    data: operation::FriendRequest,
) -> Result<FriendRequestReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let other = match (data.user_id, &data.name) {
        (Some(user_id), None) => living(state, user_id).await?,
        (None, Some(name)) => named(state, name).await?,
        _ => return Err(ProtocolError::bad_request("exactly one of userId and name is needed")),
    };
    if other.user_id == caller.user_id {
        return Err(ProtocolError::bad_request("you cannot be your own friend"));
    }
    let reply = |created_at| FriendRequestReply {
        request: FriendRequest { user: other.clone(), direction: FriendRequestDirection::Outgoing, created_at },
    };
    let result = |created_at| FirstResult::of(caller.user_id, &data, &reply(created_at));
    let requested = friends::request(&state.db, caller.user_id, other.user_id, limits(state), result).await;
    let requested = match requested {
        Err(FriendError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            return first.ok_or_else(|| refusal(FriendError::Repeat));
        }
        outcome => outcome.map_err(refusal)?,
    };
    if requested.is_new {
        tell(state, caller, &other, FriendChange::Requested).await?;
        tell_friend_request(&state.db, &state.push.outbox, other.user_id, caller.user_id).await;
    }
    Ok(reply(requested.created_at))
}

async fn named(state: &AppState, name: &str) -> Result<User, ProtocolError> {
    let no_user = || ProtocolError::not_found("no such user");
    let name = names::stored(name).ok_or_else(no_user)?;
    let found = accounts::credentials(&state.db, &name.key).await.map_err(|error| store_error(error.into()))?;
    // A look-alike of the name is somebody else.
    found.map(|found| found.user).filter(|user| names::fold(&user.name) == name.fold).ok_or_else(no_user)
}

async fn tell(state: &AppState, caller: &Caller, other: &User, change: FriendChange) -> Result<(), ProtocolError> {
    let own = accounts::user(&state.db, caller.user_id).await.map_err(store_error)?;
    if let Some(own) = own {
        tell_both(state, &own, other, change);
    }
    Ok(())
}

async fn tell_of(
    state: &AppState,
    caller: &Caller,
    user_id: UserId,
    change: FriendChange,
) -> Result<(), ProtocolError> {
    match accounts::user(&state.db, user_id).await.map_err(store_error)? {
        Some(other) => tell(state, caller, &other, change).await,
        None => Ok(()),
    }
}

/// Takes a request.
///
/// # Errors
/// `not_found` no request.
pub(crate) async fn accept(
    state: &AppState,
    caller: &Caller,
    data: FriendAccept,
) -> Result<FriendReply, ProtocolError> {
    let accepted = friends::accept(&state.db, caller.user_id, data.user_id, limits(state)).await;
    let (created_at, is_new) = accepted.map_err(refusal)?;
    let user = living(state, data.user_id).await?;
    if is_new {
        tell(state, caller, &user, FriendChange::Accepted).await?;
    }
    let status = status::of(state, user.user_id).await?;
    Ok(FriendReply { friend: Friend { user, status, created_at } })
}

/// Refuses a request.
///
/// # Errors
/// `not_found` no request.
pub(crate) async fn decline(state: &AppState, caller: &Caller, data: FriendDecline) -> Result<Empty, ProtocolError> {
    let ended = friends::end_request(&state.db, data.user_id, caller.user_id).await;
    ended_or_absent(ended.map_err(|error| store_error(error.into()))?, "no such request")?;
    tell_of(state, caller, data.user_id, FriendChange::Declined).await?;
    Ok(Empty {})
}

/// Takes one's own request back.
///
/// # Errors
/// `not_found` no request.
pub(crate) async fn cancel(state: &AppState, caller: &Caller, data: FriendCancel) -> Result<Empty, ProtocolError> {
    let ended = friends::end_request(&state.db, caller.user_id, data.user_id).await;
    ended_or_absent(ended.map_err(|error| store_error(error.into()))?, "no such request")?;
    tell_of(state, caller, data.user_id, FriendChange::Cancelled).await?;
    Ok(Empty {})
}

/// Ends a friendship.
///
/// # Errors
/// `not_found` no friend.
pub(crate) async fn remove(state: &AppState, caller: &Caller, data: FriendRemove) -> Result<Empty, ProtocolError> {
    let ended = friends::end(&state.db, caller.user_id, data.user_id).await;
    ended_or_absent(ended.map_err(|error| store_error(error.into()))?, "no such friend")?;
    tell_of(state, caller, data.user_id, FriendChange::Removed).await?;
    Ok(Empty {})
}

fn ended_or_absent(ended: bool, absent: &str) -> Result<(), ProtocolError> {
    if ended { Ok(()) } else { Err(ProtocolError::not_found(absent)) }
}

/// A page of one's friends by name; with the first page all requests.
///
/// # Errors
/// `bad_request` for an unknown cursor.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    data: FriendList,
) -> Result<FriendListReply, ProtocolError> {
    let scope = format!("friend.list {}", caller.user_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let friends = friends::page(&state.db, caller.user_id, page.after, page.to_read()).await.map_err(store_error)?;
    let Page { items: friends, next_cursor, has_more } = page.of(friends, |(user_id, _)| *user_id);
    let requests = match page.after {
        None => friends::requests(&state.db, caller.user_id).await.map_err(store_error)?,
        Some(_) => Vec::new(),
    };
    let friend_ids: Vec<_> = friends.iter().map(|(user_id, _)| *user_id).collect();
    let mut statuses: HashMap<_, _> =
        status::all(state, &friend_ids).await?.into_iter().map(|status| (status.user_id, status)).collect();
    let mut user_ids = friend_ids;
    user_ids.extend(requests.iter().map(|(user_id, ..)| *user_id));
    let users = accounts::users(&state.db, &user_ids).await.map_err(store_error)?;
    let mut users: HashMap<_, _> = users.into_iter().map(|user| (user.user_id, user)).collect();
    let items = friends.into_iter().filter_map(|(user_id, created_at)| {
        Some(Friend { user: users.remove(&user_id)?, status: statuses.remove(&user_id)?, created_at })
    });
    let items = items.collect();
    let requests = requests.into_iter().filter_map(|(user_id, direction, created_at)| {
        Some(FriendRequest { user: users.remove(&user_id)?, direction, created_at })
    });
    let requests = requests.collect();
    Ok(FriendListReply { items, next_cursor, has_more, requests })
}
