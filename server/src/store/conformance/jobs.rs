//! Jobs end in the commit of their message, and only for whoever holds the claim.

use parlour_protocol::{
    ErrorCode, JobId, ProtocolError, RoomId, Timestamp, UserId,
    object::{Job, JobPayload, JobState},
    operation::Format,
};
use uuid::Uuid;

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::{
    directory::jobs::{self, CreateJobError, LEASE_MS, Release},
    schedule::new_job,
    store::{AppendError, Automod, JobClaim, NewMessage, Origin, RejectedMessage, RoomChange},
};

const DUE: Timestamp = Timestamp::from_millis(2_000_000_000_000);
/// A worker that is there after the lease.
const LATER: Timestamp = DUE.plus_millis(LEASE_MS);

conformance!(
    a_due_job_is_claimed_by_one,
    a_message_is_stored_with_the_end_of_its_job_or_not_at_all,
    the_filter_cancels_the_job_with_its_action,
    what_its_owner_does_meets_an_unclaimed_job_alone,
    a_user_has_no_more_jobs_than_are_allowed,
    jobs_are_listed_in_their_order_and_cleared_when_they_are_done,
);

async fn job_at(subject: &Subject, room_id: RoomId, user_id: UserId, run_at: Timestamp) -> Job {
    let payload =
        JobPayload::ScheduledMessage { message: "later".to_owned(), format: Format::Text, reply_row_key: None };
    let job = new_job(user_id, room_id, payload, run_at, Timestamp::from_millis(1));
    jobs::create(subject.db(), &job, 1000, None).await.unwrap();
    job
}

async fn claim(subject: &Subject, job_id: JobId, now: Timestamp) -> Option<JobClaim> {
    let mark = Uuid::new_v4();
    let won = jobs::claim_due(subject.db(), &[job_id], mark, now).await.unwrap();
    won.contains(&job_id).then_some(JobClaim { job_id, mark })
}

async fn state(subject: &Subject, job_id: JobId, now: Timestamp) -> JobState {
    jobs::find(subject.db(), job_id).await.unwrap().unwrap().state(now)
}

fn message(user_id: UserId, claim: JobClaim) -> NewMessage {
    let nonce = nonce(&claim.job_id.to_string());
    NewMessage { origin: Origin::Job, nonce: Some(nonce), job: Some(claim), ..text(user_id, "later") }
}

async fn a_due_job_is_claimed_by_one(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let job_id = job_at(&subject, room_id, owner, DUE).await.job_id;
    let early = DUE.plus_millis(-1);
    assert!(jobs::due(subject.db(), early, 10).await.unwrap().is_empty());
    assert_eq!(claim(&subject, job_id, early).await, None);
    assert_eq!(jobs::next_due(subject.db()).await.unwrap(), Some(DUE));
    let due = jobs::due(subject.db(), DUE, 10).await.unwrap();
    assert_eq!((due.len(), due[0].stored.job_id(), due[0].is_silenced), (1, job_id, false));
    let (one, two) = tokio::join!(claim(&subject, job_id, DUE), claim(&subject, job_id, DUE));
    assert_eq!([one, two].iter().flatten().count(), 1);
    assert_eq!(state(&subject, job_id, DUE).await, JobState::Claimed);
    assert!(jobs::due(subject.db(), DUE, 10).await.unwrap().is_empty());
    assert_eq!(jobs::next_due(subject.db()).await.unwrap(), Some(LATER), "when the lease ends it is due again");
    assert_eq!(state(&subject, job_id, LATER).await, JobState::Active);
    assert!(claim(&subject, job_id, LATER).await.is_some());
    let stored = jobs::find(subject.db(), job_id).await.unwrap().unwrap();
    assert_eq!(stored.attempts(), 2);
}

