//! The scheduler: times are arguments, and it is left off after each of its steps.

mod timer;

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::{Duration, Instant},
};

use parlour_protocol::{
    JobId, MessageType, ProtocolError, RoomId, SessionId, Timestamp, UserId,
    object::{Job, JobState},
    operation::{Format, JobReply, Order},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{cancel, list, message, reminder, send_now, worker};
use crate::{
    accounts::caller::Caller,
    app::{App, AppState},
    config::{Config, Flag, Settings},
    directory::jobs::{self, LEASE_MS},
    messages::post::{self, Author, Content, Draft},
    rooms,
    store::{ListQuery, Origin},
};

const HOUR: i64 = 3_600_000;

/// A server whose own worker finds nothing due, since all times are well ahead.
struct World {
    state: Arc<AppState>,
    due: Timestamp,
    _app: App,
    _folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let flag =
            |name: &str, value: &str| Flag { flag: String::new(), name: name.to_owned(), value: value.to_owned() };
        let flags = [flag("listen", "127.0.0.1:0"), flag("data_dir", folder.path().to_str().unwrap())];
        let app = App::start(Config::new(&Settings::load(None, &flags, []).unwrap()).unwrap()).await.unwrap();
        let state = Arc::clone(app.state());
        Self { state, due: Timestamp::now().plus_millis(HOUR), _app: app, _folder: folder }
    }

    async fn user(&self) -> Caller {
        let user_id = UserId::new();
        let sql = "insert into account (user_id, name, name_key, name_fold, image, biography, is_operator, \
            is_disabled, is_deleted, created_at, updated_at) values ($1, $2, $2, $2, '', '', $3, $3, $3, 1, 1)";
        let query = self.state.db.write(sql).bind(user_id).bind(user_id.to_string()).bind(false);
        query.execute().await.unwrap();
        Caller {
            user_id,
            session_id: SessionId::new(),
            connection_id: None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            is_foreign: false,
        }
    }

    async fn room(&self, owner: &Caller) -> RoomId {
        let data = serde_json::from_value(json!({ "name": "Tea" })).unwrap();
        rooms::create::create(&self.state, owner, data).await.unwrap().room.room_id
    }

    async fn set(&self, owner: &Caller, room_id: RoomId, mut settings: Value) {
        settings["roomId"] = json!(room_id);
        rooms::update::update(&self.state, owner, serde_json::from_value(settings).unwrap()).await.unwrap();
    }

    async fn join(&self, owner: &Caller, room_id: RoomId, guest: &Caller) {
        let data = serde_json::from_value(json!({ "roomId": room_id })).unwrap();
        let invite = rooms::invites::create(&self.state, owner, data).await.unwrap().invite;
        let data = serde_json::from_value(json!({ "inviteId": invite.invite_id })).unwrap();
        rooms::join::join(&self.state, guest, data).await.unwrap();
    }

    async fn message(&self, owner: &Caller, room_id: RoomId, text: &str) -> Job {
        let data = json!({ "roomId": room_id, "runAt": self.due, "message": text });
        let JobReply { job } =
            message::message(&self.state, owner, serde_json::from_value(data).unwrap()).await.unwrap();
        job
    }

    async fn reminder(&self, owner: &Caller, room_id: RoomId) -> Job {
        let data = json!({ "roomId": room_id, "runAt": self.due, "text": "tea" });
        reminder::reminder(&self.state, owner, serde_json::from_value(data).unwrap()).await.unwrap().job
    }

    async fn job(&self, job_id: JobId) -> Job {
        jobs::find(&self.state.db, job_id).await.unwrap().unwrap().job(self.due).unwrap()
    }

    /// What the worker finds and does at a time.
    async fn work(&self, now: Timestamp) -> usize {
        worker::work_off(&self.state, || now, &CancellationToken::new()).await.unwrap()
    }

    async fn texts(&self, room_id: RoomId) -> Vec<String> {
        let query = ListQuery {
            room_id,
            order: Order::Asc,
            from: None,
            inclusive: false,
            pinned: false,
            reply_to: None,
            limit: 20_000,
        };
        let messages = self.state.store.list(query).await.unwrap();
        messages.into_iter().filter(|message| message.r#type == MessageType::Message).map(|m| m.message).collect()
    }

    async fn cancel(&self, owner: &Caller, job_id: JobId) -> Result<JobReply, ProtocolError> {
        let data = serde_json::from_value(json!({ "jobId": job_id })).unwrap();
        cancel::cancel(&self.state, owner, data).await
    }

    async fn send_now(&self, owner: &Caller, job_id: JobId) -> Result<Job, ProtocolError> {
        let data = serde_json::from_value(json!({ "jobId": job_id })).unwrap();
        send_now::send_now(&self.state, owner, data).await.map(|reply| reply.job)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_ends_after_any_step_is_followed_by_another() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let (message, reminder) = (world.message(&owner, room_id, "once").await, world.reminder(&owner, room_id).await);
    // It ends after reading.
    assert_eq!(jobs::due(&world.state.db, world.due, 64).await.unwrap().len(), 2);
    // It ends after claiming.
    assert_eq!(worker::next(&world.state, 64, world.due).await.unwrap().1.len(), 2);
    assert_eq!(world.job(message.job_id).await.state, JobState::Claimed);
    for op in [world.cancel(&owner, message.job_id).await.err(), world.send_now(&owner, message.job_id).await.err()] {
        assert_eq!(op.unwrap().code.as_str(), "conflict", "claimed");
    }
    assert_eq!(world.work(world.due.plus_millis(LEASE_MS - 1)).await, 0, "the lease holds");
    assert!(world.texts(room_id).await.is_empty());
    let later = world.due.plus_millis(LEASE_MS);
    // It ends somewhere on the way to the commit, or after it.
    let (_, claimed) = worker::next(&world.state, 64, later).await.unwrap();
    for claimed in claimed {
        drop(tokio::time::timeout(Duration::ZERO, worker::deliver(&world.state, claimed, later)).await);
    }
    // Whatever was on its way has arrived when another change has.
    let later = later.plus_millis(LEASE_MS);
    world.work(later).await;
    assert_eq!(world.texts(room_id).await, ["once"]);
    for job_id in [message.job_id, reminder.job_id] {
        assert_eq!(world.job(job_id).await.state, JobState::Completed);
    }
    assert_eq!(world.work(later.plus_millis(LEASE_MS)).await, 0);
    assert_eq!(jobs::next_due(&world.state.db).await.unwrap(), None, "nothing is stuck");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_is_cut_off_anywhere_posts_once() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    for round in 0..40u32 {
        world.message(&owner, room_id, &format!("{round}")).await;
        let (_, mut claimed) = worker::next(&world.state, 64, world.due).await.unwrap();
        let delivery = worker::deliver(&world.state, claimed.pop().unwrap(), world.due);
        drop(tokio::time::timeout(Duration::from_micros(u64::from(round) * 100), delivery).await);
        world.work(world.due.plus_millis(LEASE_MS)).await;
    }
    world.work(world.due.plus_millis(2 * LEASE_MS)).await;
    let expected: Vec<String> = (0..40).map(|round| round.to_string()).collect();
    assert_eq!(world.texts(room_id).await, expected);
    assert_eq!(jobs::next_due(&world.state.db).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bl_097_s_124_several_workers_post_each_message_once() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    for number in 0..100 {
        world.message(&owner, room_id, &format!("{number}")).await;
    }
    tokio::join!(world.work(world.due), world.work(world.due), world.work(world.due));
    let mut seen: HashMap<String, u32> = HashMap::new();
    for text in world.texts(room_id).await {
        *seen.entry(text).or_default() += 1;
    }
    assert_eq!((seen.len(), seen.values().max()), (100, Some(&1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bl_099_a_worker_that_lost_its_claim_posts_nothing() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let job = world.message(&owner, room_id, "once").await;
    let (_, mut slow) = worker::next(&world.state, 64, world.due).await.unwrap();
    let later = world.due.plus_millis(LEASE_MS);
    assert_eq!(world.work(later).await, 1);
    worker::deliver(&world.state, slow.pop().unwrap(), world.due).await;
    assert_eq!(world.texts(room_id).await, ["once"]);
    assert_eq!(world.job(job.job_id).await.attempts, 2);
    // The same with a job that its owner took back meanwhile.
    let job = world.message(&owner, room_id, "never").await;
    let (_, mut slow) = worker::next(&world.state, 64, world.due).await.unwrap();
    assert!(jobs::cancel(&world.state.db, job.job_id, owner.user_id, later).await.unwrap().is_some());
    worker::deliver(&world.state, slow.pop().unwrap(), world.due).await;
    assert_eq!(world.texts(room_id).await, ["once"]);
    assert_eq!(world.job(job.job_id).await.state, JobState::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_123_a_refusal_is_tried_ten_times_over_an_hour_and_then_shown() {
    let world = World::new().await;
    let (owner, guest) = (world.user().await, world.user().await);
    let room_id = world.room(&owner).await;
    world.join(&owner, room_id, &guest).await;
    let job = world.message(&guest, room_id, "at last").await;
    world.set(&owner, room_id, json!({ "isReadOnly": true })).await;
    let mut now = world.due;
    let mut tries = 0;
    loop {
        assert_eq!(world.work(now).await, 1);
        tries += 1;
        let tried = world.job(job.job_id).await;
        assert_eq!((tried.attempts, tried.state), (tries, JobState::Active));
        assert_eq!(tried.last_error.as_ref().unwrap().code, "read_only");
        let Some(due) = jobs::next_due(&world.state.db).await.unwrap() else {
            assert_eq!(tried.failed_at, Some(now));
            break;
        };
        assert_eq!((tried.failed_at, world.work(due.plus_millis(-1)).await), (None, 0), "not before its time");
        now = due;
    }
    assert_eq!(tries, 10);
    let minutes = now.since(world.due).as_secs() / 60;
    assert!((50..=70).contains(&minutes), "{minutes} minutes");
    let data = serde_json::from_value(json!({ "roomId": room_id })).unwrap();
    assert_eq!(list::list(&world.state, &guest, data).await.unwrap().items.len(), 1, "it stays listed");
    assert_eq!(world.send_now(&guest, job.job_id).await.unwrap_err().code.as_str(), "read_only");
    assert_eq!(jobs::next_due(&world.state.db).await.unwrap(), None, "and is given up still");
    world.set(&owner, room_id, json!({ "isReadOnly": false })).await;
    let sent = world.send_now(&guest, job.job_id).await.unwrap();
    assert_eq!((sent.state, sent.failed_at, sent.last_error), (JobState::Completed, None, None));
    assert_eq!(world.texts(room_id).await, ["at last"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_125_a_payload_of_an_unknown_shape_is_never_claimed_and_holds_nobody_up() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let odd = world.message(&owner, room_id, "odd").await;
    world.message(&owner, room_id, "good").await;
    let sql = "update job set payload = '{\"type\":\"Song\"}' where job_id = $1";
    world.state.db.write(sql).bind(odd.job_id).execute().await.unwrap();
    assert_eq!(world.work(world.due).await, 2);
    assert_eq!(world.texts(room_id).await, ["good"]);
    let stored = jobs::find(&world.state.db, odd.job_id).await.unwrap().unwrap();
    assert_eq!(stored.state(world.due), JobState::Active, "unclaimed");
    assert!(stored.due_at() > Some(world.due), "and tried again later");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_116_s_117_s_118_a_wake_up_does_what_the_row_says() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let wake = async |job_id, now| worker::wake(&world.state, job_id, now).await.unwrap();
    wake(JobId::new(), world.due).await;
    let job = world.message(&owner, room_id, "one").await;
    wake(job.job_id, world.due.plus_millis(-1)).await;
    assert_eq!(world.job(job.job_id).await.attempts, 0, "not before its time");
    let (_, claimed) = worker::next(&world.state, 64, world.due).await.unwrap();
    wake(job.job_id, world.due).await;
    assert!(world.texts(room_id).await.is_empty(), "claimed by somebody else");
    drop(claimed);
    for _ in 0..2 {
        wake(job.job_id, world.due.plus_millis(LEASE_MS)).await;
        assert_eq!(world.texts(room_id).await, ["one"]);
    }
    let job = world.message(&owner, room_id, "two").await;
    world.cancel(&owner, job.job_id).await.unwrap();
    wake(job.job_id, world.due).await;
    assert_eq!(world.texts(room_id).await, ["one"]);
    assert_eq!(world.job(job.job_id).await.attempts, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_steps_posts_once_and_loses_nothing() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let job = world.message(&owner, room_id, "one").await;
    // Forward beyond its time: found by the next look.
    let ahead = world.due.plus_millis(24 * HOUR);
    assert_eq!(worker::next(&world.state, 64, ahead).await.unwrap().1.len(), 1);
    // Back again, with the claim left behind: its lease ends when the clock is there again.
    assert_eq!(world.work(world.due).await, 0);
    assert_eq!(jobs::next_due(&world.state.db).await.unwrap(), Some(ahead.plus_millis(LEASE_MS)));
    assert_eq!(world.work(ahead.plus_millis(LEASE_MS)).await, 1);
    assert_eq!(world.job(job.job_id).await.state, JobState::Completed);
    assert_eq!(world.work(ahead.plus_millis(2 * LEASE_MS)).await, 0);
    assert_eq!(world.texts(room_id).await, ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_a_disabled_account_waits() {
    let world = World::new().await;
    let owner = world.user().await;
    let room_id = world.room(&owner).await;
    let job = world.message(&owner, room_id, "one").await;
    let set = async |disabled: bool| {
        let sql = "update account set is_disabled = $1 where user_id = $2";
        world.state.db.write(sql).bind(disabled).bind(owner.user_id).execute().await.unwrap();
    };
    set(true).await;
    assert_eq!(world.work(world.due).await, 1);
    assert_eq!(world.job(job.job_id).await.last_error.unwrap().code, "forbidden");
    set(false).await;
    assert_eq!(world.work(world.due.plus_millis(HOUR)).await, 1);
    assert_eq!(world.texts(room_id).await, ["one"]);
}

/// Ten thousand jobs over a thousand rooms, due at once, while somebody writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_backlog_is_worked_off_while_people_write() {
    let world = World::new().await;
    let (live, mut rooms) = (world.user().await, Vec::new());
    for _ in 0..100 {
        let owner = world.user().await;
        for _ in 0..10 {
            rooms.push((owner.clone(), world.room(&owner).await));
        }
    }
    let room_id = world.room(&live).await;
    let mut tx = world.state.db.begin().await.unwrap();
    for number in 0..10_000 {
        let (owner, room_id) = &rooms[number % rooms.len()];
        let sql = "insert into job (job_id, user_id, room_id, payload, run_at, due_at, attempts, created_at, \
            updated_at) values ($1, $2, $3, $4, $5, $5, 0, 1, 1)";
        let payload = json!({ "type": "ScheduledMessage", "message": "later", "format": Format::Text }).to_string();
        let query = tx.query(sql).bind(JobId::new()).bind(owner.user_id).bind(*room_id).bind(payload);
        query.bind(world.due).execute().await.unwrap();
    }
    tx.commit().await.unwrap();
    let begun = Instant::now();
    let (state, due) = (Arc::clone(&world.state), world.due);
    let mut worked =
        tokio::spawn(async move { worker::work_off(&state, || due, &CancellationToken::new()).await.unwrap() });
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let mut waits = Vec::new();
    let found = loop {
        tokio::select! {
            found = &mut worked => break found.unwrap(),
            _ = ticks.tick() => {
                let content = Content::Body { source: "now".to_owned(), format: Format::Text };
                let draft = Draft::new(room_id, Origin::Live, Author::Member(live.user_id), content);
                let sent = Instant::now();
                post::post(&world.state, draft).await.unwrap();
                waits.push(sent.elapsed());
            }
        }
    };
    waits.sort();
    let p99 = waits[waits.len() * 99 / 100];
    eprintln!(
        "{found} jobs in {:?}; {} live sends, p99 {p99:?}, worst {:?}",
        begun.elapsed(),
        waits.len(),
        waits.last()
    );
    assert_eq!(found, 10_000);
    assert!(begun.elapsed() < Duration::from_secs(60));
}
