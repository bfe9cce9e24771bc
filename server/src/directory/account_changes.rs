//! The feed by which processes learn what others did to accounts and sessions.

use parlour_protocol::{SessionId, Timestamp, UserId};
use uuid::Uuid;

use crate::store::db::{Db, DbError, Tx};

const COUNTER: &str = "account_change";
/// Changes read at once.
const PAGE: u64 = 1000;
/// How long changes are kept, in ms; a process that was away for longer starts with nothing to forget.
const KEEP_MS: i64 = 3_600_000;

/// What happened to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountChange {
    /// Its place in the feed.
    pub(crate) seq: i64,
    /// The account.
    pub(crate) user_id: UserId,
    /// The session that ended; none when it is about the account.
    pub(crate) session_id: Option<SessionId>,
    /// Whether all sessions of the account ended.
    pub(crate) ended: bool,
}

/// Adds a change, as the last statement of its transaction: others wait for the counter's row until the commit.
pub(crate) async fn record(
    tx: &mut Tx,
    user_id: UserId,
    session_id: Option<SessionId>,
    ended: bool,
    now: Timestamp,
) -> Result<(), DbError> {
    let sql = "insert into meta (name, value) values ($1, '1') \
               on conflict (name) do update set value = cast(cast(meta.value as bigint) + 1 as text) returning value";
    let (seq,): (String,) = tx.query(sql).bind(COUNTER).one().await?;
    let sql = "insert into account_change (seq, user_id, session_id, ended, created_at) values ($1, $2, $3, $4, $5)";
    let seq: i64 = seq.parse().unwrap_or(0);
    tx.query(sql).bind(seq).bind(user_id).bind(session_id).bind(ended).bind(now).execute().await?;
    tx.query("delete from account_change where created_at < $1").bind(now.plus_millis(-KEEP_MS)).execute().await?;
    Ok(())
}

/// The end of the feed.
pub(crate) async fn head(db: &Db) -> Result<i64, DbError> {
    let row: Option<(String,)> = db.read("select value from meta where name = $1").bind(COUNTER).optional().await?;
    Ok(row.and_then(|(seq,)| seq.parse().ok()).unwrap_or(0))
}

/// Changes behind a place, oldest first.
pub(crate) async fn after(db: &Db, seq: i64) -> Result<Vec<AccountChange>, DbError> {
    let sql = "select seq, user_id, session_id, ended from account_change where seq > $1 order by seq limit $2";
    let rows: Vec<(i64, Uuid, Option<Uuid>, bool)> = db.read(sql).bind(seq).bind(PAGE).all().await?;
    let change = |(seq, user_id, session_id, ended): (i64, Uuid, Option<Uuid>, bool)| AccountChange {
        seq,
        user_id: UserId::from_uuid(user_id),
        session_id: session_id.map(SessionId::from_uuid),
        ended,
    };
    Ok(rows.into_iter().map(change).collect())
}
