//! Making an account.

use std::net::IpAddr;

use parlour_protocol::{Secret, SessionId, Timestamp, UserId, account::Register, object::User};

use super::{AccountError, Accounts, names, tokens};
use crate::{
    config::Registration,
    directory::{self, accounts::NewAccount, sessions::NewSession},
    store::db::{DbError, Tx},
};

/// A new log-in.
#[derive(Debug)]
pub(crate) struct LoggedIn {
    /// Whose.
    pub(crate) user: User,
    /// The session.
    pub(crate) session_id: SessionId,
    /// Its token.
    pub(crate) token: Secret,
    /// When it ends.
    pub(crate) expires_at: Timestamp,
}

impl Accounts {
    /// Makes an account and logs it in. The first one ever is the operator's and needs no permission.
    ///
    /// # Errors
    /// As the operation says: name taken or empty, registration closed, too many attempts.
    pub(crate) async fn register(&self, data: &Register, address: IpAddr) -> Result<LoggedIn, AccountError> {
        let now = Timestamp::now();
        let name = names::stored(&data.name).ok_or(AccountError::BadName)?;
        self.charge_attempt(None, address, now)?;
        if directory::accounts::has_operator(&self.db).await? {
            self.permit_registration(data, now).await?;
        }
        let password_hash = self.passwords.hash(data.password.expose()).await?;
        let account = NewAccount {
            user_id: UserId::new(),
            name: &name,
            password_hash: Some(&password_hash),
            image: "",
            provider: None,
            now,
        };
        loop {
            let mut tx = self.db.begin().await?;
            let is_operator = match directory::accounts::take_operator_place(&mut tx, account.user_id).await {
                // Somebody else took the place at this moment: the next look finds it taken.
                Err(DbError::Unique) => continue,
                outcome => outcome?,
            };
            if !is_operator && self.registration != Registration::Open {
                // The place was free when permission was asked for, and is not any more.
                self.permit_registration(data, now).await?;
            }
            let user = match directory::accounts::insert(&mut tx, &account, is_operator).await {
                Err(DbError::Unique) => return Err(AccountError::NameTaken),
                outcome => outcome?,
            };
            return self.log_in_within(tx, user, address, now).await;
        }
    }

    /// Makes a session and its token, and commits.
    pub(super) async fn log_in_within(
        &self,
        mut tx: Tx,
        user: User,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<LoggedIn, AccountError> {
        let (token, session_id, expires_at) = (tokens::new_token(), SessionId::new(), self.expiry(now));
        let address = address.to_string();
        let session = NewSession { session_id, user_id: user.user_id, address: &address, now, expires_at };
        directory::sessions::insert(&mut tx, &session).await?;
        directory::sessions::insert_token(&mut tx, session_id, &tokens::hash(token.expose()), expires_at).await?;
        tx.commit().await?;
        Ok(LoggedIn { user, session_id, token, expires_at })
    }

    async fn permit_registration(&self, data: &Register, now: Timestamp) -> Result<(), AccountError> {
        match self.registration {
            Registration::Open => Ok(()),
            Registration::Closed => Err(AccountError::Forbidden("registration is closed")),
            Registration::Invite => {
                let usable = match data.invite {
                    Some(invite) => directory::accounts::is_usable_invite(&self.db, invite, now).await?,
                    None => false,
                };
                usable.then_some(()).ok_or(AccountError::Forbidden("registration needs an invite that can be used"))
            }
        }
    }
}
