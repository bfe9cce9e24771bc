//! `schedule.sendNow`.

use parlour_protocol::{
    ErrorCode, ProtocolError, Timestamp,
    object::{JobPayload, JobState},
    operation::{ScheduleSendNow, SendNowReply},
};
use uuid::Uuid;

use super::{check_active, check_unposted, completed, draft_of, nonce_of, own, taken, tell};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::jobs::{self, Release, StoredJob},
    error::{append_error, store_error},
    messages::post::{self, Draft},
    store::{JobClaim, Origin, StoreError},
};

/// Posts a scheduled message before its time.
///
/// # Errors
/// Those of the gate, the job staying as it is but for `word_filtered`, which cancels it; `not_found`, `conflict`,
/// `bad_request` for a reminder.
pub(crate) async fn send_now(
    state: &AppState,
    caller: &Caller,
    data: ScheduleSendNow,
) -> Result<SendNowReply, ProtocolError> {
    let generation = state.store.generation();
    let now = Timestamp::now();
    let stored = own(state, caller, data.job_id).await?;
    if stored.state(now) == JobState::Completed && stored.was_sent_by(data.nonce.as_ref()) {
        return first_result(state, &stored, now).await;
    }
    state.rooms.access(stored.room_id(), caller.user_id).await?;
    let job = stored.job(now).map_err(store_error)?;
    if matches!(job.payload, JobPayload::Reminder { .. }) {
        return Err(ProtocolError::bad_request("a reminder is not sent"));
    }
    check_active(&stored, now)?;
    check_unposted(state, &stored).await?;
    let claim = JobClaim { job_id: data.job_id, mark: Uuid::new_v4() };
    let claimed = jobs::claim_early(&state.db, claim, caller.user_id, data.nonce.as_ref(), now).await;
    let claimed = claimed.map_err(store_error)?.ok_or_else(taken)?.job(now).map_err(store_error)?;
    let draft = draft_of(&claimed, claim).ok_or_else(taken)?;
    let draft = Draft { cause: caller.connection_id, generation, ..draft };
    match post::post(state, draft).await {
        Ok(message) => {
            let job = completed(state, claimed, claim, &message).await;
            state.wake_ups.cancel(job.job_id);
            tell(state, job.clone());
            Ok(SendNowReply { job, message })
        }
        Err(error) => {
            // The outcome is told either way; a claim that is left behind ends by itself.
            if let Err(error) = give_back(state, &stored, claim, &error).await {
                tracing::warn!(%error, job = %data.job_id, "a job stays claimed for a while");
            }
            Err(error)
        }
    }
}

/// The job as it was before, or cancelled by the word filter.
async fn give_back(
    state: &AppState,
    before: &StoredJob,
    claim: JobClaim,
    error: &ProtocolError,
) -> Result<(), StoreError> {
    let now = Timestamp::now();
    if error.code == ErrorCode::WordFiltered {
        jobs::cancel_claimed(&state.db, claim, now, error).await?;
        if let Some(job) = jobs::find(&state.db, claim.job_id).await? {
            tell(state, job.job(now)?);
        }
        return Ok(());
    }
    let due_at = before.due_at();
    let release = Release { due_at, attempts: before.attempts(), error: None, failed_at: None };
    jobs::release(&state.db, claim, now, release).await?;
    if let Some(due_at) = due_at {
        state.wake_ups.schedule(claim.job_id, due_at);
    }
    Ok(())
}

/// What the command answered when it was first given.
async fn first_result(state: &AppState, stored: &StoredJob, now: Timestamp) -> Result<SendNowReply, ProtocolError> {
    let nonce = nonce_of(stored.job_id());
    let found = state.store.find_nonce(stored.room_id(), stored.user_id(), Origin::Job, &nonce).await;
    let message = found.map_err(append_error)?.ok_or_else(taken)?;
    Ok(SendNowReply { job: stored.job(now).map_err(store_error)?, message })
}
