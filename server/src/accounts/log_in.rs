//! Logging in with a password, and changing it.

use std::net::IpAddr;

use parlour_protocol::{
    Timestamp,
    account::{Login, PasswordChange},
};

use super::{AccountError, Accounts, caller::Caller, names, register::LoggedIn};
use crate::{directory, rates::Payer};

impl Accounts {
    /// Logs in. An unknown name, a wrong password and a disabled account look alike and take as long.
    ///
    /// # Errors
    /// As the operation says.
    pub(crate) async fn log_in(&self, data: &Login, address: IpAddr) -> Result<LoggedIn, AccountError> {
        let now = Timestamp::now();
        let name_key = names::stored(&data.name).map(|name| name.key);
        self.charge_attempt(name_key.as_deref(), address, now)?;
        let credentials = match &name_key {
            Some(key) => directory::accounts::credentials(&self.db, key).await?,
            None => None,
        };
        let hash = credentials.as_ref().and_then(|credentials| credentials.password_hash.clone());
        let is_right = self.passwords.verify(data.password.expose(), hash).await?;
        match credentials {
            Some(credentials) if is_right && !credentials.is_disabled => {
                self.log_in_within(self.db.begin().await?, credentials.user, address, now).await
            }
            Some(_) | None => Err(AccountError::Unauthenticated("the name or the password is wrong")),
        }
    }

    /// Changes the caller's password; their other sessions end.
    ///
    /// # Errors
    /// As the operation says.
    pub(crate) async fn change_password(&self, caller: &Caller, data: &PasswordChange) -> Result<(), AccountError> {
        let now = Timestamp::now();
        let by_user = self.rates.auth.charge(Payer::User(caller.user_id), 1, now);
        let by_address = self.rates.auth.charge(Payer::address(caller.address), 1, now);
        by_user.and(by_address).map_err(AccountError::OverBudget)?;
        let credentials = directory::accounts::credentials_of(&self.db, caller.user_id).await?;
        let hash = credentials.and_then(|credentials| credentials.password_hash);
        if !self.passwords.verify(data.password.expose(), hash).await? {
            return Err(AccountError::Unauthenticated("the password is wrong"));
        }
        let hash = self.passwords.hash(data.new_password.expose()).await?;
        let mut tx = self.db.begin().await?;
        directory::accounts::set_password(&mut tx, caller.user_id, &hash, now).await?;
        let ended = directory::sessions::end_others(&mut tx, caller.user_id, Some(caller.session_id), now).await?;
        tx.commit().await?;
        self.announce_ended(&ended);
        Ok(())
    }
}
