//! What a message must pass before it is stored, in the order of the protocol.

use parlour_protocol::{ConnectionId, ErrorCode, Permissions, ProtocolError, Timestamp};

use super::body::Broadcasts;
use crate::{
    app::AppState,
    filter::{self, Filtered, Shown, automod::Rejected},
    rooms::state::Access,
};

/// Why a text is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// What the client is told.
    Told(ProtocolError),
    /// A filtered word: the filter's action is due, unless the message was stored before.
    Filtered(Filtered),
}

impl From<ProtocolError> for Refusal {
    fn from(error: ProtocolError) -> Self {
        Self::Told(error)
    }
}

impl From<Filtered> for Refusal {
    fn from(filtered: Filtered) -> Self {
        Self::Filtered(filtered)
    }
}

impl Refusal {
    /// What the client is told, once the filter's action, if one is due, is applied.
    pub(crate) async fn settle(
        self,
        state: &AppState,
        cause: Option<ConnectionId>,
        rejected: Rejected<'_>,
    ) -> ProtocolError {
        match self {
            Self::Told(error) => error,
            Self::Filtered(filtered) => filtered.punish(state, cause, rejected).await,
        }
    }
}

/// Whether the texts that a reader would see are free of filtered words: last of the gate.
///
/// # Errors
/// What [`Refusal::settle`] acts on.
pub(crate) fn check_words(access: &Access, texts: &[Shown<'_>]) -> Result<(), Filtered> {
    filter::check(access, texts)
}

/// Whether the member may write at all: SendMessages, then timeout (nobody is exempt), then read-only.
///
/// Slowmode comes after it and is decided in the commit; [`slowmode_of`] says whether it holds.
///
/// # Errors
/// `forbidden`, `timed_out`, `read_only`.
pub(crate) fn check_send(access: &Access, now: Timestamp) -> Result<(), ProtocolError> {
    if !access.allows(Permissions::SEND_MESSAGES) {
        return Err(ProtocolError::new(ErrorCode::Forbidden, "you may not write in this room"));
    }
    check_block(access)?;
    check_timeout(access, now)?;
    check_read_only(access)
}

/// What an edit must pass.
///
/// # Errors
/// `forbidden` across a block in a direct message, `timed_out`, `read_only`.
pub(crate) fn check_edit(access: &Access, now: Timestamp) -> Result<(), ProtocolError> {
    check_block(access)?;
    check_timeout(access, now)?;
    check_read_only(access)
}

/// What showing that one types must pass.
///
/// # Errors
/// `forbidden`, `timed_out`.
pub(crate) fn check_typing(access: &Access, now: Timestamp) -> Result<(), ProtocolError> {
    if !access.allows(Permissions::SEND_MESSAGES) {
        return Err(ProtocolError::new(ErrorCode::Forbidden, "you may not write in this room"));
    }
    check_block(access)?;
    check_timeout(access, now)
}

/// The time between two sends that holds for this member, in ms.
pub(crate) fn slowmode_of(access: &Access) -> Option<u64> {
    access.room().slowmode_ms.filter(|_| !access.allows(Permissions::MANAGE_MESSAGES))
}

/// What the member's mentions of roles and of everyone are.
pub(crate) fn broadcasts_of(access: &Access) -> Broadcasts {
    if access.allows(Permissions::MENTION_EVERYONE) { Broadcasts::Allowed } else { Broadcasts::Text }
}

/// The error of a send that came too early.
pub(crate) fn slowmode_error(retry_after_ms: u64) -> ProtocolError {
    let seconds = retry_after_ms.div_ceil(1000);
    ProtocolError::new(ErrorCode::Slowmode, format!("wait {seconds} s before the next message"))
        .retry_after(retry_after_ms)
}

fn check_block(access: &Access) -> Result<(), ProtocolError> {
    if access.member.has_block {
        return Err(ProtocolError::new(ErrorCode::Forbidden, "there is a block between you and somebody here"));
    }
    Ok(())
}

fn check_timeout(access: &Access, now: Timestamp) -> Result<(), ProtocolError> {
    let Some(until) = access.member.membership.timeout_until.filter(|until| *until > now) else { return Ok(()) };
    let millis = u64::try_from(until.since(now).as_millis()).unwrap_or(u64::MAX);
    Err(ProtocolError::new(ErrorCode::TimedOut, format!("you are timed out until {until}")).retry_after(millis))
}

fn check_read_only(access: &Access) -> Result<(), ProtocolError> {
    if access.room().is_read_only && !access.allows(Permissions::MANAGE_MESSAGES) {
        return Err(ProtocolError::new(ErrorCode::ReadOnly, "the room is read-only"));
    }
    Ok(())
}
