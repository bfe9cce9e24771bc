//! Transactions.

use sqlx::{AssertSqlSafe, Postgres, SqlSafeStr, Sqlite, SqliteConnection, Transaction};
use tokio::sync::OwnedSemaphorePermit;

use super::{DbError, Query, Sqlite3, Statement, query};

/// An open transaction. Dropping it undoes everything.
#[derive(Debug)]
pub enum Tx {
    /// In the file.
    Sqlite(SqliteTx),
    /// On the server.
    Postgres(Transaction<'static, Postgres>),
}

impl Tx {
    /// A statement of this transaction.
    pub fn query(&mut self, sql: impl SqlSafeStr) -> Query<'_> {
        match self {
            Self::Sqlite(tx) => Query::sqlite(sql, query::SqliteTarget::Tx(tx)),
            Self::Postgres(tx) => Query::postgres(sql, query::PgTarget::Connection(tx)),
        }
    }

    /// Whether nothing was read in it yet: what it writes is best kept.
    pub(crate) fn is_late(&self) -> bool {
        matches!(self, Self::Sqlite(tx) if tx.begun.is_none())
    }

    /// Keeps a write for the commit, or until something is read.
    pub(crate) fn keep(&mut self, statement: Statement) {
        if let Self::Sqlite(tx) = self {
            tx.kept.push(statement);
        }
    }

    /// Runs a statement for each row; `bind` binds the values of one, each once and in order of their placeholders.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn each<T>(
        &mut self,
        sql: &'static str,
        rows: &[T],
        bind: impl for<'q> Fn(Query<'q>, &T) -> Query<'q>,
    ) -> Result<(), DbError> {
        if self.is_late() {
            let values = rows.iter().fold(Query::values(Vec::new()), &bind).into_values();
            if let Some(columns) = values.len().checked_div(rows.len()).filter(|columns| *columns > 0) {
                // SQLite counts `?1`, but takes `$1` for a name.
                self.keep(Statement { sql: sql.replace('$', "?").into(), columns, values });
            }
            return Ok(());
        }
        for row in rows {
            bind(self.query(sql), row).execute().await?;
        }
        Ok(())
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// When it is unknown whether it was.
    pub async fn commit(self) -> Result<(), DbError> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => Ok(tx.commit().await?),
        }
    }
}

/// A transaction in the file.
#[derive(Debug)]
pub struct SqliteTx {
    sqlite: Sqlite3,
    begun: Option<Begun>,
    /// Writes of a transaction that has not begun.
    kept: Vec<Statement>,
}

#[derive(Debug)]
struct Begun {
    transaction: Transaction<'static, Sqlite>,
    /// None for one that only reads.
    _turn: Option<OwnedSemaphorePermit>,
}

impl SqliteTx {
    /// One that begins when something is read in it. One that only writes is a single trip, with its commit.
    pub(super) fn late(sqlite: &Sqlite3) -> Self {
        Self { sqlite: sqlite.clone(), begun: None, kept: Vec::new() }
    }

    pub(super) fn reading(sqlite: &Sqlite3, transaction: Transaction<'static, Sqlite>) -> Self {
        Self { begun: Some(Begun { transaction, _turn: None }), ..Self::late(sqlite) }
    }

    /// The transaction's connection; it has begun then.
    pub(super) async fn connection(&mut self) -> Result<&mut SqliteConnection, DbError> {
        let begun = match &mut self.begun {
            Some(begun) => begun,
            none => {
                let turn = self.sqlite.turn().await?;
                let transaction = self.sqlite.write.begin_with("begin immediate").await?;
                none.insert(Begun { transaction, _turn: Some(turn) })
            }
        };
        let connection = &mut *begun.transaction;
        for Statement { sql, columns, values } in std::mem::take(&mut self.kept) {
            for row in values.chunks(columns) {
                let arguments = query::arguments(row)?;
                sqlx::query_with(AssertSqlSafe(sql.clone()), arguments).execute(&mut *connection).await?;
            }
        }
        Ok(connection)
    }

    async fn commit(mut self) -> Result<(), DbError> {
        if self.begun.is_none() {
            if self.kept.is_empty() {
                return Ok(());
            }
            let turn = self.sqlite.turn().await?;
            return self.sqlite.direct.commit(self.kept, turn).await;
        }
        self.connection().await?;
        if let Some(Begun { transaction, _turn }) = self.begun {
            transaction.commit().await?;
        }
        Ok(())
    }
}
