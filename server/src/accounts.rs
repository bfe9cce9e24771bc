//! Accounts and log-ins: who somebody is.
//!
//! A token is checked in [`Accounts::authenticate`]; everything else makes, renews or ends what that finds.

pub(crate) mod caller;
mod changes;
mod jwt;
mod log_in;
pub(crate) mod names;
pub(crate) mod operations;
mod operator;
mod passwords;
mod register;
mod session_cache;
mod sessions;
mod sightings;
pub(crate) mod tokens;

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use parlour_protocol::{ErrorCode, ProtocolError, SessionId, Timestamp, UserId};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::jwt::KeyError;
pub(crate) use self::operator::{AccountAction, act_on_account};
pub(crate) use self::register::LoggedIn;
use self::{
    caller::Principal, jwt::JwtVerifier, passwords::Passwords, session_cache::SessionCache, sightings::Sightings,
};
use crate::{
    bus::{Bus, BusEvent},
    config::{Config, Registration},
    directory,
    error::{internal, store_error},
    rates::{OverBudget, Payer, Rates},
    store::db::{Db, DbError},
};

/// Why an account or a session was not made, changed or found.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum AccountError {
    /// No valid token, or the wrong password.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// Not for this caller.
    #[error("{0}")]
    Forbidden(&'static str),
    /// Nothing of this id, or not one's own.
    #[error("no such session")]
    NotFound,
    /// No account has this name.
    #[error("no such account: {0}")]
    NoAccount(String),
    /// The name, or a look-alike, is another account's.
    #[error("this name, or one that looks like it, is taken")]
    NameTaken,
    /// Nothing of the name can be seen.
    #[error("must hold a character that can be seen")]
    BadName,
    /// Too many attempts.
    #[error("too many attempts")]
    OverBudget(OverBudget),
    /// Too many passwords wait to be checked.
    #[error("too many log-ins at once; try again")]
    Busy,
    /// What should not happen.
    #[error("{0}")]
    Fault(Arc<str>),
    /// The database failed.
    #[error(transparent)]
    Db(#[from] DbError),
}

impl From<AccountError> for ProtocolError {
    fn from(error: AccountError) -> Self {
        let text = error.to_string();
        match error {
            AccountError::Unauthenticated(_) => Self::new(ErrorCode::Unauthenticated, text),
            AccountError::Forbidden(_) => Self::new(ErrorCode::Forbidden, text),
            AccountError::NotFound | AccountError::NoAccount(_) => Self::new(ErrorCode::NotFound, text),
            AccountError::NameTaken => Self { field: Some("/name".to_owned()), ..Self::new(ErrorCode::Conflict, text) },
            AccountError::BadName => Self::bad_field("/name", text),
            AccountError::OverBudget(over) => over.into(),
            AccountError::Busy => Self::new(ErrorCode::Unavailable, text),
            AccountError::Fault(_) => internal(&text),
            AccountError::Db(error) => store_error(error.into()),
        }
    }
}

/// Told of accounts that changed, by whoever remembers their names.
pub(crate) type ForgetAccount = Box<dyn Fn(UserId) + Send + Sync>;

/// Accounts and sessions of this server.
pub(crate) struct Accounts {
    db: Db,
    bus: Arc<dyn Bus>,
    rates: Arc<Rates>,
    registration: Registration,
    session_lifetime: Duration,
    passwords: Passwords,
    cache: SessionCache,
    sightings: Sightings,
    jwt: Option<JwtVerifier>,
    forget: ForgetAccount,
    /// Tells that another process ended an account's sessions: it may be deleted.
    ended: Arc<Notify>,
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").field("registration", &self.registration).finish_non_exhaustive()
    }
}

