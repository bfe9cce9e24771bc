//! `parlour user …`.

use super::{CliError, UserAction};
use crate::{
    accounts::{AccountAction, act_on_account},
    app::attach_database,
    config::Config,
};

/// Acts on an account. A running server learns of it within a second.
pub(super) async fn act(config: &Config, action: UserAction) -> Result<(), CliError> {
    let (name, action, done) = match action {
        UserAction::ResetPassword { name } => (name, AccountAction::ResetPassword, "has a new password"),
        UserAction::Disable { name } => (name, AccountAction::Disable, "is disabled"),
        UserAction::Enable { name } => (name, AccountAction::Enable, "is enabled"),
        UserAction::Delete { name } => (name, AccountAction::Delete, "is deleted"),
    };
    let db = attach_database(config).await?;
    let outcome = act_on_account(&db, &name, action).await;
    db.close().await;
    match outcome? {
        Some(password) => println!("{name} {done}: {}", password.expose()),
        None => println!("{name} {done}"),
    }
    Ok(())
}
