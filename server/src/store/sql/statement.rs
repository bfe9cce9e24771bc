//! Statements that write many rows at once.

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use sqlx::AssertSqlSafe;

use crate::store::db::{DbError, Query, Statement, Tx};

/// Most rows of one statement.
const MOST: usize = 64;
/// Most texts that are kept.
const TEXTS: usize = 512;

/// A statement over `values`, for up to 1, 2, 4 … [`MOST`] rows: few texts, so that each stays prepared. Rows that
/// are not needed are null, which the statement leaves out.
pub(super) struct Rows {
    /// The names of the values, which are called `v`. The first one of a row that is there is never null.
    pub(super) names: &'static str,
    /// What is done with them.
    pub(super) statement: &'static str,
    /// The same for one row as SQLite does it best, without a table of values; none where `statement` is good enough.
    pub(super) for_one: Option<&'static str>,
}

/// Statements of one transaction. Where SQLite has nothing to read they are kept for the commit; else it takes them all
/// in one text, which saves the way to its thread and back for each. Postgres takes one at a time.
#[expect(clippy::large_enum_variant, reason = "one lives for each commit")]
pub(super) enum Batch<'t> {
    Kept(&'t mut Tx),
    Together { query: Query<'t>, parts: Vec<Part> },
    Apart(&'t mut Tx),
}

/// A statement and the number of its rows, as a power of two.
type Part = (&'static Rows, u32);

impl<'t> Batch<'t> {
    pub(super) fn new(tx: &'t mut Tx) -> Self {
        match tx {
            tx if tx.is_late() => Self::Kept(tx),
            Tx::Sqlite(_) => Self::Together { query: tx.query(""), parts: Vec::new() },
            Tx::Postgres(_) => Self::Apart(tx),
        }
    }

    /// Adds a statement over rows; `bind` binds the values of one, or as many nulls.
    pub(super) async fn add<T>(
        mut self,
        rows: &'static Rows,
        values: &[T],
        bind: impl for<'q> Fn(Query<'q>, Option<&T>) -> Query<'q>,
    ) -> Result<Self, DbError> {
        if let Self::Kept(tx) = &mut self {
            if !values.is_empty() {
                let columns = rows.names.split(',').count();
                let gathered = Query::values(Vec::with_capacity(columns * values.len()));
                let gathered = values.iter().map(Some).fold(gathered, &bind).into_values();
                tx.keep(Statement { sql: text(&[(rows, 0)], Placeholders::Anonymous), columns, values: gathered });
            }
            return Ok(self);
        }
        for chunk in values.chunks(MOST) {
            let power = chunk.len().next_power_of_two().ilog2();
            let padded = chunk.iter().map(Some).chain(std::iter::repeat(None)).take(1 << power);
            self = match self {
                Self::Kept(tx) => Self::Kept(tx),
                Self::Together { query, mut parts } => {
                    parts.push((rows, power));
                    Self::Together { query: padded.fold(query, &bind), parts }
                }
                Self::Apart(tx) => {
                    padded
                        .fold(tx.query(AssertSqlSafe(text(&[(rows, power)], Placeholders::Numbered))), &bind)
                        .execute()
                        .await?;
                    Self::Apart(tx)
                }
            };
        }
        Ok(self)
    }

    /// Runs what was added.
    pub(super) async fn run(self) -> Result<(), DbError> {
        match self {
            Self::Together { query, parts } if !parts.is_empty() => {
                query.with_sql(AssertSqlSafe(text(&parts, Placeholders::Anonymous))).execute().await?;
            }
            Self::Kept(_) | Self::Together { .. } | Self::Apart(_) => {}
        }
        Ok(())
    }
}

/// How the places of values are written, and with it for which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Placeholders {
    /// `$1`, `$2`, …, numbered through.
    Numbered,
    /// `?`. SQLite finds a numbered one by its name, in time that grows with their number.
    Anonymous,
}

/// The text of statements.
fn text(parts: &[Part], placeholders: Placeholders) -> Arc<str> {
    type Texts = Mutex<HashMap<(Placeholders, Vec<(usize, u32)>), Arc<str>>>;
    static KNOWN: LazyLock<Texts> = LazyLock::new(Mutex::default);
    let sizes = parts.iter().map(|(rows, power)| (std::ptr::from_ref(*rows).addr(), *power)).collect();
    let key = (placeholders, sizes);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = known.get(&key) {
        return Arc::clone(text);
    }
    if known.len() >= TEXTS {
        known.clear();
    }
    if let (Placeholders::Anonymous, [(Rows { for_one: Some(text), .. }, 0)]) = (placeholders, parts) {
        let text: Arc<str> = (*text).into();
        known.insert(key, Arc::clone(&text));
        return text;
    }
    let mut text = String::new();
    let mut placeholder = 0;
    for (rows, power) in parts {
        let columns = rows.names.split(',').count();
        let separator = if text.is_empty() { "" } else { "; " };
        write!(text, "{separator}with v ({}) as (values ", rows.names).expect("writing to a string cannot fail");
        for row in 0..1 << power {
            for column in 0..columns {
                placeholder += 1;
                let before = match (row, column) {
                    (0, 0) => "(",
                    (_, 0) => "),(",
                    _ => ",",
                };
                text.push_str(before);
                match placeholders {
                    Placeholders::Anonymous => text.push('?'),
                    Placeholders::Numbered => {
                        write!(text, "${placeholder}").expect("writing to a string cannot fail");
                    }
                }
            }
        }
        text.push_str(")) ");
        match placeholders {
            // No way back from a row that is refused, which would cost copies of pages: the transaction goes then.
            Placeholders::Anonymous => {
                let (verb, rest) = rows.statement.split_once(' ').unwrap_or((rows.statement, ""));
                write!(text, "{verb} or fail {rest}").expect("writing to a string cannot fail");
            }
            Placeholders::Numbered => text.push_str(rows.statement),
        }
    }
    let text: Arc<str> = text.into();
    known.insert(key, Arc::clone(&text));
    text
}
