//! Jobs whose messages are posted: they end in the same commit.

use std::collections::HashMap;

use parlour_protocol::{ErrorCode, JobId, Timestamp};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::statement::Rows;
use crate::store::{
    JobClaim,
    db::{DbError, Tx, list},
};

/// A job whose message has its place.
pub(super) struct PostedJob {
    pub(super) job_id: JobId,
    pub(super) tick: i64,
}

pub(super) static JOBS: Rows = Rows {
    names: "job_id, tick, at",
    statement: "update job set completed_at = v.at, updated_at = v.at, tick = v.tick, due_at = null, claim = null, \
         claimed_until = null, failed_at = null, error_code = null, error_message = null from v \
         where job.job_id = v.job_id",
    for_one: None,
};

/// The claims on these jobs, which stay as they are until the commit.
pub(super) async fn claims(tx: &mut Tx, job_ids: &[JobId]) -> Result<HashMap<JobId, Uuid>, DbError> {
    let lock = if matches!(tx, Tx::Postgres(_)) { "for update" } else { "" };
    let sql = format!(
        "select job_id, claim from job where job_id in {} and claim is not null \
         and completed_at is null and cancelled_at is null order by job_id {lock}",
        list(1, job_ids.len())
    );
    let rows: Vec<(Uuid, Uuid)> = tx.query(AssertSqlSafe(sql)).bind_list(job_ids).all().await?;
    Ok(rows.into_iter().map(|(job_id, mark)| (JobId::from_uuid(job_id), mark)).collect())
}

/// Cancels a job that the word filter stops; whether the claim on it still stood.
pub(super) async fn cancel(tx: &mut Tx, job: JobClaim, now: Timestamp) -> Result<bool, DbError> {
    let sql = "update job set cancelled_at = $3, updated_at = $3, due_at = null, claim = null, claimed_until = null, \
        error_code = $4, error_message = $5 \
        where job_id = $1 and claim = $2 and completed_at is null and cancelled_at is null";
    let error = crate::filter::automod::word_filtered();
    let query = tx.query(sql).bind(job.job_id).bind(job.mark).bind(now).bind(ErrorCode::WordFiltered.as_str());
    Ok(query.bind(error.message).execute().await? > 0)
}
