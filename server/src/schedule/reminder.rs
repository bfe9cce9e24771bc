//! `schedule.reminder`.

use parlour_protocol::{
    ProtocolError, Timestamp,
    object::JobPayload,
    operation::{JobReply, ScheduleReminder},
};

use super::{check_run_at, made, new_job};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        jobs,
        nonces::{self, FirstResult},
    },
};

/// Reminds oneself later.
///
/// # Errors
/// `forbidden`, `bad_request` for the time or one job too many.
pub(crate) async fn reminder(
    state: &AppState,
    caller: &Caller,
    data: ScheduleReminder,
) -> Result<JobReply, ProtocolError> {
    let now = Timestamp::now();
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let run_at = check_run_at(data.run_at, now, &state.limits)?;
    state.rooms.access(data.room_id, caller.user_id).await?;
    let payload = JobPayload::Reminder { text: data.text.as_str().to_owned() };
    let reply = JobReply { job: new_job(caller.user_id, data.room_id, payload, run_at, now) };
    let first = FirstResult::of(caller.user_id, &data, &reply);
    let outcome = jobs::create(&state.db, &reply.job, state.limits.jobs_per_user, first).await;
    made(state, caller, &data, reply, outcome).await
}