async fn a_message_is_stored_with_the_end_of_its_job_or_not_at_all(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let job_id = job_at(&subject, room_id, owner, DUE).await.job_id;
    let unclaimed = JobClaim { job_id, mark: Uuid::new_v4() };
    let refused = subject.post(room_id, message(owner, unclaimed)).await;
    assert!(matches!(refused, Err(AppendError::ClaimLost)), "{refused:?}");
    let lost = claim(&subject, job_id, DUE).await.unwrap();
    let held = claim(&subject, job_id, LATER).await.unwrap();
    let refused = subject.post(room_id, message(owner, lost)).await;
    assert!(matches!(refused, Err(AppendError::ClaimLost)), "{refused:?}");
    assert!(subject.all(room_id).await.is_empty());
    let posted = subject.post(room_id, message(owner, held)).await.unwrap().message.unwrap();
    let job = jobs::find(subject.db(), job_id).await.unwrap().unwrap().job(LATER).unwrap();
    assert_eq!((job.state, job.row_key), (JobState::Completed, Some(posted.row_key)));
    assert_eq!(job.completed_at, Some(posted.created_at));
    for claim in [lost, held] {
        let again = subject.post(room_id, message(owner, claim)).await.unwrap();
        assert_eq!((again.entries.len(), again.message.unwrap().row_key), (0, posted.row_key), "posted before");
    }
    assert_eq!(subject.all(room_id).await.len(), 1);
    assert!(!jobs::complete(subject.db(), held, LATER, None).await.unwrap());
    assert_eq!(jobs::next_due(subject.db()).await.unwrap(), None);
}

async fn the_filter_cancels_the_job_with_its_action(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let job_id = job_at(&subject, room_id, owner, DUE).await.job_id;
    let held = claim(&subject, job_id, DUE).await.unwrap();
    let reject = |job: JobClaim| {
        let nonce = Some(job_id.to_string());
        let rejected = RejectedMessage { origin: Origin::Job, nonce, slowmode_ms: None, job: Some(job) };
        RoomChange::Automod(Box::new(Automod { user_id: owner, rejected, entry: None, until: None }))
    };
    let refused = subject.apply(room_id, reject(JobClaim { job_id, mark: Uuid::new_v4() })).await;
    assert!(matches!(refused, Err(AppendError::ClaimLost)), "{refused:?}");
    assert_eq!(state(&subject, job_id, DUE).await, JobState::Claimed);
    subject.apply(room_id, reject(held)).await.unwrap();
    let job = jobs::find(subject.db(), job_id).await.unwrap().unwrap().job(LATER).unwrap();
    assert_eq!((job.state, job.last_error.unwrap().code.as_str()), (JobState::Cancelled, "word_filtered"));
    let refused = subject.post(room_id, message(owner, held)).await;
    assert!(matches!(refused, Err(AppendError::ClaimLost)), "{refused:?}");
}

async fn what_its_owner_does_meets_an_unclaimed_job_alone(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    let job = job_at(&subject, room_id, owner, DUE).await;
    let db = subject.db();
    let held = claim(&subject, job.job_id, DUE).await.unwrap();
    assert!(jobs::cancel(db, job.job_id, owner, DUE).await.unwrap().is_none(), "claimed");
    let new = job_at(&subject, room_id, owner, DUE).await;
    let replaced = jobs::replace(db, job.job_id, &Job { job_id: JobId::new(), ..new.clone() }, DUE, None).await;
    assert!(matches!(replaced, Err(CreateJobError::NotActive)));
    assert_eq!(jobs::count_of(db, owner).await.unwrap(), 2, "no new one either");
    let early = JobClaim { job_id: job.job_id, mark: Uuid::new_v4() };
    assert!(jobs::claim_early(db, early, owner, None, DUE).await.unwrap().is_none(), "claimed");
    let error = ProtocolError::new(ErrorCode::ReadOnly, "the room is read-only");
    let release = |due_at| Release { due_at, attempts: 1, error: Some(&error), failed_at: None };
    let due_at = DUE.plus_millis(7000);
    let released = jobs::release(db, held, DUE, release(Some(due_at))).await.unwrap().unwrap();
    assert_eq!((released.due_at(), released.attempts()), (Some(due_at), 1));
    assert_eq!(released.job(DUE).unwrap().last_error.unwrap().code, "read_only");
    assert!(jobs::release(db, held, DUE, release(None)).await.unwrap().is_none(), "the claim is gone");
    assert!(jobs::claim_early(db, early, guest, None, DUE).await.unwrap().is_none(), "not the guest's");
    let claimed = jobs::claim_early(db, early, owner, Some(&nonce("n")), DUE).await.unwrap().unwrap();
    assert!(claimed.due_at() >= Some(LATER), "left behind, it comes to its time when the lease has ended");
    assert!(claimed.was_sent_by(Some(&nonce("n"))) && !claimed.was_sent_by(None));
    assert!(jobs::cancel(db, job.job_id, guest, LATER).await.unwrap().is_none(), "not the guest's");
    let cancelled = jobs::cancel(db, job.job_id, owner, LATER).await.unwrap().unwrap();
    assert_eq!(cancelled.state(LATER), JobState::Cancelled);
    let refused = subject.post(room_id, message(owner, early)).await;
    assert!(matches!(refused, Err(AppendError::ClaimLost)), "cancelled after the lease had ended: {refused:?}");
    let third = Job { job_id: JobId::new(), ..new.clone() };
    let old = jobs::replace(db, new.job_id, &third, DUE, None).await.unwrap();
    assert_eq!((old.job_id(), old.state(DUE)), (new.job_id, JobState::Cancelled));
    assert_eq!(jobs::count_of(db, owner).await.unwrap(), 1);
}

