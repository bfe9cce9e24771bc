//! Who gives a command.

use std::net::IpAddr;

use parlour_protocol::{ConnectionId, ErrorCode, ProtocolError, SessionId, Timestamp, UserId};

/// A log-in that was checked. It proves who speaks, at the time of the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The account.
    pub(crate) user_id: UserId,
    /// The log-in.
    pub(crate) session_id: SessionId,
    /// When the token stops being valid. A socket has to be closed (4401) then, unless it was refreshed.
    pub(crate) expires_at: Timestamp,
    /// Whether the account is the operator's.
    pub(crate) is_operator: bool,
    /// Whether an identity provider vouches for it: such accounts have no password here.
    pub(crate) is_foreign: bool,
    /// Counts the ends of sessions on this node up to the check.
    pub(crate) checked_at: u64,
}

/// Who gives a command, and from where.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The account.
    pub(crate) user_id: UserId,
    /// The log-in.
    pub(crate) session_id: SessionId,
    /// The socket; none over HTTP.
    pub(crate) connection_id: Option<ConnectionId>,
    /// Where the command comes from, behind trusted proxies.
    pub(crate) address: IpAddr,
    /// Whether an identity provider vouches for it.
    pub(crate) is_foreign: bool,
}

impl Caller {
    /// The caller that a checked log-in makes.
    pub(crate) fn new(principal: &Principal, connection_id: Option<ConnectionId>, address: IpAddr) -> Self {
        Self {
            user_id: principal.user_id,
            session_id: principal.session_id,
            connection_id,
            address,
            is_foreign: principal.is_foreign,
        }
    }

    /// Refuses accounts of an identity provider: their password and sessions are its own.
    pub(crate) fn local_only(&self) -> Result<(), ProtocolError> {
        if self.is_foreign {
            return Err(ProtocolError::new(
                ErrorCode::Unsupported,
                "this account belongs to an identity provider, which is the place for this",
            ));
        }
        Ok(())
    }
}
