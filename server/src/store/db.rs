//! The two databases behind one text of SQL.
//!
//! Every statement uses `$1` placeholders, `bigint` integers, times in milliseconds, ids as `uuid` and JSON as
//! `text`, so that one text serves SQLite and Postgres:
//!
//! ```ignore
//! #[derive(sqlx::FromRow)]
//! struct AccountRow { user_id: Uuid, name: String }
//!
//! let account: Option<AccountRow> =
//!     db.read("select user_id, name from account where name_key = $1").bind(&key).optional().await?;
//!
//! // In a transaction. Dropping it undoes everything. SQLite has one writer: keep it short, and await nothing
//! // but the database while it is open.
//! let mut tx = db.begin().await?;
//! match tx.query("insert into account (user_id, name) values ($1, $2)").bind(user_id).bind(&name).execute().await {
//!     Err(DbError::Unique) => return Err(NameTaken),
//!     outcome => outcome?,
//! };
//! tx.commit().await?;
//!
//! // A list of values: `list` writes the placeholders, `bind_list` binds as many.
//! let sql = format!("select user_id, name from account where user_id in {}", list(1, ids.len()));
//! let accounts: Vec<AccountRow> = db.read(AssertSqlSafe(sql)).bind_list(&ids).all().await?;
//! ```

mod direct;
mod generation;
mod open;
mod postgres;
pub(crate) mod query;
#[cfg(test)]
mod tests;
mod transaction;

use std::{fs::File, path::Path, sync::Arc, time::Duration};

use sqlx::{Database, PgPool, Pool, SqlSafeStr, SqlitePool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::direct::Direct;
pub(crate) use self::direct::{Statement, Value};
pub use self::transaction::{SqliteTx, Tx};
pub use open::{OpenError, attach_sqlite, open_sqlite};
pub(crate) use open::{check_present, database_of, lock_folder, open_sqlite_file};
#[cfg(test)]
pub(crate) use postgres::open_postgres_with;
pub use postgres::{ServerLimits, open_postgres};
pub use query::{Bind, Query, Row, list};

use super::StoreError;

/// How long a caller waits for a connection, and SQLite for another process's lock.
pub(crate) const WAIT: Duration = Duration::from_secs(5);

/// A database. Clones share its connections.
#[derive(Debug, Clone)]
pub enum Db {
    /// A file in the data folder.
    Sqlite(Sqlite3),
    /// A server.
    Postgres(PgPool),
}

/// A SQLite file: readers beside one writer.
#[derive(Debug, Clone)]
pub struct Sqlite3 {
    read: SqlitePool,
    /// One connection.
    write: SqlitePool,
    /// Another one that writes, for transactions that are known as a whole before.
    direct: Arc<Direct>,
    /// Whoever writes waits here, in order, instead of in SQLite's busy loop.
    turns: Arc<Semaphore>,
    folder: Arc<Path>,
    /// Locked as long as any clone lives; none beside the process that holds the lock.
    _lock: Option<Arc<File>>,
}

impl Db {
    /// A statement that only reads.
    pub fn read(&self, sql: impl SqlSafeStr) -> Query<'_> {
        match self {
            Self::Sqlite(sqlite) => Query::sqlite(sql, query::SqliteTarget::Pool(&sqlite.read)),
            Self::Postgres(pool) => Query::postgres(sql, query::PgTarget::Pool(pool)),
        }
    }

    /// A statement that writes, committed by itself.
    pub fn write(&self, sql: impl SqlSafeStr) -> Query<'_> {
        match self {
            Self::Sqlite(sqlite) => Query::sqlite(sql, query::SqliteTarget::Writer(sqlite)),
            Self::Postgres(pool) => Query::postgres(sql, query::PgTarget::Pool(pool)),
        }
    }

    /// Begins a transaction that writes.
    ///
    /// # Errors
    /// When no connection is free in time.
    pub async fn begin(&self) -> Result<Tx, DbError> {
        Ok(match self {
            Self::Sqlite(sqlite) => {
                let mut tx = SqliteTx::late(sqlite);
                tx.connection().await?;
                Tx::Sqlite(tx)
            }
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }

    /// As [`Db::begin`], but in a file the transaction begins when something is read in it: what was known before need
    /// not be what holds in it. One that reads nothing costs a single trip.
    ///
    /// # Errors
    /// When no connection is free in time.
    pub(crate) async fn begin_late(&self) -> Result<Tx, DbError> {
        match self {
            Self::Sqlite(sqlite) => Ok(Tx::Sqlite(SqliteTx::late(sqlite))),
            Self::Postgres(_) => self.begin().await,
        }
    }

    /// Begins a transaction that reads one state of the whole database.
    ///
    /// # Errors
    /// When no connection is free in time.
    pub async fn snapshot(&self) -> Result<Tx, DbError> {
        Ok(match self {
            Self::Sqlite(sqlite) => Tx::Sqlite(SqliteTx::reading(sqlite, sqlite.read.begin().await?)),
            Self::Postgres(pool) => {
                Tx::Postgres(pool.begin_with("begin isolation level repeatable read read only").await?)
            }
        })
    }

    /// Whether this is the embedded database: a single process writes to it.
    pub fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Closes all connections; whatever runs ends first.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => {
                sqlite.direct.close().await;
                close(&sqlite.read).await;
                close(&sqlite.write).await;
            }
            Self::Postgres(pool) => close(pool).await,
        }
    }
}

