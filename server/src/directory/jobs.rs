//! Scheduled messages and reminders: the rows are the truth of when something is to happen, and whether it did.
//!
//! A claim is a lease with a mark of its own. Whatever ends a job, or lets it go, names the mark: who lost the claim
//! changes nothing any more.

use std::{collections::HashSet, fmt, str::FromStr};

use parlour_protocol::{
    InvalidValue, JobId, Nonce, ProtocolError, RoomId, RowKey, Timestamp, UserId,
    object::{Job, JobError, JobPayload, JobState},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::store::{
    JobClaim, StoreError,
    db::{Db, DbError, Tx, list},
};

/// How long a claim holds, in ms.
pub(crate) const LEASE_MS: i64 = 60_000;
/// Rows that are done and removed at once.
const CLEARED: i64 = 1000;

/// A job as it is stored.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct StoredJob {
    job_id: Uuid,
    user_id: Uuid,
    room_id: Uuid,
    payload: String,
    run_at: i64,
    due_at: Option<i64>,
    claimed_until: Option<i64>,
    attempts: i64,
    failed_at: Option<i64>,
    error_code: Option<String>,
    error_message: Option<String>,
    completed_at: Option<i64>,
    cancelled_at: Option<i64>,
    tick: Option<i64>,
    sent_nonce: Option<String>,
    created_at: i64,
    updated_at: i64,
}

const COLUMNS: &str = "job_id, user_id, room_id, payload, run_at, due_at, claimed_until, attempts, failed_at, \
    error_code, error_message, completed_at, cancelled_at, tick, sent_nonce, created_at, updated_at";

impl StoredJob {
    pub(crate) fn job_id(&self) -> JobId {
        JobId::from_uuid(self.job_id)
    }

    pub(crate) fn user_id(&self) -> UserId {
        UserId::from_uuid(self.user_id)
    }

    pub(crate) fn room_id(&self) -> RoomId {
        RoomId::from_uuid(self.room_id)
    }

    /// When a worker is to look at it.
    pub(crate) fn due_at(&self) -> Option<Timestamp> {
        self.due_at.map(Timestamp::from_millis)
    }

    /// Tries so far.
    pub(crate) fn attempts(&self) -> u32 {
        u32::try_from(self.attempts).unwrap_or(u32::MAX)
    }

    /// Where it stands at `now`.
    pub(crate) fn state(&self, now: Timestamp) -> JobState {
        let is_claimed = self.claimed_until.is_some_and(|until| until > now.as_millis());
        match (self.completed_at, self.cancelled_at) {
            (Some(_), _) => JobState::Completed,
            (_, Some(_)) => JobState::Cancelled,
            _ if is_claimed => JobState::Claimed,
            _ => JobState::Active,
        }
    }

    /// Whether the command with this nonce had it sent.
    pub(crate) fn was_sent_by(&self, nonce: Option<&Nonce>) -> bool {
        nonce.is_some_and(|nonce| self.sent_nonce.as_deref() == Some(nonce.as_str()))
    }

    /// What clients see of it at `now`.
    ///
    /// # Errors
    /// When its payload is none.
    pub(crate) fn job(&self, now: Timestamp) -> Result<Job, StoreError> {
        let payload: JobPayload = serde_json::from_str(&self.payload).map_err(|error| {
            StoreError::Internal(format!("job {} holds a payload that is none: {error}", self.job_id).into())
        })?;
        let message = self.error_message.clone().unwrap_or_default();
        let last_error = self.error_code.clone().map(|code| JobError { code, message });
        let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
        Ok(Job {
            job_id: self.job_id(),
            user_id: self.user_id(),
            room_id: self.room_id(),
            payload,
            run_at: Timestamp::from_millis(self.run_at),
            state: self.state(now),
            attempts: self.attempts(),
            failed_at: time(self.failed_at),
            last_error,
            completed_at: time(self.completed_at),
            cancelled_at: time(self.cancelled_at),
            row_key: self.tick.map(RowKey::from_tick),
            created_at: time(Some(self.created_at)),
            updated_at: time(Some(self.updated_at)),
        })
    }
}

