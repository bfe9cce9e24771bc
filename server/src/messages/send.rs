//! `message.send`: permit, append, answer.
//!
//! | step | when it fails |
//! | --- | --- |
//! | permit: membership, gate, body | refused, nothing stored; a repeat of a stored nonce still answers the first result |
//! | append: nonce, slowmode, reply target, commit | refused, or outcome unknown |
//! | publish | done by the store with the commit; whoever misses it reads the store |
//! | tell the sender's other devices of the moved marker | best effort |

use std::sync::Arc;

use parlour_protocol::{
    DurableEvent, ErrorCode, MessageType, ProtocolError, Timestamp, UserEvent,
    event::MembershipUpdated,
    object::Message,
    operation::{CreatableType, Format, MessageReply, MessageSend},
};

use super::{body::Body, gate};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    bus::BusEvent,
    clock,
    error::append_error,
    rooms::state::Access,
    store::{Append, AppendError, NewMessage, Origin, PendingAppend, RoomChange},
};

/// Sends a message.
///
/// # Errors
/// Those of the gate, `not_found` for the message answered, `bad_request`, `unavailable`.
pub(crate) async fn send(state: &AppState, caller: &Caller, data: MessageSend) -> Result<MessageReply, ProtocolError> {
    let generation = state.store.generation();
    place(state, caller, data, generation).await?.outcome(state, caller).await
}

/// A send that has its place in the room's order.
#[derive(Debug)]
pub(crate) enum Placed {
    /// Waits for its commit.
    Pending { access: Access, append: PendingAppend },
    /// Was stored before.
    Repeat(Box<Message>),
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
    match permit(state, caller, &data).await {
        Ok((access, message)) => {
            let append = Append {
                room_id: data.room_id,
                now: clock::now_nanos(),
                cause: caller.connection_id,
                generation,
                change: RoomChange::Send(Box::new(message)),
            };
            Ok(Placed::Pending { access, append: state.store.append(append).await })
        }
        Err(rejection) => first_result(state, caller, &data, rejection).await,
    }
}

impl Placed {
    /// Waits for the commit.
    ///
    /// # Errors
    /// What the commit decided against, or `unavailable`.
    pub(crate) async fn outcome(self, state: &AppState, caller: &Caller) -> Result<MessageReply, ProtocolError> {
        let (access, append) = match self {
            Self::Pending { access, append } => (access, append),
            Self::Repeat(message) => return Ok(MessageReply { message: *message }),
        };
        let appended = append.await.map_err(append_error)?;
        let message = appended.message.ok_or_else(|| append_error(AppendError::NoAccess))?;
        if appended.entries.iter().any(|entry| matches!(*entry.event, DurableEvent::MessageCreated(_))) {
            tell_marker(state, caller, &access, message.created_at);
        }
        Ok(MessageReply { message: Arc::unwrap_or_clone(message) })
    }
}

/// What is decided on cached room state: membership, gate and body.
async fn permit(state: &AppState, caller: &Caller, data: &MessageSend) -> Result<(Access, NewMessage), ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?;
    if data.r#type == Some(CreatableType::Poll) || data.poll.is_some() {
        return Err(ProtocolError::new(ErrorCode::Unsupported, "polls are not built yet"));
    }
    if data.files.as_ref().is_some_and(|files| !files.is_empty()) {
        return Err(ProtocolError::new(ErrorCode::Unsupported, "files are not built yet"));
    }
    gate::check_send(&access, Timestamp::now())?;
    let source = data.message.as_ref().map_or("", |message| message.as_str());
    let body = Body::render(source, data.format.unwrap_or(Format::Text))?;
    if body.is_blank() {
        return Err(ProtocolError::bad_field("/message", "nothing is left to show"));
    }
    let message = NewMessage {
        message_type: MessageType::Message,
        user_id: Some(caller.user_id),
        app_user: None,
        origin: Origin::Live,
        nonce: data.nonce.clone(),
        body: body.html,
        files: Vec::new(),
        mentions: body.mentions,
        reply_row_key: data.reply_row_key,
        link_preview: None,
        poll: None,
        is_forward: false,
        slowmode_ms: gate::slowmode_of(&access),
    };
    Ok((access, message))
}

/// A nonce that was stored answers its first result whatever stands in the way today.
async fn first_result(
    state: &AppState,
    caller: &Caller,
    data: &MessageSend,
    rejection: ProtocolError,
) -> Result<Placed, ProtocolError> {
    let Some(nonce) = &data.nonce else { return Err(rejection) };
    let found =
        state.store.find_nonce(data.room_id, caller.user_id, Origin::Live, nonce).await.map_err(append_error)?;
    found.map(|message| Placed::Repeat(Box::new(message))).ok_or(rejection)
}

/// An accepted send moved the sender's marker; their devices hear of it at most once a second.
fn tell_marker(state: &AppState, caller: &Caller, access: &Access, now: Timestamp) {
    if !access.member.tell_marker(now) {
        return;
    }
    let mut membership = access.member.membership.clone();
    membership.last_read_at = Some(now);
    membership.last_message_at = Some(now);
    let event = UserEvent::MembershipUpdated(Box::new(MembershipUpdated { membership }));
    state.bus.publish(BusEvent::User { user_id: caller.user_id, event: Arc::new(event) });
}
