//! Opening a database on a server: its limits, and what is said when it cannot be used.

use std::{fmt, io, time::Duration};

use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use parlour_protocol::Timestamp;

use super::{Db, DbError, OpenError, WAIT, open::migrate};
use crate::store::StoreError;

/// How long bringing a database up to date may take, another node's turn to do so included.
const MIGRATION: Duration = Duration::from_secs(10 * 60);
/// A connection that has rested for so long is tried before it is used.
const RESTED: Duration = Duration::from_secs(5);

/// How a server is used.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Most connections of this process.
    pub connections: u32,
    /// How long a caller waits for one.
    pub wait: Duration,
    /// How long a statement may take, its waits for locks included.
    pub statement: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { connections: 20, wait: WAIT, statement: Duration::from_secs(10) }
    }
}

/// Opens a database on a server, and brings it up to date; nodes that start at once do so in turn.
///
/// # Errors
/// As [`OpenError`] says.
pub async fn open_postgres(url: &str, limits: ServerLimits) -> Result<Db, OpenError> {
    let options: PgConnectOptions = url.parse().map_err(OpenError::Address)?;
    open_postgres_with(options, limits).await
}

pub(crate) async fn open_postgres_with(options: PgConnectOptions, limits: ServerLimits) -> Result<Db, OpenError> {
    let options = options.application_name("parlour");
    // A pool would try until its time is up, and not say why.
    let mut first = connect(&options).await?;
    // It may take longer than a statement of everyday.
    let migrated = tokio::time::timeout(MIGRATION, migrate(&mut first, false)).await;
    migrated.unwrap_or_else(|_| Err(DbError::from(sqlx::Error::PoolTimedOut).into()))?;
    first.close().await.map_err(DbError::from)?;
    Ok(Db::Postgres(pool(options, limits)))
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, OpenError> {
    let outcome = tokio::time::timeout(WAIT, options.connect()).await;
    let outcome = outcome.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()));
    outcome.map_err(|error| OpenError::Connect(Refusal::of(options, error).to_string()))
}

fn pool(options: PgConnectOptions, limits: ServerLimits) -> PgPool {
    let millis = |time: Duration| time.as_millis().to_string();
    let options = options.options([
        ("statement_timeout", millis(limits.statement)),
        // A node that went away in the middle of a transaction must not hold its rooms for long.
        ("idle_in_transaction_session_timeout", millis(2 * limits.statement)),
        ("tcp_keepalives_idle", "15".to_owned()),
        ("tcp_keepalives_interval", "5".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
    ]);
    PgPoolOptions::new()
        .max_connections(limits.connections)
        .acquire_timeout(limits.wait)
        // A busy connection was just seen to work.
        .test_before_acquire(false)
        .before_acquire(|connection, rest| {
            Box::pin(async move {
                if rest.idle_for >= RESTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options)
}

impl Db {
    /// How far the clock of this machine is ahead of the server's, in ms; none in a file, which has no other clock.
    ///
    /// # Errors
    /// When the database fails, or takes so long that the answer says nothing.
    pub(crate) async fn clock_ahead(&self) -> Result<Option<i64>, DbError> {
        if self.is_sqlite() {
            return Ok(None);
        }
        let sent = Timestamp::now().as_millis();
        let query = self.read("select (extract(epoch from clock_timestamp()) * 1000)::bigint");
        let (theirs,): (i64,) = query.one().await?;
        let received = Timestamp::now().as_millis();
        let trip = received - sent;
        if !(0..2_000).contains(&trip) {
            return Err(StoreError::Unavailable("the database answers too slowly to compare clocks".into()).into());
        }
        Ok(Some(sent + trip / 2 - theirs))
    }

    /// Rooms that are written at the same time: not so many that readers find no connection.
    pub(crate) fn lanes(&self) -> usize {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(pool) => (pool.options().get_max_connections() as usize * 3 / 5).max(1),
        }
    }
}

/// Why a server does not let us in, for people.
#[derive(Debug)]
struct Refusal {
    place: String,
    user: String,
    database: String,
    error: sqlx::Error,
}

impl Refusal {
    fn of(options: &PgConnectOptions, error: sqlx::Error) -> Self {
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let user = options.get_username().to_owned();
        let database = options.get_database().unwrap_or(&user).to_owned();
        Self { place, user, database, error }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, user, database, error } = self;
        let code = error.as_database_error().and_then(|error| error.code());
        match (error, code.as_deref()) {
            (_, Some("3D000")) => {
                write!(f, "Postgres at {place} has no database {database:?}: make it with `createdb {database}`")
            }
            (_, Some("28P01" | "28000")) => write!(f, "Postgres at {place} does not let {user:?} in: {error}"),
            (_, Some("53300")) => write!(f, "Postgres at {place} has no connection left: {error}"),
            (sqlx::Error::Io(error), _) if error.kind() == io::ErrorKind::TimedOut => {
                write!(f, "no answer from Postgres at {place} within {} s", WAIT.as_secs())
            }
            (sqlx::Error::Io(error), _) => write!(f, "Postgres at {place} is not reached: {error}"),
            _ => write!(f, "Postgres at {place} cannot be used: {error}"),
        }
    }
}
