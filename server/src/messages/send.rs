//! `message.send`.

use parlour_protocol::{
    ProtocolError,
    operation::{MessageReply, MessageSend},
};

use super::post::{self, Author, Content, Draft, Placed};
use crate::{accounts::caller::Caller, app::AppState, store::Origin};

/// Sends a message.
///
/// # Errors
/// Those of the gate, `not_found` for the message answered, `bad_request`, `unavailable`.
pub(crate) async fn send(state: &AppState, caller: &Caller, data: MessageSend) -> Result<MessageReply, ProtocolError> {
    let generation = state.store.generation();
    let message = place(state, caller, data, generation).await?.outcome(state).await?;
    Ok(MessageReply { message })
}

/// Gives a send its place in the room's order. Sends of one connection are placed one after the other.
///
/// # Errors
/// As [`send`], but for what the commit decides.
pub(crate) async fn place(
    state: &AppState,
    caller: &Caller,
    data: MessageSend,
    generation: u64,
) -> Result<Placed, ProtocolError> {
    let content = match data.poll {
        Some(poll) => Content::Poll(poll),
        None => Content::Body {
            source: data.message.map(|message| message.as_str().to_owned()).unwrap_or_default(),
            format: data.format.unwrap_or(parlour_protocol::operation::Format::Text),
        },
    };
    let draft = Draft {
        uploads: data.files.map(|files| files.into_vec()).unwrap_or_default(),
        reply_row_key: data.reply_row_key,
        nonce: data.nonce,
        cause: caller.connection_id,
        generation,
        ..Draft::new(data.room_id, Origin::Live, Author::Member(caller.user_id), content)
    };
    post::place(state, draft).await
}