/// Why no job was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateJobError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    /// The user has as many as one may have.
    #[error("too many jobs")]
    TooMany,
    /// The job that it takes the place of is claimed or done.
    #[error("the job is not active")]
    NotActive,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DbError> for CreateJobError {
    fn from(error: DbError) -> Self {
        Self::Store(error.into())
    }
}

/// Makes a job, unless its owner has `most` active ones.
pub(crate) async fn create(db: &Db, job: &Job, most: u32, first: Option<FirstResult>) -> Result<(), CreateJobError> {
    let mut tx = db.begin().await?;
    remember(&mut tx, first).await?;
    // Two of one user wait for each other here.
    let lock = "update account set is_disabled = is_disabled where user_id = $1";
    tx.query(lock).bind(job.user_id).execute().await?;
    let sql = "select count(*) from job where user_id = $1 and completed_at is null and cancelled_at is null";
    let (active,): (i64,) = tx.query(sql).bind(job.user_id).one().await?;
    if active >= i64::from(most) {
        return Err(CreateJobError::TooMany);
    }
    insert(&mut tx, job).await?;
    Ok(tx.commit().await?)
}

/// Makes a job in place of another one, which is cancelled in the same commit; the cancelled one.
pub(crate) async fn replace(
    db: &Db,
    old: JobId,
    job: &Job,
    now: Timestamp,
    first: Option<FirstResult>,
) -> Result<StoredJob, CreateJobError> {
    let mut tx = db.begin().await?;
    remember(&mut tx, first).await?;
    let sql = format!("{CANCEL} returning {COLUMNS}");
    let query = tx.query(AssertSqlSafe(sql)).bind(old).bind(job.user_id).bind(now);
    let cancelled = query.optional::<StoredJob>().await?.ok_or(CreateJobError::NotActive)?;
    insert(&mut tx, job).await?;
    tx.commit().await?;
    Ok(cancelled)
}

async fn remember(tx: &mut Tx, first: Option<FirstResult>) -> Result<(), CreateJobError> {
    nonces::remember(tx, first).await.map_err(|error| match error {
        DbError::Unique => CreateJobError::Repeat,
        error => error.into(),
    })
}

async fn insert(tx: &mut Tx, job: &Job) -> Result<(), DbError> {
    tx.query(
        "insert into job (job_id, user_id, room_id, payload, run_at, due_at, attempts, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, 0, $7, $8)",
    )
    .bind(job.job_id)
    .bind(job.user_id)
    .bind(job.room_id)
    .bind(serde_json::to_string(&job.payload).expect("a payload encodes"))
    .bind(job.run_at)
    .bind(job.run_at)
    .bind(job.created_at)
    .bind(job.updated_at)
    .execute()
    .await?;
    Ok(())
}

/// A job.
pub(crate) async fn find(db: &Db, job_id: JobId) -> Result<Option<StoredJob>, StoreError> {
    let sql = format!("select {COLUMNS} from job where job_id = $1");
    Ok(db.read(AssertSqlSafe(sql)).bind(job_id).optional().await?)
}

/// Of a job that is neither done nor cancelled, without a claim or with one whose lease has ended.
const CANCEL: &str = "update job set cancelled_at = $3, updated_at = $3, due_at = null, claim = null, \
    claimed_until = null where job_id = $1 and user_id = $2 and completed_at is null and cancelled_at is null \
    and (claimed_until is null or claimed_until <= $3)";

/// Cancels a user's unclaimed job; none when it is not one.
pub(crate) async fn cancel(
    db: &Db,
    job_id: JobId,
    user_id: UserId,
    now: Timestamp,
) -> Result<Option<StoredJob>, StoreError> {
    let sql = format!("{CANCEL} returning {COLUMNS}");
    Ok(db.write(AssertSqlSafe(sql)).bind(job_id).bind(user_id).bind(now).optional().await?)
}

