//! Presence overrides and custom statuses.

use std::collections::HashMap;

use parlour_protocol::{Timestamp, UserId, object::PresenceStatus};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::{
    StoreError,
    db::{Db, DbError, list},
};

/// What a user has set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StoredStatus {
    /// The override; none = by connection.
    pub(crate) status: Option<PresenceStatus>,
    /// Custom status.
    pub(crate) message: String,
    /// When the override ends.
    pub(crate) expires_at: Option<Timestamp>,
}

impl StoredStatus {
    /// As it is at `now`: an override that has ended is none.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        match self.expires_at {
            Some(expires_at) if expires_at <= now => Self { status: None, expires_at: None, ..self },
            _ => self,
        }
    }
}

type StatusRow = (Uuid, Option<String>, String, Option<i64>);

/// What users have set; those who have set nothing are left out.
pub(crate) async fn of(
    db: &Db,
    user_ids: &[UserId],
    now: Timestamp,
) -> Result<HashMap<UserId, StoredStatus>, StoreError> {
    let sql = format!(
        "select user_id, status, message, expires_at from user_status where user_id in {}",
        list(1, user_ids.len())
    );
    let rows: Vec<StatusRow> = db.read(AssertSqlSafe(sql)).bind_list(user_ids).all().await?;
    Ok(rows.into_iter().map(stored).map(|(user_id, stored)| (user_id, stored.at(now))).collect())
}

fn stored((user_id, status, message, expires_at): StatusRow) -> (UserId, StoredStatus) {
    let status = status.and_then(|status| status.parse().ok());
    let expires_at = expires_at.map(Timestamp::from_millis);
    (UserId::from_uuid(user_id), StoredStatus { status, message, expires_at })
}

/// Changes what a user has set, in one transaction; before and after.
pub(crate) async fn change(
    db: &Db,
    user_id: UserId,
    now: Timestamp,
    change: impl FnOnce(StoredStatus) -> StoredStatus,
) -> Result<(StoredStatus, StoredStatus), DbError> {
    let mut tx = db.begin().await?;
    // Another change of the same user waits here.
    tx.query("update account set is_deleted = is_deleted where user_id = $1").bind(user_id).execute().await?;
    let sql = "select user_id, status, message, expires_at from user_status where user_id = $1";
    let row: Option<StatusRow> = tx.query(sql).bind(user_id).optional().await?;
    let before = row.map(|row| stored(row).1).unwrap_or_default().at(now);
    let after = change(before.clone());
    if after != before {
        tx.query(
            "insert into user_status (user_id, status, message, expires_at) values ($1, $2, $3, $4) \
             on conflict (user_id) do update set status = excluded.status, message = excluded.message, \
             expires_at = excluded.expires_at",
        )
        .bind(user_id)
        .bind(after.status.map(PresenceStatus::as_str))
        .bind(&after.message)
        .bind(after.expires_at)
        .execute()
        .await?;
    }
    tx.commit().await?;
    Ok((before, after))
}

/// When the next override ends.
pub(crate) async fn next_expiry(db: &Db) -> Result<Option<Timestamp>, StoreError> {
    let (next,): (Option<i64>,) =
        db.read("select min(expires_at) from user_status where expires_at is not null").one().await?;
    Ok(next.map(Timestamp::from_millis))
}

/// Takes away overrides that have ended; whose they were.
pub(crate) async fn expire(db: &Db, now: Timestamp) -> Result<Vec<UserId>, StoreError> {
    let sql = "update user_status set status = null, expires_at = null where expires_at <= $1 returning user_id";
    let rows: Vec<(Uuid,)> = db.write(sql).bind(now).all().await?;
    Ok(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)).collect())
}
