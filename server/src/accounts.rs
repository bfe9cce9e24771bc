//! Accounts and log-ins.

pub(crate) mod caller;
pub(crate) mod operations;

use std::net::IpAddr;

use parlour_protocol::{ErrorCode, ProtocolError, operation::ClientInfo};

use self::caller::Principal;

/// Who speaks.
#[derive(Debug)]
pub(crate) struct Accounts;

impl Accounts {
    /// Who a token stands for.
    ///
    /// # Errors
    /// `unauthenticated`.
    #[expect(clippy::unused_async, reason = "asks the directory")]
    pub(crate) async fn authenticate(&self, _: &str, _: IpAddr) -> Result<Principal, ProtocolError> {
        Err(ProtocolError::new(ErrorCode::Unauthenticated, "no valid token"))
    }

    /// Notes the program and the address that a session is used from.
    #[expect(clippy::unused_async, reason = "writes to the directory")]
    pub(crate) async fn note_client(&self, _: &Principal, _: Option<&ClientInfo>, _: IpAddr) {}
}
