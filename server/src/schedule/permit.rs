//! What a message that is to be posted later has to pass now: the gate with slowmode checked and not moved. It has to
//! pass it again when its time has come.

use parlour_protocol::{ProtocolError, RowKey, Timestamp, object::JobPayload, operation::Format};

use crate::{
    app::AppState,
    directory::jobs,
    error::store_error,
    filter::Shown,
    messages::{
        body::Body,
        gate::{self, Refusal},
    },
    rooms::state::Access,
};

/// A message that is to be posted later.
#[derive(Debug)]
pub(super) struct Later<'a> {
    pub(super) source: &'a str,
    pub(super) format: Format,
    pub(super) reply_row_key: Option<RowKey>,
}

impl Later<'_> {
    /// What its job holds: the body as it was given.
    pub(super) fn payload(&self) -> JobPayload {
        let Self { source, format, reply_row_key } = *self;
        JobPayload::ScheduledMessage { message: source.to_owned(), format, reply_row_key }
    }
}

/// Whether it could be posted now.
///
/// # Errors
/// What the gate refuses; `bad_request` for a body that shows nothing, `not_found` for the message answered.
pub(super) async fn permit(
    state: &AppState,
    access: &Access,
    later: &Later<'_>,
    now: Timestamp,
) -> Result<(), Refusal> {
    gate::check_send(access, now)?;
    let body = Body::render(later.source, later.format, gate::broadcasts_of(access))?;
    if body.is_blank() {
        return Err(ProtocolError::bad_field("/message", "nothing is left to show").into());
    }
    let (room_id, user_id) = (access.room().room_id, access.member.membership.user_id);
    if let Some(slowmode_ms) = gate::slowmode_of(access) {
        let last = jobs::last_message_at(&state.db, room_id, user_id).await.map_err(store_error)?;
        let next = last.map(|last| last.plus_millis(i64::try_from(slowmode_ms).unwrap_or(i64::MAX)));
        if let Some(next) = next.filter(|next| *next > now) {
            let millis = u64::try_from(next.since(now).as_millis()).unwrap_or(u64::MAX);
            return Err(gate::slowmode_error(millis).into());
        }
    }
    gate::check_words(access, &[Shown::Html(&body.html)])?;
    if let Some(row_key) = later.reply_row_key {
        let found = state.store.get(room_id, &[row_key]).await.map_err(store_error)?;
        if found.is_empty() {
            return Err(ProtocolError::not_found("no such message to reply to").into());
        }
    }
    Ok(())
}
