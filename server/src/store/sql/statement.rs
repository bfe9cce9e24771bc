//! Statements that write many rows at once.

use std::{fmt::Write, sync::LazyLock};

use crate::store::db::{DbError, Query, Tx};

/// Most rows of one statement.
const MOST: usize = 64;

/// A statement over `values`, for up to 1, 2, 4 … [`MOST`] rows: few texts, so that each stays prepared. Rows that
/// are not needed are null, which the statement leaves out.
pub(super) struct Rows {
    texts: LazyLock<Vec<String>, Box<dyn Fn() -> Vec<String> + Send + Sync>>,
}

impl Rows {
    /// `names` of the values' columns, and what is done with the rows, which are called `v`. The first column of a
    /// row that is there is never null.
    pub(super) fn new(names: &'static str, statement: &'static str) -> Self {
        let columns = names.split(',').count();
        let texts = move || (0..=MOST.ilog2()).map(|power| text(names, columns, 1 << power, statement)).collect();
        Self { texts: LazyLock::new(Box::new(texts)) }
    }

    /// Runs the statement over rows; `bind` binds the values of one, or as many nulls.
    pub(super) async fn run<T>(
        &'static self,
        tx: &mut Tx,
        rows: &[T],
        bind: impl for<'q> Fn(Query<'q>, Option<&T>) -> Query<'q>,
    ) -> Result<u64, DbError> {
        let mut changed = 0;
        for chunk in rows.chunks(MOST) {
            let size = chunk.len().next_power_of_two();
            let text: &'static str = &self.texts[size.ilog2() as usize];
            let mut query = chunk.iter().fold(tx.query(text), |query, row| bind(query, Some(row)));
            if query.needs_every_value() {
                query = (chunk.len()..size).fold(query, |query, _| bind(query, None));
            }
            changed += query.execute().await?;
        }
        Ok(changed)
    }
}

fn text(names: &str, columns: usize, rows: usize, statement: &str) -> String {
    let mut text = format!("with v ({names}) as (values ");
    for row in 0..rows {
        for column in 0..columns {
            let before = match (row, column) {
                (0, 0) => "(",
                (_, 0) => "),(",
                _ => ",",
            };
            write!(text, "{before}${}", row * columns + column + 1).expect("writing to a string cannot fail");
        }
    }
    text + ")) " + statement
}
