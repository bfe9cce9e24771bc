//! `message.edit`.

use std::sync::Arc;

use parlour_protocol::{
    ProtocolError, Timestamp,
    message_type::MessageOperation,
    operation::{Format, MessageEdit, MessageReply},
};

use super::{body::Body, find_for, gate};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    clock,
    directory::marks,
    error::{append_error, store_error},
    filter::{Shown, automod::Rejected},
    store::{Append, RoomChange},
};

/// Replaces a message's body. An edit that changes nothing stores nothing.
///
/// # Errors
/// `not_found`, `bad_request`, `forbidden`, `timed_out`, `read_only`; `conflict` when the body changed after `rev`.
pub(crate) async fn edit(state: &AppState, caller: &Caller, data: MessageEdit) -> Result<MessageReply, ProtocolError> {
    let generation = state.store.generation();
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    let current = find_for(state, &access, data.row_key, MessageOperation::Update).await?;
    gate::check_edit(&access, Timestamp::now())?;
    let body = Body::render(&data.message, data.format.unwrap_or(Format::Text), gate::broadcasts_of(&access))?;
    if body.is_blank() && current.files.is_empty() {
        return Err(ProtocolError::bad_field("/message", "nothing is left to show"));
    }
    if let Err(filtered) = gate::check_words(&access, &[Shown::Html(&body.html)]) {
        let rejected = Rejected::Edit { text: format!("{} {}", data.row_key, body.html) };
        return Err(filtered.punish(state, caller.connection_id, rejected).await);
    }
    let append = Append {
        room_id: data.room_id,
        now: clock::now_nanos(),
        cause: caller.connection_id,
        generation,
        change: RoomChange::Edit {
            row_key: data.row_key,
            body: body.html,
            mentions: body.mentions,
            if_rev: data.rev.map(|rev| u32::try_from(rev.get()).unwrap_or(u32::MAX)),
        },
    };
    let appended = state.store.append(append).await.await.map_err(append_error)?;
    let mut message = appended.message.map_or_else(|| current.clone(), Arc::unwrap_or_clone);
    message.reply_count = current.reply_count;
    marks::fill(&state.db, caller.user_id, std::slice::from_mut(&mut message)).await.map_err(store_error)?;
    Ok(MessageReply { message })
}