/// Claims a user's unclaimed job before its time, for the command with this nonce; none when it is not one.
///
/// A claim that is left behind leaves the job as it was: due at its time.
pub(crate) async fn claim_early(
    db: &Db,
    claim: JobClaim,
    user_id: UserId,
    nonce: Option<&Nonce>,
    now: Timestamp,
) -> Result<Option<StoredJob>, StoreError> {
    let sql = format!(
        "update job set claim = $3, claimed_until = $4, due_at = case when due_at < $4 then $4 else due_at end, \
         attempts = attempts + 1, sent_nonce = $5 where job_id = $1 and user_id = $2 \
         and completed_at is null and cancelled_at is null and (claimed_until is null or claimed_until <= $6) \
         returning {COLUMNS}"
    );
    let query = db.write(AssertSqlSafe(sql)).bind(claim.job_id).bind(user_id).bind(claim.mark);
    let query = query.bind(now.plus_millis(LEASE_MS)).bind(nonce.map(Nonce::as_str)).bind(now);
    Ok(query.optional().await?)
}

/// A due job, and whether its owner's account is disabled or gone.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct DueJob {
    #[sqlx(flatten)]
    pub(crate) stored: StoredJob,
    pub(crate) is_silenced: bool,
}

const DUE: &str = "select j.job_id, j.user_id, j.room_id, j.payload, j.run_at, j.due_at, j.claimed_until, \
    j.attempts, j.failed_at, j.error_code, j.error_message, j.completed_at, j.cancelled_at, j.tick, j.sent_nonce, \
    j.created_at, j.updated_at, (a.is_disabled or a.is_deleted) as is_silenced \
    from job j join account a on a.user_id = j.user_id";

/// Jobs that are due, the longest waiting first.
pub(crate) async fn due(db: &Db, now: Timestamp, most: usize) -> Result<Vec<DueJob>, StoreError> {
    let sql = format!("{DUE} where j.due_at <= $1 order by j.due_at limit $2");
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(db.read(AssertSqlSafe(sql)).bind(now).bind(most).all().await?)
}

/// A job, if it is due.
pub(crate) async fn one_due(db: &Db, job_id: JobId, now: Timestamp) -> Result<Option<DueJob>, StoreError> {
    let sql = format!("{DUE} where j.job_id = $1 and j.due_at <= $2");
    Ok(db.read(AssertSqlSafe(sql)).bind(job_id).bind(now).optional().await?)
}

/// Claims those of the jobs that are still due, all with one mark.
pub(crate) async fn claim_due(
    db: &Db,
    job_ids: &[JobId],
    mark: Uuid,
    now: Timestamp,
) -> Result<HashSet<JobId>, StoreError> {
    if job_ids.is_empty() {
        return Ok(HashSet::new());
    }
    let sql = format!(
        "update job set claim = $1, claimed_until = $2, due_at = $2, attempts = attempts + 1 \
         where due_at <= $3 and (claimed_until is null or claimed_until <= $3) and completed_at is null \
         and cancelled_at is null and job_id in {} returning job_id",
        list(4, job_ids.len())
    );
    let query = db.write(AssertSqlSafe(sql)).bind(mark).bind(now.plus_millis(LEASE_MS)).bind(now);
    let rows: Vec<(Uuid,)> = query.bind_list(job_ids).all().await?;
    Ok(rows.into_iter().map(|(job_id,)| JobId::from_uuid(job_id)).collect())
}

const COMPLETE: &str = "update job set completed_at = $1, updated_at = $1, tick = $2, due_at = null, claim = null, \
    claimed_until = null, failed_at = null, error_code = null, error_message = null";

/// Completes a claimed job; whether the claim still stood.
pub(crate) async fn complete(
    db: &Db,
    claim: JobClaim,
    now: Timestamp,
    posted: Option<RowKey>,
) -> Result<bool, StoreError> {
    let sql = format!("{COMPLETE} where job_id = $3 and claim = $4 and completed_at is null and cancelled_at is null");
    let query = db.write(AssertSqlSafe(sql)).bind(now).bind(posted).bind(claim.job_id).bind(claim.mark);
    Ok(query.execute().await? > 0)
}

