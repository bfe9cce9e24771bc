//! Web push addresses in the database.

use parlour_protocol::{SessionId, Timestamp, UserId, object::PushSubscription};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::account_changes;
use crate::store::{
    StoreError,
    db::{Db, DbError, list},
};

/// An address to be kept.
#[derive(Debug)]
pub(crate) struct NewSubscription {
    pub(crate) user_id: UserId,
    /// The log-in that gave it.
    pub(crate) session_id: SessionId,
    pub(crate) endpoint: String,
    pub(crate) p256dh: Vec<u8>,
    pub(crate) auth: Vec<u8>,
    pub(crate) expires_at: Option<Timestamp>,
}

/// A place that pushes go to, with the keys that it reads them by.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) endpoint: String,
    pub(crate) p256dh: Vec<u8>,
    pub(crate) auth: Vec<u8>,
}

/// What is needed of a session for its addresses to count.
const LIVE: &str = "s.ended_at is null and s.expires_at > $1 and (p.expires_at is null or p.expires_at > $1)";

/// Keeps an address, in place of what was known of it; none when the user has as many as they may.
pub(crate) async fn put(
    db: &Db,
    new: NewSubscription,
    most: u32,
    now: Timestamp,
) -> Result<Option<PushSubscription>, DbError> {
    let NewSubscription { user_id, session_id, endpoint, p256dh, auth, expires_at } = new;
    let mut tx = db.begin().await?;
    // Another change of the same user waits here.
    tx.query("update account set is_deleted = is_deleted where user_id = $1").bind(user_id).execute().await?;
    let sql = "select count(*) from push_subscription where user_id = $1 and endpoint <> $2";
    let (others,): (i64,) = tx.query(sql).bind(user_id).bind(&endpoint).one().await?;
    if others >= i64::from(most) {
        return Ok(None);
    }
    let (created_at,): (i64,) = tx
        .query(
            "insert into push_subscription (subscription_id, user_id, session_id, endpoint, p256dh, auth, \
             expires_at, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8) \
             on conflict (user_id, endpoint) do update set session_id = excluded.session_id, \
             p256dh = excluded.p256dh, auth = excluded.auth, expires_at = excluded.expires_at returning created_at",
        )
        .bind(Uuid::now_v7())
        .bind(user_id)
        .bind(session_id)
        .bind(&endpoint)
        .bind(p256dh)
        .bind(auth)
        .bind(expires_at)
        .bind(now)
        .one()
        .await?;
    // Other nodes have to note from now on what somebody may be told.
    account_changes::record(&mut tx, user_id, None, false, now).await?;
    tx.commit().await?;
    Ok(Some(PushSubscription { endpoint, created_at: Timestamp::from_millis(created_at), expiration_time: expires_at }))
}

/// Forgets an address; false when it is not known.
pub(crate) async fn remove(db: &Db, user_id: UserId, endpoint: &str) -> Result<bool, DbError> {
    let sql = "delete from push_subscription where user_id = $1 and endpoint = $2";
    Ok(db.write(sql).bind(user_id).bind(endpoint).execute().await? > 0)
}

/// The addresses of a user, newest first.
pub(crate) async fn of_user(db: &Db, user_id: UserId, now: Timestamp) -> Result<Vec<PushSubscription>, StoreError> {
    let sql = format!(
        "select p.endpoint, p.created_at, p.expires_at from push_subscription p \
         join session s on s.session_id = p.session_id where {LIVE} and p.user_id = $2 \
         order by p.created_at desc, p.subscription_id"
    );
    let rows: Vec<(String, i64, Option<i64>)> = db.read(AssertSqlSafe(sql)).bind(now).bind(user_id).all().await?;
    let subscription = |(endpoint, created_at, expires_at): (String, i64, Option<i64>)| PushSubscription {
        endpoint,
        created_at: Timestamp::from_millis(created_at),
        expiration_time: expires_at.map(Timestamp::from_millis),
    };
    Ok(rows.into_iter().map(subscription).collect())
}

/// Whether there is any address at all.
pub(crate) async fn any(db: &Db) -> Result<bool, StoreError> {
    let row: Option<(i64,)> = db.read("select created_at from push_subscription limit 1").optional().await?;
    Ok(row.is_some())
}

/// The addresses of users, each with its id.
pub(crate) async fn of_users(db: &Db, user_ids: &[UserId], now: Timestamp) -> Result<Vec<(UserId, Uuid)>, StoreError> {
    let mut found = Vec::new();
    for user_ids in user_ids.chunks(256) {
        let sql = format!(
            "select p.user_id, p.subscription_id from push_subscription p \
             join session s on s.session_id = p.session_id where {LIVE} and p.user_id in {}",
            list(2, user_ids.len())
        );
        let rows: Vec<(Uuid, Uuid)> = db.read(AssertSqlSafe(sql)).bind(now).bind_list(user_ids).all().await?;
        found.extend(rows.into_iter().map(|(user_id, id)| (UserId::from_uuid(user_id), id)));
    }
    Ok(found)
}

/// Forgets addresses whose time is over, and those of sessions whose time is.
pub(crate) async fn remove_expired(db: &Db, now: Timestamp) -> Result<(), DbError> {
    let sql = "delete from push_subscription where subscription_id in (select p.subscription_id \
        from push_subscription p join session s on s.session_id = p.session_id \
        where p.expires_at <= $1 or s.expires_at <= $1 or s.ended_at is not null)";
    db.write(sql).bind(now).execute().await?;
    Ok(())
}
