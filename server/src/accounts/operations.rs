//! The commands `session.*` and `user.*`.

use parlour_protocol::{
    ProtocolError, Timestamp,
    object::{Empty, Items, Page, Session, User},
    operation::{SessionList, SessionRevoke, UserGet, UserReply, UserSearch, UserUpdate},
};

use super::{AccountError, caller::Caller, names};
use crate::{
    app::AppState, directory, directory::accounts::AccountPatch, error::store_error, page::PageOf, store::db::DbError,
};

/// `session.list`.
pub(crate) async fn session_list(
    state: &AppState,
    caller: &Caller,
    _: SessionList,
) -> Result<Items<Session>, ProtocolError> {
    Ok(Items { items: state.accounts.sessions(caller).await? })
}

/// `session.revoke`.
pub(crate) async fn session_revoke(
    state: &AppState,
    caller: &Caller,
    data: SessionRevoke,
) -> Result<Empty, ProtocolError> {
    match (data.session_id, data.others) {
        (Some(session_id), None) => state.accounts.end_session(caller, session_id).await?,
        (None, Some(true)) => state.accounts.end_other_sessions(caller).await?,
        _ => return Err(ProtocolError::bad_request("exactly one of sessionId and others: true is needed")),
    }
    Ok(Empty {})
}

/// `user.get`.
pub(crate) async fn user_get(state: &AppState, _: &Caller, data: UserGet) -> Result<Items<User>, ProtocolError> {
    let items = directory::accounts::users(&state.db, &data.user_ids).await.map_err(store_error)?;
    Ok(Items { items })
}

/// `user.search`.
pub(crate) async fn user_search(
    state: &AppState,
    caller: &Caller,
    data: UserSearch,
) -> Result<Page<User>, ProtocolError> {
    let prefix = names::fold(&data.query);
    let scope = format!("user.search {prefix}");
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    if prefix.is_empty() {
        return Ok(Page::default());
    }
    let found = directory::accounts::search(&state.db, &prefix, caller.user_id, page.after, page.to_read()).await;
    Ok(page.of(found.map_err(AccountError::from)?, |user| user.user_id))
}

/// `user.update`.
pub(crate) async fn user_update(
    state: &AppState,
    caller: &Caller,
    data: UserUpdate,
) -> Result<UserReply, ProtocolError> {
    if data.name.is_none() && data.image.is_keep() && data.biography.is_keep() {
        return Err(ProtocolError::bad_request("one of name, image and biography is needed"));
    }
    let name = match &data.name {
        Some(name) => Some(names::stored(name).ok_or(AccountError::BadName)?),
        None => None,
    };
    let patch = AccountPatch {
        name: name.as_ref(),
        image: data.image.map(|image| image.into_string()),
        biography: data.biography.map(|biography| biography.into_string()),
    };
    let updated = directory::accounts::update(&state.db, caller.user_id, patch, Timestamp::now()).await;
    let (user, changed) = match updated {
        Err(DbError::Unique) => return Err(AccountError::NameTaken.into()),
        outcome => outcome.map_err(AccountError::from)?,
    }
    .ok_or(AccountError::Unauthenticated("the account was deleted"))?;
    if changed {
        state.accounts.announce_changed(user.user_id);
        state.presence.announce_account(&user).await.map_err(store_error)?;
    }
    Ok(UserReply { user })
}