/// Completes a job whose message is known to be posted, whoever claims it.
pub(crate) async fn complete_posted(db: &Db, job_id: JobId, now: Timestamp, posted: RowKey) -> Result<(), StoreError> {
    let sql = format!("{COMPLETE} where job_id = $3 and completed_at is null and cancelled_at is null");
    db.write(AssertSqlSafe(sql)).bind(now).bind(posted).bind(job_id).execute().await?;
    Ok(())
}

/// Completes claimed reminders in a transaction; those whose claim still stood.
pub(crate) async fn complete_reminders(
    tx: &mut Tx,
    job_ids: &[JobId],
    mark: Uuid,
    now: Timestamp,
) -> Result<HashSet<JobId>, DbError> {
    let sql = format!(
        "{COMPLETE} where claim = $3 and completed_at is null and cancelled_at is null and job_id in {} \
         returning job_id",
        list(4, job_ids.len())
    );
    let query = tx.query(AssertSqlSafe(sql)).bind(now).bind(None::<RowKey>).bind(mark).bind_list(job_ids);
    let rows: Vec<(Uuid,)> = query.all().await?;
    Ok(rows.into_iter().map(|(job_id,)| JobId::from_uuid(job_id)).collect())
}

/// Cancels a claimed job that the word filter stopped, if that did not happen with its action.
pub(crate) async fn cancel_claimed(
    db: &Db,
    claim: JobClaim,
    now: Timestamp,
    error: &ProtocolError,
) -> Result<(), StoreError> {
    let sql = "update job set cancelled_at = $3, updated_at = $3, due_at = null, claim = null, claimed_until = null, \
        error_code = $4, error_message = $5 \
        where job_id = $1 and claim = $2 and completed_at is null and cancelled_at is null";
    let query = db.write(sql).bind(claim.job_id).bind(claim.mark).bind(now);
    query.bind(error.code.as_str()).bind(&error.message).execute().await?;
    Ok(())
}

/// How a claim on a job is let go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release<'a> {
    /// When a worker looks at it again; never, when none.
    pub(crate) due_at: Option<Timestamp>,
    /// Tries so far.
    pub(crate) attempts: u32,
    /// Why, when somebody is to know.
    pub(crate) error: Option<&'a ProtocolError>,
    /// Since when it is given up.
    pub(crate) failed_at: Option<Timestamp>,
}

/// Lets a claim go; the job, if the claim still stood.
pub(crate) async fn release(
    db: &Db,
    claim: JobClaim,
    now: Timestamp,
    release: Release<'_>,
) -> Result<Option<StoredJob>, StoreError> {
    let sql = format!(
        "update job set claim = null, claimed_until = null, sent_nonce = null, due_at = $3, attempts = $4, \
         failed_at = coalesce($5, failed_at), error_code = coalesce($6, error_code), \
         error_message = coalesce($7, error_message), updated_at = $8 \
         where job_id = $1 and claim = $2 and completed_at is null and cancelled_at is null returning {COLUMNS}"
    );
    let query = db.write(AssertSqlSafe(sql)).bind(claim.job_id).bind(claim.mark).bind(release.due_at);
    let query = query.bind(release.attempts).bind(release.failed_at);
    let query = query.bind(release.error.map(|error| error.code.as_str()));
    Ok(query.bind(release.error.map(|error| error.message.as_str())).bind(now).optional().await?)
}

/// Puts off a due job that cannot be claimed, its payload being none.
pub(crate) async fn put_off(
    db: &Db,
    job: &StoredJob,
    now: Timestamp,
    due_at: Option<Timestamp>,
    error: &ProtocolError,
) -> Result<(), StoreError> {
    let sql = "update job set attempts = attempts + 1, due_at = $2, failed_at = $3, error_code = $4, \
        error_message = $5, updated_at = $6 where job_id = $1 and due_at <= $6";
    let failed_at = due_at.is_none().then_some(now);
    let query = db.write(sql).bind(job.job_id()).bind(due_at).bind(failed_at).bind(error.code.as_str());
    query.bind(&error.message).bind(now).execute().await?;
    Ok(())
}

