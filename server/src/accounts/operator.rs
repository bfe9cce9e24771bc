//! What the operator does to accounts, from the command line: a running server learns of it through the database.

use parlour_protocol::{Secret, Timestamp, UserId};

use super::{AccountError, names, passwords::Passwords, tokens};
use crate::{
    directory::{self, account_changes},
    store::db::Db,
};

/// What to do to an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountAction {
    /// A new random password; all sessions end.
    ResetPassword,
    /// No log-in any more; all sessions end.
    Disable,
    /// Log-ins again.
    Enable,
    /// The end of the account: its messages stay and read "deleted user".
    Delete,
}

/// Acts on the account of a name; the new password when one was made.
///
/// # Errors
/// [`AccountError::NoAccount`] when nobody has that name.
pub(crate) async fn act_on_account(db: &Db, name: &str, action: AccountAction) -> Result<Option<Secret>, AccountError> {
    let key = names::stored(name).ok_or(AccountError::BadName)?.key;
    let credentials =
        directory::accounts::credentials(db, &key).await?.ok_or_else(|| AccountError::NoAccount(name.to_owned()))?;
    let user_id = credentials.user.user_id;
    match action {
        AccountAction::ResetPassword => reset_password(db, user_id).await.map(Some),
        AccountAction::Disable => set_disabled(db, user_id, true).await,
        AccountAction::Enable => set_disabled(db, user_id, false).await,
        AccountAction::Delete => delete(db, user_id).await,
    }
}

async fn reset_password(db: &Db, user_id: UserId) -> Result<Secret, AccountError> {
    let password = Secret::new(&tokens::new_token().expose()[..20]);
    let hash = Passwords::new(1).hash(password.expose()).await?;
    let now = Timestamp::now();
    let mut tx = db.begin().await?;
    if !directory::accounts::set_password(&mut tx, user_id, &hash, now).await? {
        return Err(AccountError::Forbidden("the account belongs to an identity provider: it has no password here"));
    }
    directory::sessions::end_others(&mut tx, user_id, None, now).await?;
    account_changes::record(&mut tx, user_id, None, true, now).await?;
    tx.commit().await?;
    Ok(password)
}

async fn set_disabled(db: &Db, user_id: UserId, disabled: bool) -> Result<Option<Secret>, AccountError> {
    let now = Timestamp::now();
    let mut tx = db.begin().await?;
    directory::accounts::set_disabled(&mut tx, user_id, disabled, now).await?;
    if disabled {
        directory::sessions::end_others(&mut tx, user_id, None, now).await?;
    }
    account_changes::record(&mut tx, user_id, None, disabled, now).await?;
    tx.commit().await?;
    Ok(None)
}

async fn delete(db: &Db, user_id: UserId) -> Result<Option<Secret>, AccountError> {
    let now = Timestamp::now();
    let mut tx = db.begin().await?;
    directory::accounts::empty(&mut tx, user_id, now).await?;
    directory::sessions::end_others(&mut tx, user_id, None, now).await?;
    account_changes::record(&mut tx, user_id, None, true, now).await?;
    tx.commit().await?;
    Ok(None)
}
