//! `parlour backup`, `parlour restore` and `parlour new-epoch`.

use std::path::Path;

use super::CliError;
use crate::{app::open_database, config::Config, store::backup as copies};

fn embedded_only(config: &Config, what: &str) -> Result<(), CliError> {
    match config.database {
        Some(_) => Err(CliError::Failed(format!("{what} is for the embedded database; use the tools of Postgres"))),
        None => Ok(()),
    }
}

/// Writes a copy of the database, also while a server uses it.
pub(super) async fn backup(config: &Config, file: &Path) -> Result<(), CliError> {
    embedded_only(config, "backup")?;
    copies::backup(&config.data_dir, file).await?;
    println!("the database of {} is copied to {}", config.data_dir.display(), file.display());
    Ok(())
}

/// Replaces the database by a copy.
pub(super) async fn restore(config: &Config, file: &Path) -> Result<(), CliError> {
    embedded_only(config, "restore")?;
    let rooms = copies::restore(&config.data_dir, file).await?;
    println!("{} is restored to {}; {rooms} rooms begin a new epoch", file.display(), config.data_dir.display());
    Ok(())
}

/// Changes every room's epoch. The embedded database must not be in use.
pub(super) async fn new_epoch(config: &Config) -> Result<(), CliError> {
    let db = open_database(config).await?;
    let rooms = db.new_epoch().await;
    db.close().await;
    println!("{} rooms begin a new epoch", rooms?);
    Ok(())
}
