//! `schedule.message`.

use parlour_protocol::{
    ProtocolError, Timestamp,
    operation::{Format, JobReply, ScheduleMessage},
};

use super::{
    check_run_at, made, new_job,
    permit::{self, Later},
};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        jobs,
        nonces::{self, FirstResult},
    },
    filter::automod::Rejected,
};

/// Posts a message later.
///
/// # Errors
/// Those of the gate, `not_found` for the message answered, `bad_request` for the time, the body or one job too many.
pub(crate) async fn message(
    state: &AppState,
    caller: &Caller,
    data: ScheduleMessage,
) -> Result<JobReply, ProtocolError> {
    let now = Timestamp::now();
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let run_at = check_run_at(data.run_at, now, &state.limits)?;
    let access = state.rooms.access(data.room_id, caller.user_id).await?;
    let later = Later {
        source: data.message.as_str(),
        format: data.format.unwrap_or(Format::Text),
        reply_row_key: data.reply_row_key,
    };
    if let Err(refusal) = permit::permit(state, &access, &later, now).await {
        let rejected = Rejected::Later { nonce: data.nonce.as_ref() };
        return Err(refusal.settle(state, caller.connection_id, rejected).await);
    }
    let reply = JobReply { job: new_job(caller.user_id, data.room_id, later.payload(), run_at, now) };
    let first = FirstResult::of(caller.user_id, &data, &reply);
    let outcome = jobs::create(&state.db, &reply.job, state.limits.jobs_per_user, first).await;
    made(state, caller, &data, reply, outcome).await
}
