//! Following what other processes (another node, `parlour user …`) do to accounts.

use std::{sync::Arc, time::Duration};

use tokio::time;
use tokio_util::sync::CancellationToken;

use super::Accounts;
use crate::directory::account_changes::{self, AccountChange};

/// Between two looks: an end reaches every node's sockets within a second.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Accounts {
    pub(super) fn take_in(&self, change: &AccountChange) {
        match change {
            AccountChange { user_id, ended: true, .. } => self.announce_user_ended(*user_id),
            AccountChange { session_id: Some(session_id), .. } => self.announce_ended(&[*session_id]),
            AccountChange { user_id, .. } => (self.forget)(*user_id),
        }
    }
}

/// Takes in changes behind `position` until shutdown.
pub(super) async fn follow(accounts: Arc<Accounts>, mut position: i64, shutdown: CancellationToken) {
    let mut failing = false;
    while shutdown.run_until_cancelled(time::sleep(LOOK_EVERY)).await.is_some() {
        match account_changes::after(&accounts.db, position).await {
            Ok(changes) => {
                failing = false;
                for change in &changes {
                    accounts.take_in(change);
                    position = change.seq;
                }
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(%error, "changes of accounts cannot be read; tokens are checked anew until then");
                }
                failing = true;
                // Better to ask the database for each than to trust what may have ended.
                accounts.cache.clear();
            }
        }
    }
}
