//! Renewing and ending sessions.

use std::{sync::Arc, time::Duration};

use parlour_protocol::{Secret, SessionId, Timestamp, object::Session};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::{AccountError, Accounts, caller::Caller, tokens};
use crate::directory;

/// How long a token lives after the refresh that replaced it, in ms.
const OLD_TOKEN_MS: i64 = 60_000;
/// Between two removals of old sessions.
const REMOVE_EVERY: Duration = Duration::from_secs(600);
/// Sessions removed in one transaction.
const REMOVE_AT_ONCE: u64 = 500;

/// A session's new token.
#[derive(Debug)]
pub(crate) struct Renewed {
    /// The token.
    pub(crate) token: Secret,
    /// When the session ends now.
    pub(crate) expires_at: Timestamp,
}

impl Accounts {
    /// Gives the caller's session a new token; those before it live for 60 s more.
    ///
    /// # Errors
    /// When the session has ended.
    pub(crate) async fn refresh(&self, caller: &Caller) -> Result<Renewed, AccountError> {
        let now = Timestamp::now();
        let (token, expires_at) = (tokens::new_token(), self.expiry(now));
        let times = (now, now.plus_millis(OLD_TOKEN_MS), expires_at);
        let renewed =
            directory::sessions::renew(&self.db, caller.session_id, &tokens::hash(token.expose()), times).await?;
        // What is remembered of the old token has its old end.
        self.cache.end_session(caller.session_id);
        if !renewed {
            return Err(AccountError::Unauthenticated("the session has ended"));
        }
        Ok(Renewed { token, expires_at })
    }

    /// The caller's sessions, the latest first.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn sessions(&self, caller: &Caller) -> Result<Vec<Session>, AccountError> {
        let now = Timestamp::now();
        let mut sessions = directory::sessions::list(&self.db, caller.user_id, caller.session_id, now).await?;
        self.sightings.show(&mut sessions);
        Ok(sessions)
    }

    /// Ends a session of the caller: its sockets close with 4401.
    ///
    /// # Errors
    /// [`AccountError::NotFound`] when it is not the caller's, or gone.
    pub(crate) async fn end_session(&self, caller: &Caller, session_id: SessionId) -> Result<(), AccountError> {
        let now = Timestamp::now();
        if !directory::sessions::end(&self.db, caller.user_id, session_id, now).await? {
            return Err(AccountError::NotFound);
        }
        self.announce_ended(&[session_id]);
        Ok(())
    }

    /// Ends all sessions of the caller but their own.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn end_other_sessions(&self, caller: &Caller) -> Result<(), AccountError> {
        let mut tx = self.db.begin().await?;
        let now = Timestamp::now();
        let ended = directory::sessions::end_others(&mut tx, caller.user_id, Some(caller.session_id), now).await?;
        tx.commit().await?;
        self.announce_ended(&ended);
        Ok(())
    }
}

/// Removes old sessions until shutdown.
pub(super) async fn remove_old(accounts: Arc<Accounts>, shutdown: CancellationToken) {
    let mut pause = Duration::from_secs(30);
    while shutdown.run_until_cancelled(time::sleep(pause)).await.is_some() {
        pause = REMOVE_EVERY;
        match directory::sessions::remove_old(&accounts.db, Timestamp::now(), REMOVE_AT_ONCE).await {
            Ok(REMOVE_AT_ONCE) => pause = Duration::from_secs(1),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old sessions could not be removed; trying again later"),
        }
    }
}
