//! `schedule.reschedule`.

use parlour_protocol::{
    Patch, ProtocolError, Timestamp,
    object::JobPayload,
    operation::{JobReply, ScheduleReschedule},
};

use super::{
    check_active, check_run_at, check_unposted, made, new_job, own,
    permit::{self, Later},
    tell,
};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        jobs,
        nonces::{self, FirstResult},
    },
    error::store_error,
    filter::automod::Rejected,
};

/// Makes a changed job in place of a scheduled message, which is cancelled in the same commit.
///
/// In another room it answers nothing, unless the command says what.
///
/// # Errors
/// `not_found`, `conflict`, `bad_request` for a reminder; those of the gate.
pub(crate) async fn reschedule(
    state: &AppState,
    caller: &Caller,
    data: ScheduleReschedule,
) -> Result<JobReply, ProtocolError> {
    let now = Timestamp::now();
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let run_at = data.run_at.map(|run_at| check_run_at(run_at, now, &state.limits)).transpose()?;
    let stored = own(state, caller, data.job_id).await?;
    let room_id = data.room_id.unwrap_or(stored.room_id());
    let access = state.rooms.access(room_id, caller.user_id).await?;
    let old = stored.job(now).map_err(store_error)?;
    let JobPayload::ScheduledMessage { message, format, reply_row_key } = &old.payload else {
        return Err(ProtocolError::bad_request("a reminder cannot be rescheduled; cancel it and make another one"));
    };
    check_active(&stored, now)?;
    check_unposted(state, &stored).await?;
    let later = Later {
        source: data.message.as_ref().map_or(message.as_str(), |message| message.as_str()),
        format: data.format.unwrap_or(*format),
        reply_row_key: match &data.reply_row_key {
            Patch::Keep => reply_row_key.filter(|_| room_id == old.room_id),
            Patch::Clear => None,
            Patch::Set(row_key) => Some(*row_key),
        },
    };
    if let Err(refusal) = permit::permit(state, &access, &later, now).await {
        let rejected = Rejected::Later { nonce: data.nonce.as_ref() };
        return Err(refusal.settle(state, caller.connection_id, rejected).await);
    }
    let run_at = run_at.unwrap_or(old.run_at.max(now));
    let reply = JobReply { job: new_job(caller.user_id, room_id, later.payload(), run_at, now) };
    let first = FirstResult::of(caller.user_id, &data, &reply);
    let outcome = match jobs::replace(&state.db, old.job_id, &reply.job, now, first).await {
        Ok(cancelled) => {
            state.wake_ups.cancel(old.job_id);
            tell(state, cancelled.job(now).map_err(store_error)?);
            Ok(())
        }
        Err(error) => Err(error),
    };
    made(state, caller, &data, reply, outcome).await
}
