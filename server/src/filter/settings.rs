//! `filter.get` and `filter.set`.

use std::collections::HashSet;

use parlour_protocol::{
    Maybe, Permissions, ProtocolError, Timestamp,
    object::{Filter, FilterAction, FilterWord},
    operation::{FilterGet, FilterReply, FilterSet},
};

use super::matcher::fold_word;
use crate::{accounts::caller::Caller, app::AppState, directory::filters, error::store_error};

/// A room's filter, or nothing.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message.
pub(crate) async fn get(
    state: &AppState,
    caller: &Caller,
    data: FilterGet,
) -> Result<Maybe<FilterReply>, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    let access = access.require(Permissions::MANAGE_ROOM)?;
    let filter = access.settings.filter.as_ref().map(|filter| filter.filter.clone());
    Ok(Maybe(filter.map(|filter| FilterReply { filter })))
}

/// Replaces a room's filter. The same again changes nothing.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message, and for words that are alike or nothing.
pub(crate) async fn set(state: &AppState, caller: &Caller, data: FilterSet) -> Result<FilterReply, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    let access = access.require(Permissions::MANAGE_ROOM)?;
    let mut seen = HashSet::new();
    for (place, word) in data.words.iter().enumerate() {
        let folded = fold_word(&word.word);
        let field = format!("/words/{place}/word");
        if folded.is_empty() {
            return Err(ProtocolError::bad_field(&field, "is nothing that a reader sees"));
        }
        if !seen.insert(folded) {
            return Err(ProtocolError::bad_field(&field, "looks like another word of the list"));
        }
    }
    let words = data.words.iter().map(|word| FilterWord {
        word: word.word.to_string(),
        match_whole_word: word.match_whole_word.unwrap_or_default(),
    });
    let mut filter = Filter {
        room_id: data.room_id,
        action: data.action.unwrap_or(FilterAction::Reject),
        words: words.collect(),
        timeout_duration_ms: data.timeout_duration_ms.map(|duration| duration.unsigned()),
        updated_at: None,
    };
    if let Some(present) = access.settings.filter.as_deref() {
        filter.updated_at = present.filter.updated_at;
        if present.filter == filter {
            return Ok(FilterReply { filter });
        }
    }
    filter.updated_at = Some(Timestamp::now());
    filters::replace(&state.db, &filter).await.map_err(store_error)?;
    state.rooms.forget_settings(data.room_id);
    Ok(FilterReply { filter })
}
