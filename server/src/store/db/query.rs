//! A statement with its values, for either database.

use std::fmt::Write;

use parlour_protocol::{
    AppUserId, CategoryId, ConnectionId, EmojiId, FileId, InviteId, JobId, LogEntryId, Nonce, RoleId, RoomId, RowKey,
    SessionId, Timestamp, UserId, WebhookId,
};
use sqlx::{
    Arguments as _, Encode, FromRow, PgConnection, PgPool, Postgres, SqlSafeStr, SqlStr, Sqlite, SqlitePool, Type,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};
use uuid::Uuid;

use super::{DbError, Sqlite3, SqliteTx, Value};
use crate::store::StoreError;

/// A statement with its values.
#[must_use = "a query does nothing until it is run"]
pub struct Query<'c> {
    sql: SqlStr,
    target: Target<'c>,
    refused: Option<String>,
}

enum Target<'c> {
    Sqlite(SqliteTarget<'c>, SqliteArguments),
    Postgres(PgTarget<'c>, PgArguments),
    /// Nowhere: the values are what is wanted.
    Values(Vec<Value>),
}

pub(super) enum SqliteTarget<'c> {
    Pool(&'c SqlitePool),
    Writer(&'c Sqlite3),
    Tx(&'c mut SqliteTx),
}

pub(super) enum PgTarget<'c> {
    Pool(&'c PgPool),
    Connection(&'c mut PgConnection),
}

/// A row that both databases read alike: a tuple, or a struct that derives [`sqlx::FromRow`].
pub trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<R: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> Row for R {}

/// A value that both databases take alike.
pub trait Bind {
    /// Adds the value to a statement.
    fn bind(self, query: &mut Query<'_>);
}

macro_rules! bind {
    ($( $type:ty : |$value:ident| $convert:expr ),* $(,)?) => { $(
        impl Bind for $type {
            fn bind(self, query: &mut Query<'_>) {
                let $value = self;
                query.add($convert);
            }
        }

        impl Bind for Option<$type> {
            fn bind(self, query: &mut Query<'_>) {
                query.add(self.map(|$value| $convert));
            }
        }
    )* };
}

bind! {
    i64: |value| value,
    u64: |value| i64::try_from(value).unwrap_or(i64::MAX),
    u32: |value| i64::from(value),
    bool: |value| value,
    String: |value| value,
    &str: |value| value.to_owned(),
    &String: |value| value.clone(),
    Vec<u8>: |value| value,
    &[u8]: |value| value.to_vec(),
    Uuid: |value| value,
    UserId: |value| value.uuid(),
    RoomId: |value| value.uuid(),
    RoleId: |value| value.uuid(),
    SessionId: |value| value.uuid(),
    ConnectionId: |value| value.uuid(),
    CategoryId: |value| value.uuid(),
    LogEntryId: |value| value.uuid(),
    FileId: |value| value.uuid(),
    EmojiId: |value| value.uuid(),
    WebhookId: |value| value.uuid(),
    JobId: |value| value.uuid(),
    AppUserId: |value| value.uuid(),
    InviteId: |value| value.as_str().to_owned(),
    &Nonce: |value| value.as_str().to_owned(),
    Timestamp: |value| value.as_millis(),
    RowKey: |value| value.tick(),
}

impl<'c> Query<'c> {
    pub(super) fn sqlite(sql: impl SqlSafeStr, target: SqliteTarget<'c>) -> Self {
        Self { sql: sql.into_sql_str(), target: Target::Sqlite(target, SqliteArguments::default()), refused: None }
    }

    pub(super) fn postgres(sql: impl SqlSafeStr, target: PgTarget<'c>) -> Self {
        Self { sql: sql.into_sql_str(), target: Target::Postgres(target, PgArguments::default()), refused: None }
    }

    /// The same values for another text.
    pub(crate) fn with_sql(self, sql: impl SqlSafeStr) -> Self {
        Self { sql: sql.into_sql_str(), ..self }
    }

    /// Gathers values.
    pub(crate) fn values(values: Vec<Value>) -> Self {
        Self { sql: "".into_sql_str(), target: Target::Values(values), refused: None }
    }

    /// What was gathered; empty when it is a statement.
    pub(crate) fn into_values(self) -> Vec<Value> {
        match self.target {
            Target::Values(values) => values,
            Target::Sqlite(..) | Target::Postgres(..) => Vec::new(),
        }
    }

    /// The value of the next placeholder.
    pub fn bind(mut self, value: impl Bind) -> Self {
        value.bind(&mut self);
        self
    }

    /// The values of [`list`]'s placeholders.
    pub fn bind_list<T: Bind + Clone>(mut self, values: &[T]) -> Self {
        let Some(last) = values.last() else { return self };
        for value in values.iter().chain(std::iter::repeat(last)).take(values.len().next_power_of_two()) {
            value.clone().bind(&mut self);
        }
        self
    }

    fn add<'t, T>(&mut self, value: T)
    where
        T: Encode<'t, Sqlite> + Type<Sqlite> + Encode<'t, Postgres> + Type<Postgres> + IntoValue,
    {
        let outcome = match &mut self.target {
            Target::Sqlite(_, arguments) => arguments.add(value),
            Target::Postgres(_, arguments) => arguments.add(value),
            Target::Values(values) => {
                values.push(value.into_value());
                Ok(())
            }
        };
        if let Err(error) = outcome {
            self.refused = Some(error.to_string());
        }
    }
}

/// Statements that were run outside of transactions.
#[cfg(test)]
pub(crate) static APART: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// How a value is kept that is not bound at once.
trait IntoValue {
    fn into_value(self) -> Value;
}

macro_rules! into_value {
    ($( $type:ty : |$value:ident| $convert:expr ),* $(,)?) => { $(
        impl IntoValue for $type {
            fn into_value(self) -> Value {
                let $value = self;
                $convert
            }
        }
    )* };
}

into_value! {
    i64: |value| Value::Integer(value),
    bool: |value| Value::Integer(value.into()),
    String: |value| Value::Text(value),
    Vec<u8>: |value| Value::Blob(value),
    Uuid: |value| Value::Uuid(value),
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Null, T::into_value)
    }
}

/// Kept values as arguments of a statement.
pub(super) fn arguments(values: &[Value]) -> Result<SqliteArguments, DbError> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        let outcome = match value {
            Value::Null => arguments.add(None::<i64>),
            Value::Integer(value) => arguments.add(*value),
            Value::Uuid(value) => arguments.add(*value),
            Value::Text(value) => arguments.add(value.clone()),
            Value::Blob(value) => arguments.add(value.clone()),
        };
        outcome.map_err(|error| StoreError::Internal(error.to_string().into()))?;
    }
    Ok(arguments)
}

macro_rules! run {
    ($query:expr, |$sql:ident, $arguments:ident, $executor:ident| $run:expr) => {{
        let Query { sql: $sql, target, refused } = $query;
        #[cfg(test)]
        if matches!(
            target,
            Target::Sqlite(SqliteTarget::Pool(_) | SqliteTarget::Writer(_), _) | Target::Postgres(PgTarget::Pool(_), _)
        ) {
            APART.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        if let Some(reason) = refused {
            return Err(StoreError::Internal(reason.into()).into());
        }
        match target {
            Target::Sqlite(SqliteTarget::Pool($executor), $arguments) => $run,
            Target::Sqlite(SqliteTarget::Writer(sqlite), $arguments) => {
                let _turn = sqlite.turn().await?;
                let $executor = &sqlite.write;
                $run
            }
            Target::Sqlite(SqliteTarget::Tx(tx), $arguments) => {
                let $executor = tx.connection().await?;
                $run
            }
            Target::Postgres(PgTarget::Pool($executor), $arguments) => $run,
            Target::Postgres(PgTarget::Connection($executor), $arguments) => $run,
            Target::Values(_) => Err(StoreError::Internal("values without a statement".into()).into()),
        }
    }};
}

impl Query<'_> {
    /// All rows.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn all<R: Row>(self) -> Result<Vec<R>, DbError> {
        run!(self, |sql, arguments, executor| Ok(sqlx::query_as_with(sql, arguments).fetch_all(executor).await?))
    }

    /// The only row, or none.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn optional<R: Row>(self) -> Result<Option<R>, DbError> {
        run!(self, |sql, arguments, executor| Ok(sqlx::query_as_with(sql, arguments).fetch_optional(executor).await?))
    }

    /// The only row of a statement that always has one, such as a count.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn one<R: Row>(self) -> Result<R, DbError> {
        run!(self, |sql, arguments, executor| Ok(sqlx::query_as_with(sql, arguments).fetch_one(executor).await?))
    }

    /// Runs it; the number of rows that it changed.
    ///
    /// # Errors
    /// As [`DbError`] says.
    pub async fn execute(self) -> Result<u64, DbError> {
        run!(self, |sql, arguments, executor| {
            Ok(sqlx::query_with(sql, arguments).execute(executor).await?.rows_affected())
        })
    }
}

/// `($first, …)`: the placeholders of a list of `count` values. Their number is rounded up to a power of two, so
/// that few statements need to be prepared; [`Query::bind_list`] repeats the last value.
pub fn list(first: usize, count: usize) -> String {
    if count == 0 {
        return "(null)".to_owned();
    }
    let mut text = String::with_capacity(6 * count + 2);
    for number in first..first + count.next_power_of_two() {
        let separator = if number == first { '(' } else { ',' };
        write!(text, "{separator}${number}").expect("writing to a string cannot fail");
    }
    text.push(')');
    text
}

impl std::fmt::Debug for Query<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("sql", &self.sql.as_str()).finish_non_exhaustive()
    }
}
