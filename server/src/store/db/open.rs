//! Opening a database: its lock, its settings, its migrations.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use sqlx::{
    AssertSqlSafe, SqlSafeStr,
    migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

use tokio::sync::Semaphore;

use super::{Db, DbError, Direct, Sqlite3, WAIT};

/// The text of each version. `-- sqlite:` and `-- postgres:` carry what only that database is told, to the line's end.
const MIGRATIONS: &[(i64, &str, &str)] = &[(1, "initial", include_str!("../../../../migrations/0001_initial.sql"))];

/// What every connection to a file sets.
pub(super) const PRAGMAS: &[(&str, &str)] = &[
    ("journal_mode", "wal"),
    // What was committed is on the disk.
    ("synchronous", "full"),
    ("foreign_keys", "on"),
    // Pages. Fewer checkpoints write a page that changes often only once.
    ("wal_autocheckpoint", "20000"),
    // KiB.
    ("cache_size", "-65536"),
    ("temp_store", "memory"),
    ("journal_size_limit", "134217728"),
];

const LOCK: &str = "parlour.lock";
const READERS: u32 = 4;

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process works on this folder.
    #[error("the data folder {0} is in use by another process: stop that one, or name another folder with --data-dir")]
    InUse(PathBuf),
    /// There is no database in the folder.
    #[error("the data folder {0} holds no database: name it with --data-dir, or make it with `parlour serve`")]
    Absent(PathBuf),
    /// The folder cannot be used.
    #[error("failed to use the data folder {0}: {1}")]
    Folder(PathBuf, io::Error),
    /// A newer program has written the database.
    #[error("the database is of a newer version of Parlour (it knows change {0}, this program does not): update")]
    Newer(i64),
    /// A build between two releases has written the database.
    #[error("the database is of a build between releases, with another form of change {0}: begin with an empty one")]
    Unreleased(i64),
    /// A change of the database failed.
    #[error("failed to bring the database up to date: {0}")]
    Migrate(MigrateError),
    /// The address is not one of a Postgres database.
    #[error("is not the address of a Postgres database: {0}")]
    Address(sqlx::Error),
    /// The database server is not reached, or lets nobody in.
    #[error("{0}")]
    Connect(String),
    /// The same of a setting.
    #[error("{setting}: {reason}")]
    Setting {
        /// The setting, as it is written where it was given.
        setting: String,
        /// What failed.
        reason: String,
    },
    /// The database failed.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Locks the folder; the lock ends with the file.
pub(crate) fn lock_folder(folder: &Path) -> Result<File, OpenError> {
    let failed = |error| OpenError::Folder(folder.to_owned(), error);
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK)).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Opens the database of a data folder; both are made when they do not exist.
///
/// # Errors
/// As [`OpenError`] says.
pub async fn open_sqlite(folder: &Path) -> Result<Db, OpenError> {
    // Nobody else has a reason to read it: it holds what everybody wrote.
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| OpenError::Folder(folder.to_owned(), error))?;
    let lock = lock_folder(folder)?;
    let db = open_sqlite_file(folder, &database_of(folder), Some(lock)).await?;
    if let Some(rooms) = db.check_generation(folder).await?
        && rooms > 0
    {
        tracing::warn!(rooms, "the database was copied back: every room begins a new epoch");
    }
    Ok(db)
}

/// Opens the database of a data folder beside a server that may be using it. Neither folder nor database is made.
///
/// # Errors
/// As [`OpenError`] says.
pub async fn attach_sqlite(folder: &Path) -> Result<Db, OpenError> {
    let file = database_of(folder);
    check_present(folder)?;
    match open_sqlite(folder).await {
        Err(OpenError::InUse(_)) => open_sqlite_file(folder, &file, None).await,
        outcome => outcome,
    }
}

/// Refuses a data folder without a database.
pub(crate) fn check_present(folder: &Path) -> Result<(), OpenError> {
    match fs::metadata(database_of(folder)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OpenError::Absent(folder.to_owned())),
        Err(error) => Err(OpenError::Folder(folder.to_owned(), error)),
    }
}

/// The database of a data folder.
pub(crate) fn database_of(folder: &Path) -> PathBuf {
    folder.join("parlour.db")
}

/// Opens a file under the lock of its folder, or without it beside the process that holds it.
pub(crate) async fn open_sqlite_file(folder: &Path, file: &Path, lock: Option<File>) -> Result<Db, OpenError> {
    let options = Sqlite3::options(file);
    // A pool's connection is never given up for its age: that would only cost caches and prepared statements.
    let pool = || {
        SqlitePoolOptions::new().acquire_timeout(WAIT).idle_timeout(None).max_lifetime(None).test_before_acquire(false)
    };
    let write = pool().max_connections(1).connect_with(options.clone()).await.map_err(DbError::from)?;
    let mut connection = write.acquire().await.map_err(DbError::from)?;
    migrate(&mut *connection, true).await?;
    drop(connection);
    let read = pool().max_connections(READERS).connect_lazy_with(options.pragma("query_only", "on"));
    let direct = Arc::new(Direct::start(file.to_owned())?);
    let turns = Arc::new(Semaphore::new(1));
    Ok(Db::Sqlite(Sqlite3 { read, write, direct, turns, folder: folder.into(), _lock: lock.map(Arc::new) }))
}

pub(super) async fn migrate<C: Migrate>(connection: &mut C, is_sqlite: bool) -> Result<(), OpenError> {
    let migrations = MIGRATIONS
        .iter()
        .map(|&(version, name, text)| {
            let sql = text.replace(if is_sqlite { "-- sqlite:" } else { "-- postgres:" }, "");
            let sql = AssertSqlSafe(sql).into_sql_str();
            Migration::new(version, name.into(), MigrationType::Simple, sql, false)
        })
        .collect();
    Migrator::with_migrations(migrations).run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(version) => OpenError::Newer(version),
        MigrateError::VersionMismatch(version) => OpenError::Unreleased(version),
        other => OpenError::Migrate(other),
    })
}

impl Sqlite3 {
    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How a file is used.
    pub(crate) fn options(file: &Path) -> SqliteConnectOptions {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .busy_timeout(WAIT)
            .statement_cache_capacity(256);
        PRAGMAS.iter().fold(options, |options, (name, value)| options.pragma(*name, *value))
    }
}