impl Sqlite3 {
    /// The turn to write.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, DbError> {
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(turn);
        }
        let turn = tokio::time::timeout(WAIT, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| StoreError::Unavailable("the database is busy".into()))?;
        Ok(turn.map_err(|_| StoreError::Unavailable("the database is closed".into()))?)
    }
}

async fn close<D: Database>(pool: &Pool<D>) {
    if tokio::time::timeout(WAIT, pool.close()).await.is_err() {
        tracing::warn!("database connections were still in use at the end");
    }
}

/// Why a statement failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DbError {
    /// A row with this key exists. Which of a table's keys it was follows from the statement.
    #[error("a row with this key exists")]
    Unique,
    /// Another constraint, such as a reference to a row that does not exist.
    #[error("a constraint refused the row: {0}")]
    Constraint(Arc<str>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DbError {
    /// Whether the statement itself was refused, so that others could succeed.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Store(_))
    }
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Store(error) => error,
            refusal => Self::Internal(refusal.to_string().into()),
        }
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::error::ErrorKind;
        let text: Arc<str> = error.to_string().into();
        match &error {
            sqlx::Error::Database(database) => match database.kind() {
                ErrorKind::UniqueViolation => Self::Unique,
                ErrorKind::ForeignKeyViolation | ErrorKind::NotNullViolation | ErrorKind::CheckViolation => {
                    Self::Constraint(text)
                }
                _ if is_temporary(database.as_ref()) => StoreError::Unavailable(text).into(),
                _ => StoreError::Internal(text).into(),
            },
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => StoreError::Unavailable(text).into(),
            _ => StoreError::Internal(text).into(),
        }
    }
}

/// Whether the database may take the same statement later.
fn is_temporary(error: &dyn sqlx::error::DatabaseError) -> bool {
    let Some(code) = error.code() else { return false };
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        // Connection, a standby's read-only state, nobody let in, rollback by a conflict, no such database, resources,
        // not ready, operator's intervention, system.
        let classes = ["08", "25006", "28", "40", "3D", "53", "55", "57", "58"];
        return classes.iter().any(|class| code.starts_with(class));
    }
    code.parse::<u32>().is_ok_and(is_temporary_code)
}

/// Extended codes of SQLite carry the primary one in their low byte: busy, locked, no memory, read only, interrupted,
/// input or output, full, cannot open.
fn is_temporary_code(code: u32) -> bool {
    matches!(code & 0xff, 5 | 6 | 7 | 8 | 9 | 10 | 13 | 14)
}

/// What an extended code of SQLite means.
fn sqlite_error(code: u32, text: Arc<str>) -> DbError {
    match code {
        // A unique index, a primary key, a row's number.
        2067 | 1555 | 2579 => DbError::Unique,
        // A foreign key, `not null`, `check`.
        787 | 1299 | 275 => DbError::Constraint(text),
        code if is_temporary_code(code) => StoreError::Unavailable(text).into(),
        _ => StoreError::Internal(text).into(),
    }
}
