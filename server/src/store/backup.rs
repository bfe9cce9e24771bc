//! Copies of the embedded database, made while the server runs and put back while it does not.

mod files;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::db::{DbError, OpenError, Sqlite3, check_present, database_of, lock_folder, open_sqlite_file};
use crate::blobs::folder::files_of;

/// Why a copy was not made or not put back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The copy would overwrite a file.
    #[error("{0} exists already; a copy goes to a new file")]
    Exists(PathBuf),
    /// There is no database to copy, or the copy is none.
    #[error("{0} is not a database of Parlour: {1}")]
    NotADatabase(PathBuf, String),
    /// A file could not be written or read.
    #[error("failed to use {0}: {1}")]
    File(PathBuf, io::Error),
    /// The data folder is in use, or the copy is of a newer version.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl From<DbError> for BackupError {
    fn from(error: DbError) -> Self {
        Self::Open(error.into())
    }
}

/// Copies the database of a data folder to a new file, and the files to a folder `.files` beside it. The copy is one state of the whole database, whatever is
/// written meanwhile; a copy that was broken off leaves no file of that name.
///
/// # Errors
/// As [`BackupError`] says.
pub async fn backup(folder: &Path, file: &Path) -> Result<(), BackupError> {
    if file.exists() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    check_present(folder)?;
    let database = database_of(folder);
    let mut connection = Sqlite3::options(&database)
        .create_if_missing(false)
        .connect()
        .await
        .map_err(|error| BackupError::NotADatabase(database, error.to_string()))?;
    // Before and after: what the copy of the database names is there whether it came or went meanwhile.
    let (uploaded, taken) = (files_of(folder), files::beside(file));
    files::copy(uploaded.clone(), taken.clone()).await?;
    let draft = beside(file, "partial");
    remove(&draft)?;
    let outcome =
        sqlx::query("vacuum into $1").bind(draft.to_string_lossy().into_owned()).execute(&mut connection).await;
    connection.close().await.map_err(DbError::from)?;
    outcome.map_err(DbError::from)?;
    files::copy(uploaded, taken).await?;
    put_in_place(&draft, file)
}

/// Puts a copy in the place of a data folder's database, which may be absent. Every room begins a new epoch. Returns
/// the number of rooms.
///
/// # Errors
/// As [`BackupError`] says; the database is the old one then.
pub async fn restore(folder: &Path, file: &Path) -> Result<u64, BackupError> {
    check(file).await?;
    fs::create_dir_all(folder).map_err(|error| BackupError::File(folder.to_owned(), error))?;
    let lock = lock_folder(folder)?;
    let database = database_of(folder);
    let draft = beside(&database, "restoring");
    remove_database(&draft)?;
    copy(file, &draft).await?;
    files::copy(files::beside(file), files_of(folder)).await?;
    let restored = open_sqlite_file(folder, &draft, Some(lock)).await?;
    let rooms = restored.new_epoch().await?;
    restored.advance_generation().await?;
    // The last connection that closes moves everything from the log into the file.
    restored.close().await;
    // What the old database has not yet moved out of its log must not be played into the new one.
    if let Ok(mut old) = Sqlite3::options(&database).create_if_missing(false).connect().await {
        // It may be damaged: then its log is removed as it is.
        drop(sqlx::query("pragma wal_checkpoint(truncate)").execute(&mut old).await);
        drop(old.close().await);
    }
    remove(&beside_database(&database, "-wal"))?;
    remove(&beside_database(&database, "-shm"))?;
    put_in_place(&draft, &database)?;
    drop(restored);
    Ok(rooms)
}

/// Whether a file is a whole database of this program.
async fn check(file: &Path) -> Result<(), BackupError> {
    let not_one = |reason: String| BackupError::NotADatabase(file.to_owned(), reason);
    fs::metadata(file).map_err(|error| BackupError::File(file.to_owned(), error))?;
    let options = Sqlite3::options(file).create_if_missing(false).read_only(true).immutable(true);
    let mut connection: SqliteConnection = options.connect().await.map_err(|error| not_one(error.to_string()))?;
    let checked: Result<String, _> = sqlx::query_scalar("pragma quick_check(1)").fetch_one(&mut connection).await;
    let counted: Result<i64, _> = sqlx::query_scalar("select count(*) from room_head").fetch_one(&mut connection).await;
    drop(connection.close().await);
    match (checked, counted) {
        (Ok(verdict), Ok(_)) if verdict == "ok" => Ok(()),
        (Ok(verdict), Ok(_)) => Err(not_one(verdict)),
        (Err(error), _) | (_, Err(error)) => Err(not_one(error.to_string())),
    }
}

async fn copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    let (source, target) = (from.to_owned(), to.to_owned());
    let copied = tokio::task::spawn_blocking(move || fs::copy(source, target)).await;
    copied
        .unwrap_or_else(|error| Err(io::Error::other(error)))
        .map(|_| ())
        .map_err(|error| BackupError::File(to.to_owned(), error))
}

/// Makes a finished file durable under its name.
fn put_in_place(draft: &Path, file: &Path) -> Result<(), BackupError> {
    let put = || {
        File::open(draft)?.sync_all()?;
        fs::rename(draft, file)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    put().map_err(|error| BackupError::File(file.to_owned(), error))
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    beside_database(file, &format!(".{suffix}"))
}

fn beside_database(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove_database(file: &Path) -> Result<(), BackupError> {
    for suffix in ["", "-wal", "-shm"] {
        remove(&beside_database(file, suffix))?;
    }
    Ok(())
}

fn remove(file: &Path) -> Result<(), BackupError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BackupError::File(file.to_owned(), error)),
        _ => Ok(()),
    }
}
