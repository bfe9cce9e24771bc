//! The worker: what is due is read, claimed, delivered and completed, in this order.
//!
//! | it ends after | what is left | what follows |
//! | --- | --- | --- |
//! | reading | a due row | somebody reads it again |
//! | claiming | a claim | its lease ends after a minute, and the row is due again |
//! | the commit | a completed row, and the message, or the reminder's notification, stored with it | nothing |
//!
//! A refusal lets the claim go and is tried again, ten times over about an hour. Then the job stays, for its owner to
//! see.

use std::{collections::HashSet, sync::Arc};

use parlour_protocol::{
    ErrorCode, JobId, ProtocolError, Timestamp,
    object::{Job, JobPayload, JobState},
};
use tokio::{task::JoinSet, time};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{completed, draft_of, tell, timer::SWEEP};
use crate::{
    app::AppState,
    directory::{
        jobs::{self, DueJob, Release},
        notifications,
    },
    messages::post,
    notifications::{Notification, Subject},
    store::{JobClaim, StoreError},
};

/// Jobs that are worked on at once: many, so that they share commits, and few beside a group of commits, so that who
/// writes now does not wait for them.
const AT_ONCE: usize = 32;
/// Tries before a job is given up.
const TRIES: u32 = 10;
/// The wait after the first refusal, in ms; it doubles, so that all of them take about an hour.
const BACKOFF_MS: i64 = 7_000;
/// The wait when the store does not answer, in ms. That is no try.
const RETRY_MS: i64 = 5_000;
/// How long rows of jobs that are done are kept, in ms.
const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;

/// A job that is this worker's until the lease ends.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) job: Job,
    pub(super) claim: JobClaim,
    /// Its owner's account is disabled.
    is_silenced: bool,
}

/// Looks after what is due now; when the next is due.
pub(super) async fn look(state: &Arc<AppState>, stop: &CancellationToken) -> Option<Timestamp> {
    let looked = async {
        let found = work_off(state, Timestamp::now, stop).await?;
        if found == 0 {
            jobs::clear(&state.db, Timestamp::now().plus_millis(-KEPT_MS)).await?;
        }
        jobs::next_due(&state.db).await
    };
    looked.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "due jobs could not be looked after");
        Some(Timestamp::now().plus_millis(RETRY_MS))
    })
}

/// Looks after what is due once a minute: beside wake-ups that come from elsewhere and may be lost.
#[cfg_attr(not(feature = "service-bus"), expect(dead_code, reason = "for wake-ups that come from elsewhere"))]
pub(crate) async fn sweep(state: &Arc<AppState>, stop: &CancellationToken) {
    while stop.run_until_cancelled(time::sleep(SWEEP)).await.is_some() {
        look(state, stop).await;
    }
}

/// Looks after one job, for which somebody was woken up.
///
/// # Errors
/// When it is not known whether that was done: to be woken up again.
#[cfg_attr(
    not(any(test, feature = "service-bus")),
    expect(dead_code, reason = "for wake-ups that come from elsewhere")
)]
pub(crate) async fn wake(state: &Arc<AppState>, job_id: JobId, now: Timestamp) -> Result<(), StoreError> {
    match jobs::one_due(&state.db, job_id, now).await? {
        Some(due) => {
            for claimed in claim(state, vec![due], now).await? {
                deliver(state, claimed, now).await;
            }
        }
        None => {
            // Too early, or too late: the row knows.
            let stored = jobs::find(&state.db, job_id).await?;
            if let Some(due_at) = stored.and_then(|stored| stored.due_at()) {
                state.wake_ups.schedule(job_id, due_at);
            }
        }
    }
    Ok(())
}