async fn a_user_has_no_more_jobs_than_are_allowed(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let job = || {
        let payload = JobPayload::Reminder { text: "tea".to_owned() };
        new_job(owner, room_id, payload, DUE, Timestamp::from_millis(1))
    };
    let attempts: Vec<Job> = (0..8).map(|_| job()).collect();
    let made = attempts.iter().map(|job| jobs::create(subject.db(), job, 3, None));
    let made = futures_util::future::join_all(made).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 3, "{made:?}");
    assert!(made.iter().all(|made| matches!(made, Ok(()) | Err(CreateJobError::TooMany))), "{made:?}");
    assert_eq!(jobs::count_of(subject.db(), owner).await.unwrap(), 3);
}

async fn jobs_are_listed_in_their_order_and_cleared_when_they_are_done(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (other_room, other) = subject.room().await;
    let mut run_at = Vec::new();
    for delay in [3, 1, 2, 1] {
        let at = DUE.plus_millis(delay);
        job_at(&subject, room_id, owner, at).await;
        run_at.push(at);
    }
    let elsewhere = job_at(&subject, other_room, owner, DUE.plus_millis(9)).await;
    job_at(&subject, room_id, other, DUE).await;
    run_at.sort();
    let db = subject.db();
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page = jobs::page(db, owner, Some(room_id), after, 2).await.unwrap();
        let page: Vec<Job> = page.iter().map(|stored| stored.job(DUE).unwrap()).collect();
        let Some(last) = page.last() else { break };
        after = Some(jobs::JobPosition::of(last).to_string().parse().unwrap());
        listed.extend(page);
    }
    assert_eq!(listed.iter().map(|job| job.run_at).collect::<Vec<_>>(), run_at);
    assert_eq!(jobs::page(db, owner, None, None, 10).await.unwrap().len(), 5);
    jobs::cancel(db, elsewhere.job_id, owner, DUE).await.unwrap();
    assert_eq!(jobs::page(db, owner, None, None, 10).await.unwrap().len(), 4);
    jobs::clear(db, DUE).await.unwrap();
    assert!(jobs::find(db, elsewhere.job_id).await.unwrap().is_some(), "not yet");
    jobs::clear(db, DUE.plus_millis(1)).await.unwrap();
    assert!(jobs::find(db, elsewhere.job_id).await.unwrap().is_none());
    assert_eq!(jobs::page(db, owner, None, None, 10).await.unwrap().len(), 4);
    subject.apply(room_id, RoomChange::DeleteRoom { by: owner }).await.unwrap();
    assert_eq!(jobs::count_of(db, owner).await.unwrap(), 0);
    jobs::forget(db, other).await.unwrap();
}
