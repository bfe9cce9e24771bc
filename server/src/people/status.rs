//! `status.*`: the override until it ends, else by connection.

use parlour_protocol::{
    Patch, ProtocolError, Timestamp, UserId,
    object::{Items, PresenceStatus, Status},
    operation::{StatusGet, StatusReply, StatusSet},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        accounts,
        statuses::{self, StoredStatus},
    },
    error::store_error,
};

/// Sets the override, its end, and the custom status.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn set(state: &AppState, caller: &Caller, data: StatusSet) -> Result<StatusReply, ProtocolError> {
    let now = Timestamp::now();
    let message = match data.message {
        Patch::Set(message) => Patch::Set(message.trim().to_owned()),
        Patch::Keep => Patch::Keep,
        Patch::Clear => Patch::Clear,
    };
    let change = |stored: StoredStatus| {
        let changed = StoredStatus {
            status: data.status.apply(stored.status),
            message: message.apply(Some(stored.message)).unwrap_or_default(),
            expires_at: data.expires_at.apply(stored.expires_at),
        };
        changed.at(now)
    };
    let changed = statuses::change(&state.db, caller.user_id, now, change).await;
    let (before, after) = changed.map_err(|error| store_error(error.into()))?;
    if before != after {
        state.presence.announce(caller.user_id);
    }
    Ok(StatusReply { status: state.presence.status(caller.user_id, after) })
}

/// The statuses of users; unknown and deleted ones are left out.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn get(state: &AppState, _: &Caller, data: StatusGet) -> Result<Items<Status>, ProtocolError> {
    let known = accounts::users(&state.db, &data.user_ids).await.map_err(store_error)?;
    let known: Vec<_> = known.into_iter().map(|user| user.user_id).collect();
    Ok(Items { items: all(state, &known).await? })
}

/// The status of one user.
pub(super) async fn of(state: &AppState, user_id: UserId) -> Result<Status, ProtocolError> {
    let found = all(state, &[user_id]).await?.into_iter().next();
    Ok(found.unwrap_or(Status { user_id, status: PresenceStatus::Offline, message: String::new(), expires_at: None }))
}

/// The statuses of users that exist, in the order asked.
pub(super) async fn all(state: &AppState, user_ids: &[UserId]) -> Result<Vec<Status>, ProtocolError> {
    if user_ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut stored = statuses::of(&state.db, user_ids, Timestamp::now()).await.map_err(store_error)?;
    let status = |user_id: &UserId| state.presence.status(*user_id, stored.remove(user_id).unwrap_or_default());
    Ok(user_ids.iter().map(status).collect())
}