/// Delivers everything that is due, until nothing is or `stop`; how many jobs were found.
///
/// # Errors
/// When the store does not answer. What was claimed is delivered all the same, as far as that goes.
pub(super) async fn work_off(
    state: &Arc<AppState>,
    now: impl Fn() -> Timestamp,
    stop: &CancellationToken,
) -> Result<usize, StoreError> {
    let due = &state.job_metrics.due;
    due.set(jobs::count_due(&state.db, now()).await?);
    let mut running = JoinSet::new();
    let mut outcome = Ok(0);
    let mut has_more = true;
    loop {
        if has_more && running.len() <= AT_ONCE / 2 && !stop.is_cancelled() {
            let most = AT_ONCE - running.len();
            match next(state, most, now()).await {
                Ok((found, claimed)) => {
                    has_more = found == most;
                    outcome = outcome.map(|before| before + found);
                    start(state, &mut running, claimed, now());
                }
                Err(error) => {
                    has_more = false;
                    outcome = Err(error);
                }
            }
        }
        match running.join_next().await {
            Some(Ok(done)) => {
                due.dec_by(done);
            }
            Some(Err(error)) => tracing::error!(%error, "a job's worker ended"),
            None if !has_more || stop.is_cancelled() => return outcome,
            None => {}
        }
    }
}

/// Reads what is due and claims it; how many were found, and those that are this worker's.
pub(super) async fn next(state: &AppState, most: usize, now: Timestamp) -> Result<(usize, Vec<Claimed>), StoreError> {
    let due = jobs::due(&state.db, now, most).await?;
    Ok((due.len(), claim(state, due, now).await?))
}

/// Claims jobs. What they hold is read before: one that cannot be read stays unclaimed, and the others go on.
async fn claim(state: &AppState, due: Vec<DueJob>, now: Timestamp) -> Result<Vec<Claimed>, StoreError> {
    let mark = Uuid::new_v4();
    let mut wanted = Vec::with_capacity(due.len());
    for DueJob { stored, is_silenced } in due {
        match stored.job(now) {
            Ok(mut job) => {
                job.attempts += 1;
                wanted.push(Claimed { claim: JobClaim { job_id: job.job_id, mark }, job, is_silenced });
            }
            Err(error) => {
                tracing::error!(%error, "a job cannot be read");
                let error = ProtocolError::new(ErrorCode::Internal, "the job cannot be read");
                jobs::put_off(&state.db, &stored, now, next_try(stored.attempts() + 1, now), &error).await?;
            }
        }
    }
    let job_ids: Vec<JobId> = wanted.iter().map(|claimed| claimed.job.job_id).collect();
    let won = jobs::claim_due(&state.db, &job_ids, mark, now).await?;
    wanted.retain(|claimed| won.contains(&claimed.job.job_id));
    Ok(wanted)
}

/// Starts what was claimed: messages by themselves, reminders together.
fn start(state: &Arc<AppState>, running: &mut JoinSet<i64>, claimed: Vec<Claimed>, now: Timestamp) {
    let is_reminder = |claimed: &Claimed| matches!(claimed.job.payload, JobPayload::Reminder { .. });
    let (reminders, messages): (Vec<_>, Vec<_>) = claimed.into_iter().partition(is_reminder);
    for message in messages {
        let state = Arc::clone(state);
        running.spawn(async move {
            deliver(&state, message, now).await;
            1
        });
    }
    if !reminders.is_empty() {
        let state = Arc::clone(state);
        running.spawn(async move {
            let count = i64::try_from(reminders.len()).unwrap_or(i64::MAX);
            remind(&state, reminders, now).await;
            count
        });
    }
}

/// Delivers a claimed job and says how it went.
pub(super) async fn deliver(state: &AppState, claimed: Claimed, now: Timestamp) {
    let Some(draft) = draft_of(&claimed.job, claimed.claim) else {
        return remind(state, vec![claimed], now).await;
    };
    let outcome = if claimed.is_silenced {
        Err(ProtocolError::new(ErrorCode::Forbidden, "the account is disabled"))
    } else {
        post::post(state, draft).await
    };
    match outcome {
        Ok(message) => {
            let job = completed(state, claimed.job, claimed.claim, &message).await;
            state.job_metrics.delivered.inc();
            tell(state, job);
        }
        Err(error) => {
            let job_id = claimed.job.job_id;
            if let Err(error) = refuse(state, claimed, &error, now).await {
                tracing::warn!(%error, job = %job_id, "a refused job stays claimed for a while");
            }
        }
    }
}

