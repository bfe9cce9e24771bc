//! `moderation.execute` and `moderation.unban`.

use std::sync::Arc;

use parlour_protocol::{
    ErrorCode, LogEntryId, Permissions, ProtocolError, Timestamp, UserEvent, UserId,
    event::{ModerationActed, RemoveReason},
    object::{Empty, ModerationAction, ModerationLogEntry},
    operation::{ModerationExecute, ModerationReply, ModerationUnban},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    bus::BusEvent,
    directory::nonces::{self, FirstResult},
    error::append_error,
    rooms::{
        append, append_as,
        hierarchy::{Rank, Target},
        memberships, tell_removed,
    },
    store::{AppendError, Effect, Moderate, RoomChange},
};

/// Acts on a member, or bans a user who is not there.
///
/// # Errors
/// In this order: `bad_request` in a direct message and on oneself; `forbidden`; `not_found` no such member;
/// `unsupported` for what is about calls.
pub(crate) async fn execute(
    state: &AppState,
    caller: &Caller,
    data: ModerationExecute,
) -> Result<ModerationReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let (room_id, user_id) = (data.room_id, data.user_id);
    let access = state.rooms.access(room_id, caller.user_id).await?.require_room()?;
    if user_id == caller.user_id {
        return Err(ProtocolError::bad_field("/userId", "is yourself"));
    }
    let access = access.require(permission(data.r#type))?;
    let target = Target::find(state, room_id, user_id).await?;
    Rank::of(&access).require_above(target.rank, "the member")?;
    let now = Timestamp::now();
    let duration_ms = data.duration_ms.filter(|_| data.r#type == ModerationAction::TimeoutUser);
    let effect = match (data.r#type, duration_ms) {
        (ModerationAction::CreateBan, _) => Effect::Ban { purges: false },
        (ModerationAction::SoftBan, _) => Effect::Ban { purges: true },
        _ if target.access.is_none() => return Err(ProtocolError::not_found("no such member")),
        (ModerationAction::KickFromRoom, _) => Effect::Kick,
        (ModerationAction::TimeoutUser, Some(duration)) => Effect::Timeout(now.plus_millis(duration.get())),
        (ModerationAction::Warn, _) => Effect::Nothing,
        _ => return Err(ProtocolError::new(ErrorCode::Unsupported, "calls are not built yet")),
    };
    let entry = ModerationLogEntry {
        id: LogEntryId::new(),
        room_id,
        r#type: data.r#type,
        actor_user_id: caller.user_id,
        target_user_id: user_id,
        duration_ms: duration_ms.map(|duration| duration.unsigned()),
        reason: data.reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        created_at: Some(now),
    };
    let reply = ModerationReply { entry: entry.clone() };
    let first = FirstResult::of(caller.user_id, &data, &reply);
    let change = RoomChange::Moderate(Box::new(Moderate { entry: entry.clone(), effect, first }));
    let appended = match append_as(state, caller.connection_id, room_id, change).await {
        Ok(appended) => appended,
        Err(AppendError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            return first.ok_or_else(|| append_error(AppendError::Repeat));
        }
        Err(error) => return Err(append_error(error)),
    };
    tell_acted(state, user_id, &entry);
    match effect {
        Effect::Kick => tell_removed(state, user_id, room_id, RemoveReason::Kicked),
        // Without an entry nobody was in the room.
        Effect::Ban { .. } if !appended.entries.is_empty() => {
            tell_removed(state, user_id, room_id, RemoveReason::Banned);
        }
        Effect::Timeout(_) => {
            // The action is stored: who is not told of their membership now reads it later.
            drop(memberships::tell(state, user_id, room_id).await);
        }
        Effect::Ban { .. } | Effect::Unban | Effect::Nothing => {}
    }
    Ok(reply)
}

/// Ends a ban.
///
/// # Errors
/// `not_found` when nobody is banned so, `forbidden`, `bad_request` in a direct message.
pub(crate) async fn unban(state: &AppState, caller: &Caller, data: ModerationUnban) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    access.require(Permissions::BAN_MEMBERS)?;
    let entry = ModerationLogEntry {
        id: LogEntryId::new(),
        room_id: data.room_id,
        r#type: ModerationAction::DeleteBan,
        actor_user_id: caller.user_id,
        target_user_id: data.user_id,
        duration_ms: None,
        reason: String::new(),
        created_at: Some(Timestamp::now()),
    };
    let change = RoomChange::Moderate(Box::new(Moderate { entry, effect: Effect::Unban, first: None }));
    append(state, caller, data.room_id, change).await?;
    Ok(Empty {})
}

/// The right that an action needs.
fn permission(action: ModerationAction) -> Permissions {
    match action {
        ModerationAction::KickFromRoom | ModerationAction::TimeoutUser => Permissions::KICK_MEMBERS,
        ModerationAction::CreateBan | ModerationAction::SoftBan | ModerationAction::DeleteBan => {
            Permissions::BAN_MEMBERS
        }
        ModerationAction::Warn => Permissions::MANAGE_MESSAGES,
        ModerationAction::ForceMute | ModerationAction::ForceUnmute | ModerationAction::StopScreenShare => {
            Permissions::MUTE_MEMBERS
        }
        ModerationAction::KickFromCall => Permissions::MOVE_MEMBERS,
    }
}

/// Tells a user's devices what was done to them.
pub(crate) fn tell_acted(state: &AppState, user_id: UserId, entry: &ModerationLogEntry) {
    let acted = ModerationActed {
        room_id: entry.room_id,
        r#type: entry.r#type,
        duration_ms: entry.duration_ms,
        reason: entry.reason.clone(),
    };
    let event = Arc::new(UserEvent::ModerationAction(Box::new(acted)));
    state.bus.publish(BusEvent::User { user_id, event });
}
