//! Sessions and their tokens in the database. Tokens are stored hashed.

use parlour_protocol::{
    SessionId, Timestamp, UserId,
    object::{Session, SessionClient},
};
use uuid::Uuid;

use super::account_changes;
use crate::{
    accounts::{caller::Principal, tokens::TokenHash},
    store::db::{Db, DbError, Tx},
};

/// How long the end of a foreign session is remembered, in ms: its tokens cannot be taken back.
const KEEP_ENDED_MS: i64 = 30 * 86_400_000;

/// A session to be made.
#[derive(Debug)]
pub(crate) struct NewSession<'a> {
    /// Its id.
    pub(crate) session_id: SessionId,
    /// Whose.
    pub(crate) user_id: UserId,
    /// Where from.
    pub(crate) address: &'a str,
    /// When it is made.
    pub(crate) now: Timestamp,
    /// When it ends.
    pub(crate) expires_at: Timestamp,
}

/// Makes a session without a token.
pub(crate) async fn insert(tx: &mut Tx, session: &NewSession<'_>) -> Result<(), DbError> {
    let sql = "insert into session (session_id, user_id, client_name, client_version, address, created_at, \
               last_seen_at, expires_at) values ($1, $2, '', '', $3, $4, $4, $5)";
    tx.query(sql)
        .bind(session.session_id)
        .bind(session.user_id)
        .bind(session.address)
        .bind(session.now)
        .bind(session.expires_at)
        .execute()
        .await?;
    Ok(())
}

/// Adds a token to a session.
pub(crate) async fn insert_token(
    tx: &mut Tx,
    session_id: SessionId,
    token: &TokenHash,
    expires_at: Timestamp,
) -> Result<(), DbError> {
    let sql = "insert into session_token (token_hash, session_id, expires_at) values ($1, $2, $3)";
    tx.query(sql).bind(token.as_slice()).bind(session_id).bind(expires_at).execute().await?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct PrincipalRow {
    session_id: Uuid,
    user_id: Uuid,
    expires_at: i64,
    is_operator: bool,
    is_foreign: bool,
}

impl From<PrincipalRow> for Principal {
    fn from(row: PrincipalRow) -> Self {
        Self {
            user_id: UserId::from_uuid(row.user_id),
            session_id: SessionId::from_uuid(row.session_id),
            expires_at: Timestamp::from_millis(row.expires_at),
            is_operator: row.is_operator,
            is_foreign: row.is_foreign,
            checked_at: 0,
        }
    }
}

/// Who a token stands for; none when it is unknown, expired, or its account may not log in.
pub(crate) async fn principal(db: &Db, token: &TokenHash, now: Timestamp) -> Result<Option<Principal>, DbError> {
    let sql = "select s.session_id, s.user_id, t.expires_at, a.is_operator, a.issuer is not null as is_foreign \
               from session_token t join session s on s.session_id = t.session_id \
               join account a on a.user_id = s.user_id \
               where t.token_hash = $1 and t.expires_at > $2 and s.ended_at is null \
               and not a.is_disabled and not a.is_deleted";
    let row: Option<PrincipalRow> = db.read(sql).bind(token.as_slice()).bind(now).optional().await?;
    Ok(row.map(Principal::from))
}

/// Whether a session may be used.
pub(crate) async fn is_live(db: &Db, user_id: UserId, session_id: SessionId) -> Result<bool, DbError> {
    Ok(state(db, user_id, session_id).await? == SessionState::Live)
}

/// What is known of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// Not seen yet.
    Unknown,
    /// May be used.
    Live,
    /// Ended here, or its account may not log in.
    Ended,
}

/// The state of a session; an unknown one may be an identity provider's that comes for the first time.
pub(crate) async fn state(db: &Db, user_id: UserId, session_id: SessionId) -> Result<SessionState, DbError> {
    let sql = "select a.is_disabled or a.is_deleted as ended, s.ended_at, s.session_id from account a \
               left join session s on s.user_id = a.user_id and s.session_id = $2 where a.user_id = $1";
    let row: Option<(bool, Option<i64>, Option<Uuid>)> = db.read(sql).bind(user_id).bind(session_id).optional().await?;
    Ok(match row {
        Some((true, _, _) | (_, Some(_), _)) => SessionState::Ended,
        Some((false, None, Some(_))) => SessionState::Live,
        Some((false, None, None)) | None => SessionState::Unknown,
    })
}

/// Sessions of an account, the latest first.
pub(crate) async fn list(
    db: &Db,
    user_id: UserId,
    current: SessionId,
    now: Timestamp,
) -> Result<Vec<Session>, DbError> {
    #[derive(sqlx::FromRow)]
    struct SessionRow {
        session_id: Uuid,
        client_name: String,
        client_version: String,
        address: String,
        created_at: i64,
        last_seen_at: i64,
        expires_at: i64,
    }

    let sql = "select session_id, client_name, client_version, address, created_at, last_seen_at, expires_at \
               from session where user_id = $1 and ended_at is null and expires_at > $2 \
               order by created_at desc, session_id limit 1000";
    let rows: Vec<SessionRow> = db.read(sql).bind(user_id).bind(now).all().await?;
    let session = |row: SessionRow| Session {
        session_id: SessionId::from_uuid(row.session_id),
        client: (!row.client_name.is_empty() || !row.client_version.is_empty())
            .then_some(SessionClient { name: row.client_name, version: row.client_version }),
        address: row.address,
        is_current: row.session_id == current.uuid(),
        created_at: Some(Timestamp::from_millis(row.created_at)),
        last_seen_at: Some(Timestamp::from_millis(row.last_seen_at)),
        expires_at: Some(Timestamp::from_millis(row.expires_at)),
    };
    Ok(rows.into_iter().map(session).collect())
}

