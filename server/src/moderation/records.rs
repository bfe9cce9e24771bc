//! `moderation.bans` and `moderation.log`.

use parlour_protocol::{
    Permissions, ProtocolError,
    object::{Ban, ModerationLogEntry, Page},
    operation::{ModerationBans, ModerationLog},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::moderation::{self, LogFilter, NewestFirst},
    error::store_error,
    page::PageOf,
};

/// A room's bans.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message or for an unknown cursor.
pub(crate) async fn bans(state: &AppState, caller: &Caller, data: ModerationBans) -> Result<Page<Ban>, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    access.require(Permissions::BAN_MEMBERS)?;
    let query = data.query.as_deref().filter(|query| !query.is_empty());
    let scope = format!("moderation.bans {} {}", data.room_id, query.unwrap_or_default());
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let bans = moderation::bans(&state.db, data.room_id, query, page.after, page.to_read()).await;
    Ok(page.of(bans.map_err(store_error)?, NewestFirst::of_ban))
}

/// A room's moderation log.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message or for an unknown cursor.
pub(crate) async fn log(
    state: &AppState,
    caller: &Caller,
    data: ModerationLog,
) -> Result<Page<ModerationLogEntry>, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    access.require(Permissions::MANAGE_ROOM)?;
    let filter = LogFilter { actor: data.actor_user_id, target: data.target_user_id, action: data.r#type };
    let scope = format!("moderation.log {} {filter:?}", data.room_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let entries = moderation::log(&state.db, data.room_id, filter, page.after, page.to_read()).await;
    Ok(page.of(entries.map_err(store_error)?, NewestFirst::of_entry))
}