impl Accounts {
    /// Accounts in a database. [`Accounts::start`] begins the work beside the requests.
    ///
    /// # Errors
    /// When a key of the identity provider cannot be read.
    pub(crate) fn new(
        config: &Config,
        db: Db,
        bus: Arc<dyn Bus>,
        rates: Arc<Rates>,
        forget: ForgetAccount,
    ) -> Result<Self, KeyError> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self {
            db,
            bus,
            rates,
            registration: config.registration,
            session_lifetime: config.session_lifetime,
            passwords: Passwords::new(cores),
            cache: SessionCache::default(),
            sightings: Sightings::new(),
            jwt: config.jwt.as_ref().map(JwtVerifier::new).transpose()?,
            forget,
            ended: Arc::default(),
        })
    }

    /// Begins to follow what other processes do, to note when sessions are used, and to remove old ones.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(crate) async fn start(
        self: &Arc<Self>,
        tasks: &TaskTracker,
        shutdown: &CancellationToken,
    ) -> Result<(), DbError> {
        let position = directory::account_changes::head(&self.db).await?;
        tasks.spawn(changes::follow(Arc::clone(self), position, shutdown.clone()));
        tasks.spawn(sightings::note(Arc::clone(self), shutdown.clone()));
        tasks.spawn(sessions::remove_old(Arc::clone(self), shutdown.clone()));
        Ok(())
    }

    /// Who a token stands for.
    ///
    /// # Errors
    /// `unauthenticated` for one that is unknown, expired or revoked, or whose account may not log in.
    pub(crate) async fn authenticate(&self, token: &str, address: IpAddr) -> Result<Principal, ProtocolError> {
        Ok(self.check(token, address).await?)
    }

    async fn check(&self, token: &str, address: IpAddr) -> Result<Principal, AccountError> {
        let hash = tokens::hash(token);
        let now = Timestamp::now();
        if let Some(principal) = self.cache.get(&hash, now) {
            return Ok(principal);
        }
        let version = self.cache.version();
        let principal = match &self.jwt {
            Some(jwt) if jwt::looks_like_one(token) => self.admit_foreign(jwt, token, address, now).await?,
            _ => directory::sessions::principal(&self.db, &hash, now).await?,
        };
        let principal = principal.ok_or(AccountError::Unauthenticated("the token is unknown, expired or revoked"))?;
        self.cache.remember(hash, &principal, version);
        self.sightings.see(principal.session_id, None, address, now);
        Ok(Principal { checked_at: version, ..principal })
    }

    /// Whether what a check found still holds. A socket asks when it has its place in the hub: from then on an end
    /// closes it, and one that came between the check and the place is seen here.
    ///
    /// # Errors
    /// `unauthenticated` when the session has ended, `unavailable`.
    pub(crate) async fn check_again(&self, principal: &Principal) -> Result<(), ProtocolError> {
        if self.cache.version() == principal.checked_at {
            return Ok(());
        }
        let is_live = directory::sessions::is_live(&self.db, principal.user_id, principal.session_id).await;
        if is_live.map_err(AccountError::from)? {
            return Ok(());
        }
        Err(AccountError::Unauthenticated("the session has ended").into())
    }

    /// Pays for an attempt to log in or to register.
    fn charge_attempt(&self, name_key: Option<&str>, address: IpAddr, now: Timestamp) -> Result<(), AccountError> {
        let by_address = self.rates.auth.charge(Payer::address(address), 1, now);
        let by_name = name_key.map_or(Ok(()), |key| self.rates.auth.charge(Payer::name(key), 1, now));
        by_address.and(by_name).map_err(AccountError::OverBudget)
    }

    /// Tells everybody on this node that sessions ended, now.
    fn announce_ended(&self, sessions: &[SessionId]) {
        for session_id in sessions {
            self.cache.end_session(*session_id);
            self.bus.publish(BusEvent::SessionEnded { session_id: *session_id });
        }
    }

    /// Tells everybody on this node that an account's sessions ended, now.
    fn announce_user_ended(&self, user_id: UserId) {
        self.cache.end_user(user_id);
        (self.forget)(user_id);
        self.bus.publish(BusEvent::UserEnded { user_id });
        self.ended.notify_one();
    }

    /// What tells that accounts may have been deleted.
    pub(crate) fn ended(&self) -> Arc<Notify> {
        Arc::clone(&self.ended)
    }

    /// Makes whoever remembers an account on this node read it again.
    pub(crate) fn announce_changed(&self, user_id: UserId) {
        (self.forget)(user_id);
    }

    fn expiry(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(i64::try_from(self.session_lifetime.as_millis()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests;
