//! The command line.

mod account;
mod dead_letters;
mod doctor;
mod serve;
mod store;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{
    accounts::AccountError,
    app::StartError,
    config::{Config, ConfigError, Flag, Settings},
    push::sender::SenderError,
    store::{
        backup::BackupError,
        db::{DbError, OpenError},
    },
};

/// A self-hosted realtime chat server.
#[derive(Debug, Parser)]
#[command(name = "parlour", version, about, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    settings: SettingFlags,
    #[command(subcommand)]
    command: Command,
}

/// Settings of every command.
#[derive(Debug, Args)]
struct SettingFlags {
    /// The folder of everything that is stored [default: ./data]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// A TOML file with settings [default: parlour.toml in the data folder, when it is there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A Postgres database in place of the embedded one
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Any other setting, such as `registration=closed`; docs/operating.md lists them
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve, by default on http://127.0.0.1:8080
    Serve {
        /// The address to listen on [default: 127.0.0.1:8080]
        #[arg(long, value_name = "ADDR:PORT")]
        listen: Option<String>,
    },
    /// Write a copy of the embedded database to a new file, also while the server runs
    Backup {
        /// The file to write
        file: PathBuf,
    },
    /// Replace the embedded database by a copy that `backup` made; the server must not run
    Restore {
        /// The file to read
        file: PathBuf,
    },
    /// Tell all clients to read everything anew; to be run after restoring a database by other means
    NewEpoch,
    /// Act on an account, also while the server runs
    User {
        #[command(subcommand)]
        action: UserAction,
    },
    /// See or act on notifications that were given up on, also while the server runs
    DeadLetters {
        #[command(subcommand)]
        action: DeadLetterAction,
    },
    /// Check store, limits and settings, and say what to do
    Doctor,
}

#[derive(Debug, Subcommand)]
enum DeadLetterAction {
    /// Show them, oldest first
    List,
    /// Have them tried again
    Replay {
        /// Their ids
        #[arg(value_parser = dead_letters::id)]
        ids: Vec<uuid::Uuid>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
    /// Throw them away
    Drop {
        /// Their ids
        #[arg(value_parser = dead_letters::id)]
        ids: Vec<uuid::Uuid>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
enum UserAction {
    /// Set a new random password, print it, and end all sessions
    ResetPassword {
        /// The account name
        name: String,
    },
    /// End all sessions and refuse new ones
    Disable {
        /// The account name
        name: String,
    },
    /// Let a disabled account log in again
    Enable {
        /// The account name
        name: String,
    },
    /// Delete the account; its messages stay and read "deleted user"
    Delete {
        /// The account name
        name: String,
    },
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// A setting.
    #[error(transparent)]
    #[expect(private_interfaces, reason = "told to people, not to programs")]
    Config(#[from] ConfigError),
    /// The start of the server.
    #[error(transparent)]
    #[expect(private_interfaces, reason = "told to people, not to programs")]
    Start(#[from] StartError),
    /// The database.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An account.
    #[error(transparent)]
    #[expect(private_interfaces, reason = "told to people, not to programs")]
    Account(#[from] AccountError),
    /// The database, after it was opened.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A backup or a restore.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A check, or a command that does not fit the settings.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// The exit code of the process: 2 for what the settings say, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_)
            | Self::Open(OpenError::Setting { .. })
            | Self::Start(
                StartError::Config(_)
                | StartError::Open(OpenError::Setting { .. })
                | StartError::Blobs(..)
                | StartError::Push(SenderError::Authority(..)),
            ) => 2,
            Self::Start(_) | Self::Open(_) | Self::Account(_) | Self::Db(_) | Self::Backup(_) | Self::Failed(_) => 1,
        }
    }
}

impl Cli {
    /// Runs the command, with the settings of `environment` beside its own.
    ///
    /// # Errors
    /// As [`CliError`] says.
    pub async fn run(self, environment: impl IntoIterator<Item = (String, String)>) -> Result<(), CliError> {
        let mut flags = self.settings.flags()?;
        if let Command::Serve { listen: Some(listen) } = &self.command {
            flags.push(flag("--listen", "listen", listen));
        }
        let settings = Settings::load(self.settings.config, &flags, environment)?;
        let config = Config::new(&settings)?;
        match self.command {
            Command::Serve { .. } => serve::serve(config).await,
            Command::Backup { file } => store::backup(&config, &file).await,
            Command::Restore { file } => store::restore(&config, &file).await,
            Command::NewEpoch => store::new_epoch(&config).await,
            Command::User { action } => account::act(&config, action).await,
            Command::DeadLetters { action } => dead_letters::act(&config, action).await,
            Command::Doctor => doctor::examine(&config).await,
        }
    }
}

impl SettingFlags {
    fn flags(&self) -> Result<Vec<Flag>, ConfigError> {
        let mut flags = Vec::new();
        if let Some(value) = &self.data_dir {
            flags.push(flag("--data-dir", "data_dir", value));
        }
        if let Some(value) = &self.database_url {
            flags.push(flag("--database-url", "database_url", value));
        }
        for set in &self.set {
            let (name, value) = set.split_once('=').ok_or_else(|| ConfigError::new("--set", "must read NAME=VALUE"))?;
            flags.push(flag(&format!("--set {name}"), name, value));
        }
        Ok(flags)
    }
}

fn flag(flag: &str, name: &str, value: &str) -> Flag {
    Flag { flag: flag.to_owned(), name: name.to_owned(), value: value.to_owned() }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
