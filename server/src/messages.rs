//! What is done with messages. Each verb is one function that both transports call.

pub(crate) mod body;
pub(crate) mod delete;
pub(crate) mod edit;
pub(crate) mod gate;
pub(crate) mod post;
pub(crate) mod read;
pub(crate) mod send;
pub(crate) mod typing;

use parlour_protocol::{
    ErrorCode, Permissions, ProtocolError, RowKey,
    message_type::{MessageOperation, Permitted},
    object::Message,
};

use crate::{app::AppState, error::store_error, rooms::state::Access};

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
    let found = state.store.get(access.room().room_id, &[row_key]).await.map_err(store_error)?;
    let message = found.into_iter().next().ok_or_else(|| ProtocolError::not_found("no such message"))?;
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
