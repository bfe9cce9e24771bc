//! Fresh databases for tests.

use std::{env, str::FromStr};

use sqlx::{AssertSqlSafe, ConnectOptions, Executor, postgres::PgConnectOptions};
use tempfile::TempDir;
use uuid::Uuid;

use super::db::{Db, ServerLimits, open_postgres_with, open_sqlite};

/// Few enough for many tests at a time.
fn limits() -> ServerLimits {
    ServerLimits { connections: 8, ..ServerLimits::default() }
}

/// A database of one test.
pub(crate) struct TestDb {
    /// The database.
    pub(crate) db: Db,
    place: Place,
}

enum Place {
    Folder(TempDir),
    Schema(Box<PgConnectOptions>),
}

impl TestDb {
    /// A SQLite file in a folder of its own.
    pub(crate) async fn sqlite() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self { db: open_sqlite(folder.path()).await.expect("a new database"), place: Place::Folder(folder) }
    }

    /// A schema of its own on the server of `PARLOUR_TEST_POSTGRES_URL`. None, visibly, without such a server;
    /// a failure then when `PARLOUR_TEST_REQUIRE_POSTGRES` is set.
    pub(crate) async fn postgres() -> Option<Self> {
        let options = Self::empty_schema().await?;
        let db = open_postgres_with(options.clone(), limits()).await.expect("a new database");
        Some(Self { db, place: Place::Schema(Box::new(options)) })
    }

    /// A schema without tables.
    pub(crate) async fn empty_schema() -> Option<PgConnectOptions> {
        let Ok(url) = env::var("PARLOUR_TEST_POSTGRES_URL") else {
            assert!(env::var_os("PARLOUR_TEST_REQUIRE_POSTGRES").is_none(), "PARLOUR_TEST_POSTGRES_URL is not set");
            eprintln!("SKIPPED: PARLOUR_TEST_POSTGRES_URL is not set");
            return None;
        };
        let options = PgConnectOptions::from_str(&url).expect("an address of Postgres");
        let schema = format!("test_{}", Uuid::new_v4().simple());
        let mut connection = options.connect().await.expect("a running Postgres");
        connection.execute(AssertSqlSafe(format!("create schema {schema}"))).await.expect("a new schema");
        Some(options.options([("search_path", schema)]))
    }

    /// The same database for another node; none where only one process may write.
    pub(crate) async fn beside(&self) -> Option<Db> {
        match &self.place {
            Place::Folder(_) => None,
            Place::Schema(options) => {
                Some(open_postgres_with(options.as_ref().clone(), limits()).await.expect("the same database"))
            }
        }
    }

    /// The same database, opened again as after a restart.
    pub(crate) async fn reopen(self) -> Self {
        let Self { db, place } = self;
        db.close().await;
        drop(db);
        let db = match &place {
            Place::Folder(folder) => open_sqlite(folder.path()).await.expect("the same database"),
            Place::Schema(options) => {
                open_postgres_with(options.as_ref().clone(), limits()).await.expect("the same database")
            }
        };
        Self { db, place }
    }
}
