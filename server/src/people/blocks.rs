//! `block.*`.

use parlour_protocol::{
    ProtocolError,
    event::FriendChange,
    object::{Empty, Page, User},
    operation::{BlockAdd, BlockList, BlockRemove},
};

use super::{friends::refusal, living, tell_both};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{accounts, blocks},
    error::store_error,
    page::PageOf,
};

/// Blocks a user, which ends friendship and requests between the two.
///
/// # Errors
/// `not_found` no such user, `bad_request` oneself.
pub(crate) async fn add(state: &AppState, caller: &Caller, data: BlockAdd) -> Result<Empty, ProtocolError> {
    if data.user_id == caller.user_id {
        return Err(ProtocolError::bad_field("/userId", "you cannot block yourself"));
    }
    let other = living(state, data.user_id).await?;
    let added = blocks::add(&state.db, caller.user_id, other.user_id, state.limits.blocks).await;
    let (were_friends, is_new) = added.map_err(refusal)?;
    if is_new {
        state.accounts.announce_changed(caller.user_id);
        state.accounts.announce_changed(other.user_id);
    }
    if were_friends && let Some(own) = accounts::user(&state.db, caller.user_id).await.map_err(store_error)? {
        tell_both(state, &own, &other, FriendChange::Removed);
    }
    Ok(Empty {})
}

/// Ends a block.
///
/// # Errors
/// `not_found`.
pub(crate) async fn remove(state: &AppState, caller: &Caller, data: BlockRemove) -> Result<Empty, ProtocolError> {
    let removed = blocks::remove(&state.db, caller.user_id, data.user_id).await;
    if !removed.map_err(|error| store_error(error.into()))? {
        return Err(ProtocolError::not_found("you have not blocked this user"));
    }
    state.accounts.announce_changed(caller.user_id);
    state.accounts.announce_changed(data.user_id);
    Ok(Empty {})
}

/// A page of whom one has blocked, newest first.
///
/// # Errors
/// `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: BlockList) -> Result<Page<User>, ProtocolError> {
    let scope = format!("block.list {}", caller.user_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let found = blocks::page(&state.db, caller.user_id, page.after, page.to_read()).await.map_err(store_error)?;
    let Page { items, next_cursor, has_more } = page.of(found, |block| *block);
    let user_ids: Vec<_> = items.iter().map(|block| block.user_id).collect();
    let items = accounts::users(&state.db, &user_ids).await.map_err(store_error)?;
    Ok(Page { items, next_cursor, has_more })
}