/// When the next job is due.
pub(crate) async fn next_due(db: &Db) -> Result<Option<Timestamp>, StoreError> {
    let (next,): (Option<i64>,) = db.read("select min(due_at) from job where due_at is not null").one().await?;
    Ok(next.map(Timestamp::from_millis))
}

/// How many jobs are due.
pub(crate) async fn count_due(db: &Db, now: Timestamp) -> Result<i64, StoreError> {
    let (due,): (i64,) = db.read("select count(*) from job where due_at <= $1").bind(now).one().await?;
    Ok(due)
}

/// How many active jobs a user has.
pub(crate) async fn count_of(db: &Db, user_id: UserId) -> Result<u64, StoreError> {
    let sql = "select count(*) from job where user_id = $1 and completed_at is null and cancelled_at is null";
    let (count,): (i64,) = db.read(sql).bind(user_id).one().await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A job's place in lists: the next one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobPosition {
    run_at: Timestamp,
    job_id: JobId,
}

impl JobPosition {
    pub(crate) fn of(job: &Job) -> Self {
        Self { run_at: job.run_at, job_id: job.job_id }
    }
}

impl fmt::Display for JobPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.run_at.as_millis(), self.job_id)
    }
}

impl FromStr for JobPosition {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (run_at, job_id) = text.split_once(' ').unwrap_or_default();
        Ok(Self { run_at: Timestamp::from_millis(run_at.parse().unwrap_or(0)), job_id: job_id.parse()? })
    }
}

/// A page of a user's active jobs, of one room or of all, the next one first.
pub(crate) async fn page(
    db: &Db,
    user_id: UserId,
    room_id: Option<RoomId>,
    after: Option<JobPosition>,
    limit: usize,
) -> Result<Vec<StoredJob>, StoreError> {
    let sql = format!(
        "select {COLUMNS} from job where user_id = $1 and completed_at is null and cancelled_at is null \
         and ($2 or room_id = $3) and ($4 or run_at > $5 or (run_at = $5 and job_id > $6)) \
         order by run_at, job_id limit $7"
    );
    Ok(db
        .read(AssertSqlSafe(sql))
        .bind(user_id)
        .bind(room_id.is_none())
        .bind(room_id.map_or(Uuid::nil(), RoomId::uuid))
        .bind(after.is_none())
        .bind(after.map_or(Timestamp::from_millis(0), |after| after.run_at))
        .bind(after.map_or(Uuid::nil(), |after| after.job_id.uuid()))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all()
        .await?)
}

/// When a member last wrote in a room.
pub(crate) async fn last_message_at(
    db: &Db,
    room_id: RoomId,
    user_id: UserId,
) -> Result<Option<Timestamp>, StoreError> {
    let sql = "select last_message_at from member where room_id = $1 and user_id = $2";
    let row: Option<(Option<i64>,)> = db.read(sql).bind(room_id).bind(user_id).optional().await?;
    Ok(row.and_then(|(at,)| at).map(Timestamp::from_millis))
}

/// Removes all jobs of a user.
pub(crate) async fn forget(db: &Db, user_id: UserId) -> Result<(), StoreError> {
    db.write("delete from job where user_id = $1").bind(user_id).execute().await?;
    Ok(())
}

/// Removes some of the jobs that were done before `before`.
pub(crate) async fn clear(db: &Db, before: Timestamp) -> Result<(), StoreError> {
    let sql = "select job_id from job where due_at is null and updated_at < $1 \
        and (completed_at is not null or cancelled_at is not null) limit $2";
    let rows: Vec<(Uuid,)> = db.read(sql).bind(before).bind(CLEARED).all().await?;
    if rows.is_empty() {
        return Ok(());
    }
    let job_ids: Vec<Uuid> = rows.iter().map(|(job_id,)| *job_id).collect();
    let sql = format!("delete from job where job_id in {}", list(1, job_ids.len()));
    db.write(AssertSqlSafe(sql)).bind_list(&job_ids).execute().await?;
    Ok(())
}
