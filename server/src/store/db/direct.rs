//! A thread with a connection of its own: a whole transaction is one trip to it and back.
//!
//! It writes what the hottest path writes: statements that stay prepared, over values that are known before.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
};

use rusqlite::{
    Connection, ToSql,
    types::{ToSqlOutput, Value as SqliteValue, ValueRef},
};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use uuid::Uuid;

use super::{DbError, WAIT, open::PRAGMAS, sqlite_error};
use crate::store::StoreError;

/// Statements that stay prepared.
const STATEMENTS: usize = 64;
/// Transactions that wait for the thread. Each holds the turn to write, so that one is all there is.
const QUEUE: usize = 2;

/// A statement over rows of values: it runs once for each.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: Arc<str>,
    /// Values of a row.
    pub(crate) columns: usize,
    /// Those of all rows, one after the other.
    pub(crate) values: Vec<Value>,
}

/// A value of a statement.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Uuid(Uuid),
    Text(String),
    Blob(Vec<u8>),
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(SqliteValue::Null),
            Self::Integer(value) => ToSqlOutput::Owned(SqliteValue::Integer(*value)),
            Self::Uuid(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value.as_bytes())),
            Self::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Self::Blob(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
        })
    }
}

/// The way to the thread.
pub(super) struct Direct {
    jobs: mpsc::SyncSender<Job>,
}

enum Job {
    Commit {
        statements: Vec<Statement>,
        /// Given back when the transaction has ended, whether somebody still waits for it or not.
        turn: OwnedSemaphorePermit,
        answer: oneshot::Sender<Result<(), DbError>>,
    },
    Close(oneshot::Sender<()>),
}

impl Direct {
    /// Starts the thread. The file is opened with the first transaction.
    pub(super) fn start(file: PathBuf) -> Result<Self, DbError> {
        let (jobs, receiver) = mpsc::sync_channel(QUEUE);
        let run = move || Worker { file, connection: None }.run(&receiver);
        thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(run)
            .map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
        Ok(Self { jobs })
    }

    /// Writes in one transaction. On an error other than the store's nothing was written.
    pub(super) async fn commit(&self, statements: Vec<Statement>, turn: OwnedSemaphorePermit) -> Result<(), DbError> {
        let (answer, outcome) = oneshot::channel();
        self.jobs.try_send(Job::Commit { statements, turn, answer }).map_err(|_| gone())?;
        outcome.await.map_err(|_| gone())?
    }

    /// Closes the file and ends the thread.
    pub(super) async fn close(&self) {
        let (answer, closed) = oneshot::channel();
        if self.jobs.try_send(Job::Close(answer)).is_ok() && tokio::time::timeout(WAIT, closed).await.is_err() {
            tracing::warn!("the database was still being written to at the end");
        }
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("the database is closed".into())
}

struct Worker {
    file: PathBuf,
    connection: Option<Connection>,
}

impl Worker {
    fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Commit { statements, turn, answer } => {
                    let outcome = self.commit(&statements).map_err(|error| db_error(&error));
                    drop(turn);
                    // Whoever gave it may have gone.
                    drop(answer.send(outcome));
                }
                Job::Close(answer) => {
                    drop(self.connection.take());
                    answer.send(()).unwrap_or(());
                    return;
                }
            }
        }
    }

    fn commit(&mut self, statements: &[Statement]) -> rusqlite::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(open(&self.file)?),
        };
        let outcome = write(connection, statements);
        if outcome.is_err() && !connection.is_autocommit() && connection.execute_batch("rollback").is_err() {
            // Nobody knows what it would do next.
            self.connection = None;
        }
        outcome
    }
}

fn open(file: &PathBuf) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        file,
        rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(WAIT)?;
    for (name, value) in PRAGMAS {
        connection.pragma_update(None, name, value)?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn write(connection: &Connection, statements: &[Statement]) -> rusqlite::Result<()> {
    connection.prepare_cached("begin immediate")?.execute([])?;
    for Statement { sql, columns, values } in statements {
        let mut prepared = connection.prepare_cached(sql)?;
        for row in values.chunks(*columns) {
            for (index, value) in row.iter().enumerate() {
                prepared.raw_bind_parameter(index + 1, value)?;
            }
            prepared.raw_execute()?;
        }
    }
    connection.prepare_cached("commit")?.execute([])?;
    Ok(())
}

fn db_error(error: &rusqlite::Error) -> DbError {
    let text: Arc<str> = error.to_string().into();
    match error.sqlite_error() {
        Some(code) => sqlite_error(code.extended_code.unsigned_abs(), text),
        None => StoreError::Internal(text).into(),
    }
}
