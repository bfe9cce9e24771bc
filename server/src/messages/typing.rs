//! `typing.start`.

use std::sync::Arc;

use parlour_protocol::{
    EphemeralEvent, ProtocolError, Timestamp, event::TypingStarted, object::Empty, operation::TypingStart,
};

use super::gate;
use crate::{accounts::caller::Caller, app::AppState, bus::BusEvent};

/// Shows the room that the caller types.
///
/// # Errors
/// `forbidden`, `timed_out`.
pub(crate) async fn start(state: &AppState, caller: &Caller, data: TypingStart) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?;
    gate::check_typing(&access, Timestamp::now())?;
    let connection_id = caller.connection_id.unwrap_or_default();
    let name = access.member.shown_name().to_owned();
    let typing = TypingStarted { user_id: caller.user_id, name, connection_id };
    state.bus.publish(BusEvent::Ephemeral {
        room_id: data.room_id,
        event: Arc::new(EphemeralEvent::TypingStarted(Box::new(typing))),
        cause: connection_id,
    });
    Ok(Empty {})
}