/// Lets go a job that was refused.
async fn refuse(state: &AppState, claimed: Claimed, error: &ProtocolError, now: Timestamp) -> Result<(), StoreError> {
    let Claimed { job, claim, .. } = claimed;
    match error.code {
        ErrorCode::WordFiltered => {
            jobs::cancel_claimed(&state.db, claim, now, error).await?;
            state.job_metrics.refused.inc();
            if let Some(job) = jobs::find(&state.db, job.job_id).await? {
                tell(state, job.job(now)?);
            }
        }
        // Somebody else has it.
        ErrorCode::Conflict => {}
        // It was posted, by somebody who did not get to completing it, and deleted since.
        ErrorCode::NotFound if error.row_key.is_some() => {
            jobs::complete(&state.db, claim, now, error.row_key).await?;
        }
        ErrorCode::Unavailable => {
            let due_at = now.plus_millis(RETRY_MS);
            let attempts = job.attempts.saturating_sub(1);
            let release = Release { due_at: Some(due_at), attempts, error: None, failed_at: None };
            jobs::release(&state.db, claim, now, release).await?;
            state.wake_ups.schedule(job.job_id, due_at);
        }
        _ => {
            let due_at = next_try(job.attempts, now);
            let failed_at = due_at.is_none().then_some(now);
            let release = Release { due_at, attempts: job.attempts, error: Some(error), failed_at };
            let released = jobs::release(&state.db, claim, now, release).await?;
            state.job_metrics.refused.inc();
            match due_at {
                Some(due_at) => state.wake_ups.schedule(job.job_id, due_at),
                None => drop(state.job_metrics.failed.inc()),
            }
            if let Some(job) = released {
                tell(state, job.job(now)?);
            }
        }
    }
    Ok(())
}

/// When a job is tried again that was refused this often; never, after the last try.
fn next_try(attempts: u32, now: Timestamp) -> Option<Timestamp> {
    let doublings = attempts.saturating_sub(1);
    (attempts < TRIES).then(|| now.plus_millis(BACKOFF_MS << doublings))
}

/// Gives reminders: their owners' devices are told.
async fn remind(state: &AppState, reminders: Vec<Claimed>, now: Timestamp) {
    let given = match give(state, &reminders, now).await {
        Ok(given) => given,
        Err(error) => {
            tracing::warn!(%error, "reminders stay claimed for a while");
            return;
        }
    };
    for Claimed { job, .. } in reminders.into_iter().filter(|claimed| given.contains(&claimed.job.job_id)) {
        state.job_metrics.delivered.inc();
        let job = Job {
            state: JobState::Completed,
            failed_at: None,
            last_error: None,
            completed_at: Some(now),
            updated_at: Some(now),
            ..job
        };
        tell(state, job);
    }
}

/// Completes reminders, with their notifications; those whose claim still stood.
async fn give(state: &AppState, reminders: &[Claimed], now: Timestamp) -> Result<HashSet<JobId>, StoreError> {
    let Some(first) = reminders.first() else { return Ok(HashSet::new()) };
    let job_ids: Vec<JobId> = reminders.iter().map(|claimed| claimed.job.job_id).collect();
    let mut tx = state.db.begin().await?;
    let given = jobs::complete_reminders(&mut tx, &job_ids, first.claim.mark, now).await?;
    let notes = state.push.outbox.is_wanted();
    if notes {
        for Claimed { job, .. } in reminders.iter().filter(|claimed| given.contains(&claimed.job.job_id)) {
            let JobPayload::Reminder { text } = &job.payload else { continue };
            let subject = Subject::Reminder { user_id: job.user_id, room_id: job.room_id, text: text.clone() };
            let notification = Notification { id: job.job_id.uuid(), subject, created_at: now, tries: 0 };
            notifications::note(&mut tx, &notification).await?;
        }
    }
    tx.commit().await?;
    if notes {
        state.push.outbox.wake();
    }
    Ok(given)
}
