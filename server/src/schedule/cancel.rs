//! `schedule.cancel`.

use parlour_protocol::{
    ProtocolError, Timestamp,
    object::JobState,
    operation::{JobReply, ScheduleCancel},
};

use super::{check_unposted, own, taken, tell};
use crate::{accounts::caller::Caller, app::AppState, directory::jobs, error::store_error};

/// Takes a job back; one that was cancelled already is answered as it is.
///
/// # Errors
/// `not_found`; `conflict` when it is being done, or was done.
pub(crate) async fn cancel(state: &AppState, caller: &Caller, data: ScheduleCancel) -> Result<JobReply, ProtocolError> {
    let stored = own(state, caller, data.job_id).await?;
    if stored.state(Timestamp::now()) == JobState::Active {
        check_unposted(state, &stored).await?;
    }
    let now = Timestamp::now();
    let cancelled = jobs::cancel(&state.db, data.job_id, caller.user_id, now).await.map_err(store_error)?;
    if let Some(cancelled) = cancelled {
        let job = cancelled.job(now).map_err(store_error)?;
        state.wake_ups.cancel(job.job_id);
        tell(state, job.clone());
        return Ok(JobReply { job });
    }
    let stored = own(state, caller, data.job_id).await?;
    if stored.state(now) == JobState::Cancelled {
        return Ok(JobReply { job: stored.job(now).map_err(store_error)? });
    }
    Err(taken())
}
