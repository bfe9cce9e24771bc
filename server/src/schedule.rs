//! What is done later: scheduled messages and reminders.
//!
//! | step | where |
//! | --- | --- |
//! | a job is made, listed, changed, taken back, sent at once | one file per operation |
//! | its row says when it is due, who works on it, and how it ended | `directory/jobs.rs` |
//! | somebody calls the worker at that time | [`wake_ups`], `timer.rs`, `service_bus.rs` |
//! | it is claimed, delivered and completed; refused, it is tried again | `worker.rs` |
//!
//! A message is posted exactly once: it is stored in the commit that completes its job, which is refused when the claim
//! was lost. Where that cannot be one commit, the job's id as nonce keeps a second one from being stored.

pub(crate) mod cancel;
pub(crate) mod list;
pub(crate) mod message;
pub(crate) mod metrics;
mod permit;
pub(crate) mod reminder;
pub(crate) mod reschedule;
pub(crate) mod send_now;
#[cfg(feature = "service-bus")]
pub(crate) mod service_bus;
#[cfg(test)]
mod tests;
pub(crate) mod timer;
pub(crate) mod wake_ups;
pub(crate) mod worker;

use std::sync::Arc;

use parlour_protocol::{
    ErrorCode, JobId, Nonce, Operation, ProtocolError, RoomId, Timestamp, UserEvent, UserId,
    event::JobUpdated,
    limits::Limits,
    object::{Job, JobPayload, JobState, Message},
    operation::JobReply,
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    bus::BusEvent,
    directory::{
        jobs::{self, CreateJobError, StoredJob},
        nonces,
    },
    error::{append_error, store_error},
    messages::post::{Author, Content, Draft},
    store::{AppendError, JobClaim, Origin},
};

/// Tells the owner's devices of a job.
fn tell(state: &AppState, job: Job) {
    let user_id = job.user_id;
    let event = UserEvent::JobUpdated(Box::new(JobUpdated { job }));
    state.bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
}

/// A job that nobody has worked on.
pub(crate) fn new_job(user_id: UserId, room_id: RoomId, payload: JobPayload, run_at: Timestamp, now: Timestamp) -> Job {
    Job {
        job_id: JobId::new(),
        user_id,
        room_id,
        payload,
        run_at,
        state: JobState::Active,
        attempts: 0,
        failed_at: None,
        last_error: None,
        completed_at: None,
        cancelled_at: None,
        row_key: None,
        created_at: Some(now),
        updated_at: Some(now),
    }
}

/// When a job that was asked for is to run: a moment ago is now.
///
/// # Errors
/// `bad_request` for what is further away than that.
fn check_run_at(run_at: Timestamp, now: Timestamp, limits: &Limits) -> Result<Timestamp, ProtocolError> {
    let millis = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
    if run_at < now.plus_millis(-millis(limits.job_past_ms)) {
        return Err(ProtocolError::bad_field("/runAt", "is past"));
    }
    if run_at > now.plus_millis(millis(limits.job_horizon_ms)) {
        return Err(ProtocolError::bad_field("/runAt", "is too far ahead"));
    }
    Ok(run_at.max(now))
}

/// The reply to a command that makes a job. When it was made, its owner's devices hear of it, and somebody calls the
/// worker in time.
async fn made<T: Operation<Reply = JobReply>>(
    state: &AppState,
    caller: &Caller,
    data: &T,
    reply: JobReply,
    outcome: Result<(), CreateJobError>,
) -> Result<JobReply, ProtocolError> {
    match outcome {
        Ok(()) => {
            state.wake_ups.schedule(reply.job.job_id, reply.job.run_at);
            tell(state, reply.job.clone());
            Ok(reply)
        }
        Err(CreateJobError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, data).await?;
            first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"))
        }
        Err(CreateJobError::TooMany) => {
            Err(ProtocolError::bad_request("you have as many scheduled jobs as one may have"))
        }
        Err(CreateJobError::NotActive) => Err(taken()),
        Err(CreateJobError::Store(error)) => Err(store_error(error)),
    }
}

/// One's own job, whatever its state.
///
/// # Errors
/// `not_found` alike for unknown ones and those of others.
async fn own(state: &AppState, caller: &Caller, job_id: JobId) -> Result<StoredJob, ProtocolError> {
    let job = jobs::find(&state.db, job_id).await.map_err(store_error)?;
    job.filter(|job| job.user_id() == caller.user_id).ok_or_else(no_job)
}

fn no_job() -> ProtocolError {
    ProtocolError::not_found("no such job")
}

/// Why a job in this state cannot be changed.
///
/// # Errors
/// `not_found` for a cancelled one, `conflict` for one that is claimed or done.
fn check_active(job: &StoredJob, now: Timestamp) -> Result<(), ProtocolError> {
    match job.state(now) {
        JobState::Active => Ok(()),
        JobState::Cancelled => Err(no_job()),
        JobState::Claimed | JobState::Completed => Err(taken()),
    }
}

fn taken() -> ProtocolError {
    ProtocolError::new(ErrorCode::Conflict, "the job is being done, or was done")
}

/// Where the message of a job and its end are not one commit: completes a job that was posted by somebody who did not
/// get to that.
///
/// # Errors
/// `conflict` when it was posted; `unavailable`.
async fn check_unposted(state: &AppState, job: &StoredJob) -> Result<(), ProtocolError> {
    if state.store.completes_jobs() {
        return Ok(());
    }
    let nonce = nonce_of(job.job_id());
    let posted = match state.store.find_nonce(job.room_id(), job.user_id(), Origin::Job, &nonce).await {
        Ok(None) => return Ok(()),
        Ok(Some(message)) => message.row_key,
        Err(AppendError::DeletedSince(row_key)) => row_key,
        Err(error) => return Err(append_error(error)),
    };
    jobs::complete_posted(&state.db, job.job_id(), Timestamp::now(), posted).await.map_err(store_error)?;
    if let Some(job) = jobs::find(&state.db, job.job_id()).await.map_err(store_error)? {
        tell(state, job.job(Timestamp::now()).map_err(store_error)?);
    }
    Err(taken())
}

/// What keeps a job's message from being stored twice.
fn nonce_of(job_id: JobId) -> Nonce {
    Nonce::new(job_id.to_string()).expect("an id is a nonce")
}

/// The message of a claimed job; none for a reminder.
fn draft_of(job: &Job, claim: JobClaim) -> Option<Draft> {
    let JobPayload::ScheduledMessage { message, format, reply_row_key } = &job.payload else { return None };
    let content = Content::Body { source: message.clone(), format: *format };
    Some(Draft {
        reply_row_key: *reply_row_key,
        nonce: Some(nonce_of(job.job_id)),
        job: Some(claim),
        ..Draft::new(job.room_id, Origin::Job, Author::Member(job.user_id), content)
    })
}

/// A job after its message was posted.
async fn completed(state: &AppState, job: Job, claim: JobClaim, message: &Message) -> Job {
    let done = message.created_at;
    if !state.store.completes_jobs() {
        // Posted all the same: who finds the job unfinished finds the message too.
        if let Err(error) = jobs::complete(&state.db, claim, done, Some(message.row_key)).await {
            tracing::warn!(%error, job = %job.job_id, "a posted job was not completed");
        }
    }
    Job {
        state: JobState::Completed,
        failed_at: None,
        last_error: None,
        completed_at: Some(done),
        row_key: Some(message.row_key),
        updated_at: Some(done),
        ..job
    }
}
