//! What is done with messages. Each verb is one function that both transports call.

pub(crate) mod body;
pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod forward;
pub(crate) mod gate;
pub(crate) mod mentions;
pub(crate) mod pins;
pub(crate) mod polls;
pub(crate) mod post;
pub(crate) mod previews;
pub(crate) mod reactions;
pub(crate) mod read;
pub(crate) mod send;
pub(crate) mod threads;
pub(crate) mod typing;

use parlour_protocol::{
    ErrorCode, Permissions, ProtocolError, RoomId, RowKey,
    message_type::{MessageOperation, Permitted},
    object::Message,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    clock,
    error::{append_error, store_error},
    rooms::state::Access,
    store::{Append, Appended, RoomChange},
};

/// Appends a change of a message.
async fn append(
    state: &AppState,
    caller: &Caller,
    room_id: RoomId,
    change: RoomChange,
) -> Result<Appended, ProtocolError> {
    let generation = state.store.generation();
    let append = Append { room_id, now: clock::now_nanos(), cause: caller.connection_id, generation, change };
    state.store.append(append).await.await.map_err(append_error)
}

/// The live message of a key.
///
/// # Errors
/// `not_found` when absent or deleted.
async fn find(state: &AppState, room_id: RoomId, row_key: RowKey) -> Result<Message, ProtocolError> {
    let found = state.store.get(room_id, &[row_key]).await.map_err(store_error)?;
    found.into_iter().next().ok_or_else(|| ProtocolError::not_found("no such message"))
}

/// The live message of a key, if the caller may do this with it.
///
/// # Errors
/// `not_found` when absent or deleted, `bad_request` when its type lacks the operation, `forbidden` when it is not
/// the caller's to do.
pub(crate) async fn find_for(
    state: &AppState,
    access: &Access,
    row_key: RowKey,
    operation: MessageOperation,
) -> Result<Message, ProtocolError> {
    let message = find(state, access.room().room_id, row_key).await?;
    let manages = access.allows(Permissions::MANAGE_MESSAGES);
    let is_author = message.user_id == Some(access.member.membership.user_id);
    let allowed = match message.r#type.permitted(operation) {
        Permitted::Nobody => {
            let kind = message.r#type.as_str();
            return Err(ProtocolError::bad_request(format!("a message of type {kind} does not have this operation")));
        }
        Permitted::Reader => true,
        Permitted::Author => is_author || manages,
        Permitted::ManageMessages => manages,
    };
    if !allowed {
        return Err(ProtocolError::new(ErrorCode::Forbidden, "this message is not yours to change"));
    }
    Ok(message)
}
