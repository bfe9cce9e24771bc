//! `status.*`: the override until it ends, else by connection.

use parlour_protocol::{
    ProtocolError, Timestamp, UserId,
    object::{Items, PresenceStatus, Status},
    operation::StatusGet,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{accounts, statuses},
    error::store_error,
};

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
    let status = |user_id: &UserId| {
        let stored = stored.remove(user_id).unwrap_or_default();
        let by_connection =
            if state.hub.is_connected(*user_id) { PresenceStatus::Online } else { PresenceStatus::Offline };
        Status {
            user_id: *user_id,
            status: stored.status.unwrap_or(by_connection),
            message: stored.message,
            expires_at: stored.expires_at,
        }
    };
    Ok(user_ids.iter().map(status).collect())
}