/// Gives a session a new token; its other tokens live until `old_until` at most. False when it has ended.
pub(crate) async fn renew(
    db: &Db,
    session_id: SessionId,
    token: &TokenHash,
    (now, old_until, expires_at): (Timestamp, Timestamp, Timestamp),
) -> Result<bool, DbError> {
    let mut tx = db.begin().await?;
    let sql = "update session set expires_at = $2, last_seen_at = $3 where session_id = $1 and ended_at is null";
    if tx.query(sql).bind(session_id).bind(expires_at).bind(now).execute().await? == 0 {
        return Ok(false);
    }
    let sql = "delete from session_token where session_id = $1 and expires_at <= $2";
    tx.query(sql).bind(session_id).bind(now).execute().await?;
    let sql = "update session_token set expires_at = $2 where session_id = $1 and expires_at > $2";
    tx.query(sql).bind(session_id).bind(old_until).execute().await?;
    insert_token(&mut tx, session_id, token, expires_at).await?;
    tx.commit().await?;
    Ok(true)
}

/// Ends a session of a user; false when there is none.
pub(crate) async fn end(db: &Db, user_id: UserId, session_id: SessionId, now: Timestamp) -> Result<bool, DbError> {
    let mut tx = db.begin().await?;
    let ended = end_in(&mut tx, user_id, session_id, now).await?;
    if ended {
        account_changes::record(&mut tx, user_id, Some(session_id), false, now).await?;
        tx.commit().await?;
    }
    Ok(ended)
}

/// Ends all sessions of a user but one; those that ended.
pub(crate) async fn end_others(
    tx: &mut Tx,
    user_id: UserId,
    keep: Option<SessionId>,
    now: Timestamp,
) -> Result<Vec<SessionId>, DbError> {
    let sql = "select session_id from session where user_id = $1 and ended_at is null";
    let rows: Vec<(Uuid,)> = tx.query(sql).bind(user_id).all().await?;
    let sessions: Vec<_> =
        rows.into_iter().map(|(id,)| SessionId::from_uuid(id)).filter(|id| Some(*id) != keep).collect();
    for session_id in &sessions {
        end_in(tx, user_id, *session_id, now).await?;
    }
    for session_id in &sessions {
        account_changes::record(tx, user_id, Some(*session_id), false, now).await?;
    }
    Ok(sessions)
}

async fn end_in(tx: &mut Tx, user_id: UserId, session_id: SessionId, now: Timestamp) -> Result<bool, DbError> {
    let sql = "update session set ended_at = $3 where session_id = $1 and user_id = $2 and ended_at is null";
    let ended = tx.query(sql).bind(session_id).bind(user_id).bind(now).execute().await? == 1;
    tx.query("delete from session_token where session_id = $1").bind(session_id).execute().await?;
    tx.query("delete from push_subscription where session_id = $1").bind(session_id).execute().await?;
    Ok(ended)
}

/// When and by what a session was used last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// The session.
    pub(crate) session_id: SessionId,
    /// The program, when it said so.
    pub(crate) client: Option<(String, String)>,
    /// Where from.
    pub(crate) address: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// Notes sightings, in one transaction.
pub(crate) async fn note_sightings(db: &Db, sightings: &[Sighting]) -> Result<(), DbError> {
    let sql = "update session set last_seen_at = $2, address = $3, client_name = coalesce($4, client_name), \
               client_version = coalesce($5, client_version) where session_id = $1";
    let mut tx = db.begin_late().await?;
    tx.each(sql, sightings, |query, Sighting { session_id, client, address, at }| {
        let (name, version) = client.as_ref().map(|(name, version)| (name.as_str(), version.as_str())).unzip();
        query.bind(*session_id).bind(*at).bind(address).bind(name).bind(version)
    })
    .await?;
    tx.commit().await
}

/// Removes what nobody can use or has to remember any more, at most `limit` sessions; how many.
pub(crate) async fn remove_old(db: &Db, now: Timestamp, limit: u64) -> Result<u64, DbError> {
    let mut tx = db.begin().await?;
    tx.query("delete from session_token where expires_at < $1").bind(now).execute().await?;
    let sql = "delete from session where session_id in (select s.session_id from session s \
               join account a on a.user_id = s.user_id \
               where (s.expires_at < $1 and (s.ended_at is null or a.issuer is null)) \
               or (s.ended_at is not null and a.issuer is null) or (s.ended_at < $2 and s.expires_at < $1) limit $3)";
    let removed = tx.query(sql).bind(now).bind(now.plus_millis(-KEEP_ENDED_MS)).bind(limit).execute().await?;
    tx.commit().await?;
    Ok(removed)
}
