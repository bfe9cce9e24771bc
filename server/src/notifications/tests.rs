//! Notifications from the commit of a message to its pushes, on both databases.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use parlour_protocol::{MessageType, RowKey, SessionId, object::Message};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{recipients::Resolver, worker::Worker, *};
use crate::{
    bus::{Bus, in_process::InProcessBus},
    clock,
    directory::{
        notifications::{self as rows, Fate},
        push::{self, NewSubscription},
    },
    rooms::state::RoomStates,
    store::{Append, Mention, MessageStore, NewMessage, Origin, RoomChange, sql::SqlStore, testing::TestDb},
};

/// Takes pushes, and answers what it is told to.
#[derive(Debug, Default)]
struct Recorder {
    answers: Mutex<VecDeque<PushOutcome>>,
    pushed: Mutex<Vec<Delivery>>,
}

#[async_trait]
impl PushSender for Recorder {
    async fn push(&self, delivery: &Delivery) -> PushOutcome {
        self.pushed.lock().unwrap_or_else(PoisonError::into_inner).push(delivery.clone());
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.unwrap_or(PushOutcome::Arrived)
    }
}

struct Scene {
    test: TestDb,
    store: Arc<dyn MessageStore>,
    outbox: Arc<Outbox>,
    worker: Worker,
    recorder: Arc<Recorder>,
    room_id: RoomId,
    _tasks: TaskTracker,
    _stop: CancellationToken,
}

/// An empty conversation in each database that is there.
async fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for test in [Some(TestDb::sqlite().await), TestDb::postgres().await].into_iter().flatten() {
        scenes.push(Scene::new(test).await);
    }
    scenes
}

impl Scene {
    async fn new(test: TestDb) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let bus: Arc<dyn Bus> = Arc::new(InProcessBus::new());
        let sql = SqlStore::start(test.db.clone(), bus, &tasks, stop.clone());
        let outbox = sql.outbox();
        let store: Arc<dyn MessageStore> = Arc::new(sql);
        let recorder = Arc::new(Recorder::default());
        let resolver = Resolver {
            db: test.db.clone(),
            store: Arc::clone(&store),
            rooms: Arc::new(RoomStates::new(test.db.clone())),
            public_url: Some("https://chat.example.org".to_owned()),
        };
        let worker = Worker {
            db: test.db.clone(),
            outbox: Arc::clone(&outbox),
            carrier: Arc::new(resolver),
            sender: Arc::clone(&recorder) as Arc<dyn PushSender>,
            metrics: metrics::NotificationMetrics::default(),
            noted: Notify::new(),
        };
        let room_id = RoomId::new();
        let db = &test.db;
        let sql = "insert into room (room_id, type, name, topic, image, is_read_only, is_invite_paused, \
            allowed_mime_categories, created_at, updated_at) values ($1, 'DirectMessage', '', '', '', $2, $2, '[]', 1, 1)";
        db.write(sql).bind(room_id).bind(false).execute().await.unwrap();
        let sql = "insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, 'e', 0, 0, 0)";
        db.write(sql).bind(room_id).execute().await.unwrap();
        Self { test, store, outbox, worker, recorder, room_id, _tasks: tasks, _stop: stop }
    }

    /// A member without a push address.
    async fn member(&self, name: &str, notification_type: &str) -> UserId {
        let (user_id, db) = (UserId::new(), &self.test.db);
        let sql = "insert into account (user_id, name, name_key, name_fold, image, biography, is_operator, \
            is_disabled, is_deleted, created_at, updated_at) values ($1, $2, $3, $2, '', '', $4, $4, $4, 1, 1)";
        let query = db.write(sql).bind(user_id).bind(name).bind(user_id.to_string()).bind(false);
        query.execute().await.unwrap();
        let sql = "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
            values ($1, $2, $3, $4, $5, 1)";
        let query = db.write(sql).bind(self.room_id).bind(user_id).bind(format!("{name} here"));
        query.bind(notification_type).bind(false).execute().await.unwrap();
        user_id
    }

    /// A member with one.
    async fn listener(&self, name: &str, notification_type: &str) -> UserId {
        let user_id = self.member(name, notification_type).await;
        let (session_id, db) = (SessionId::new(), &self.test.db);
        let sql = "insert into session (session_id, user_id, client_name, client_version, address, created_at, \
            last_seen_at, expires_at) values ($1, $2, '', '', '', 1, 1, $3)";
        let far = Timestamp::now().plus_millis(3_600_000_000);
        db.write(sql).bind(session_id).bind(user_id).bind(far).execute().await.unwrap();
        let new = NewSubscription {
            user_id,
            session_id,
            endpoint: format!("https://push.example.org/{name}"),
            p256dh: vec![4; 65],
            auth: vec![7; 16],
            expires_at: None,
        };
        push::put(db, new, 50, Timestamp::now()).await.unwrap().unwrap();
        self.outbox.wanted();
        user_id
    }

    async fn say(&self, user_id: UserId, body: &str, mentions: &[Mention], reply: Option<RowKey>) -> Arc<Message> {
        let new = NewMessage {
            message_type: MessageType::Message,
            user_id: Some(user_id),
            app_user: None,
            origin: Origin::Live,
            nonce: None,
            body: body.to_owned(),
            files: Vec::new(),
            mentions: mentions.to_vec(),
            reply_row_key: reply,
            link_preview: None,
            poll: None,
            is_forward: false,
            slowmode_ms: None,
            job: None,
        };
        let append = Append {
            room_id: self.room_id,
            now: clock::now_nanos(),
            cause: None,
            generation: self.store.generation(),
            change: RoomChange::Send(Box::new(new)),
        };
        self.store.append(append).await.await.unwrap().message.unwrap()
    }

    /// Carries and pushes what is due; to whom, in order.
    async fn pushed(&self) -> Vec<String> {
        let now = Timestamp::now().plus_millis(1000);
        self.worker.carry(now).await.unwrap();
        self.push_at(now).await
    }

    async fn push_at(&self, now: Timestamp) -> Vec<String> {
        self.worker.push(now).await;
        let pushed = std::mem::take(&mut *self.recorder.pushed.lock().unwrap());
        let name = |delivery: Delivery| delivery.target.endpoint.rsplit('/').next().unwrap().to_owned();
        let mut names: Vec<_> = pushed.into_iter().map(name).collect();
        names.sort_unstable();
        names
    }

    fn answer(&self, outcome: PushOutcome) {
        self.recorder.answers.lock().unwrap().push_back(outcome);
    }

    async fn count(&self, sql: &'static str) -> i64 {
        self.test.db.read(sql).one::<(i64,)>().await.unwrap().0
    }
}

fn refused(retry_after: Option<Duration>) -> PushOutcome {
    PushOutcome::Refused { reason: "the service answered 429".to_owned(), retry_after }
}

#[tokio::test]
async fn s_094_s_096_settings_and_mentions_say_who_is_told() {
    for scene in scenes().await {
        let ada = scene.listener("ada", "All").await;
        scene.listener("all", "All").await;
        let some = scene.listener("some", "DirectMessage").await;
        let never = scene.listener("never", "Never").await;
        scene.member("deaf", "All").await;
        scene.say(ada, "hello", &[], None).await;
        assert_eq!(scene.pushed().await, ["all"]);
        scene.say(ada, "you", &[Mention::User(some), Mention::User(never), Mention::Everyone], None).await;
        assert_eq!(scene.pushed().await, ["all", "some"], "once each");
        scene.say(ada, "here", &[Mention::Here], None).await;
        assert_eq!(scene.pushed().await, ["all", "some"]);
        assert_eq!(scene.count("select count(*) from notification").await, 0);
        assert_eq!(scene.count("select count(*) from push_delivery").await, 0);
    }
}

#[tokio::test]
async fn s_097_who_follows_a_thread_is_told_once() {
    for scene in scenes().await {
        let ada = scene.listener("ada", "DirectMessage").await;
        let bob = scene.listener("bob", "All").await;
        scene.listener("cy", "DirectMessage").await;
        let root = scene.say(ada, "root", &[], None).await;
        assert_eq!(scene.pushed().await, ["bob"]);
        scene.say(bob, "first answer", &[], Some(root.row_key)).await;
        // The author of what is answered follows.
        assert_eq!(scene.pushed().await, ["ada"]);
        scene.say(ada, "second answer", &[], Some(root.row_key)).await;
        assert_eq!(scene.pushed().await, ["bob"]);
    }
}

#[tokio::test]
async fn do_not_disturb_and_blocks_silence_and_what_is_read_or_deleted_is_not_told() {
    for scene in scenes().await {
        let ada = scene.listener("ada", "All").await;
        let (busy, foe) = (scene.listener("busy", "All").await, scene.listener("foe", "All").await);
        let reader = scene.listener("reader", "All").await;
        scene.listener("bob", "All").await;
        let db = &scene.test.db;
        let sql = "insert into user_status (user_id, status, message) values ($1, 'DoNotDisturb', '')";
        db.write(sql).bind(busy).execute().await.unwrap();
        let sql = "insert into user_block (blocker_id, blocked_id, created_at) values ($1, $2, 1)";
        db.write(sql).bind(foe).bind(ada).execute().await.unwrap();
        scene.say(ada, "hello", &[Mention::User(busy), Mention::User(foe)], None).await;
        let sql = "update member set last_read_at = $2 where user_id = $1";
        db.write(sql).bind(reader).bind(Timestamp::now().plus_millis(5000)).execute().await.unwrap();
        assert_eq!(scene.pushed().await, ["bob"]);
        let gone = scene.say(ada, "oops", &[], None).await;
        let append = Append {
            room_id: scene.room_id,
            now: clock::now_nanos(),
            cause: None,
            generation: scene.store.generation(),
            change: RoomChange::Delete { row_key: gone.row_key },
        };
        scene.store.append(append).await.await.unwrap();
        assert!(scene.pushed().await.is_empty());
    }
}

#[tokio::test]
async fn s_129_s_130_a_push_says_who_and_what_and_where() {
    for scene in scenes().await {
        let ada = scene.member("ada", "All").await;
        scene.listener("bob", "All").await;
        scene.say(ada, "", &[], None).await;
        assert!(scene.pushed().await.is_empty(), "a message without text is not told");
        let message = scene.say(ada, "<p>hej å ä ö</p><p>more</p>", &[], None).await;
        let now = Timestamp::now().plus_millis(1000);
        scene.worker.carry(now).await.unwrap();
        scene.worker.push(now).await;
        let pushed = scene.recorder.pushed.lock().unwrap().pop().unwrap();
        let payload: serde_json::Value = serde_json::from_str(&pushed.payload).unwrap();
        let url = format!("https://chat.example.org/room/{}/{}", scene.room_id, message.row_key);
        assert_eq!((&payload["title"], &payload["body"]), (&"ada here".into(), &"hej å ä ö".into()));
        assert_eq!(payload["data"]["url"], url);
        assert!(payload.get("icon").is_none());
        assert_eq!((pushed.topic.len(), pushed.is_urgent), (32, false));
    }
}

#[tokio::test]
async fn s_128_an_address_that_has_ended_goes_and_others_stay() {
    for scene in scenes().await {
        let ada = scene.member("ada", "All").await;
        scene.listener("bob", "All").await;
        scene.answer(refused(None));
        scene.say(ada, "one", &[], None).await;
        assert_eq!(scene.pushed().await, ["bob"]);
        assert_eq!(scene.count("select count(*) from push_subscription").await, 1);
        assert!(scene.pushed().await.is_empty(), "not at once");
        scene.answer(PushOutcome::Ended);
        assert_eq!(scene.push_at(Timestamp::now().plus_millis(8000)).await, ["bob"]);
        assert_eq!(scene.count("select count(*) from push_subscription").await, 0);
        assert_eq!(scene.count("select count(*) from push_delivery").await, 0);
        scene.worker.sweep(Timestamp::now()).await.unwrap();
        assert!(!scene.outbox.is_wanted());
        scene.say(ada, "two", &[], None).await;
        assert_eq!(scene.count("select count(*) from notification").await, 0, "nobody could be told");
    }
}

#[tokio::test]
async fn a_push_waits_as_long_as_asked_is_given_up_after_ten_tries_and_can_be_replayed() {
    for scene in scenes().await {
        let (ada, day) = (scene.member("ada", "All").await, 86_400_000);
        scene.listener("bob", "All").await;
        scene.answer(refused(Some(Duration::from_secs(3600))));
        scene.say(ada, "one", &[], None).await;
        let start = Timestamp::now();
        assert_eq!(scene.pushed().await, ["bob"]);
        assert!(scene.push_at(start.plus_millis(3_500_000)).await.is_empty());
        for round in 1..10 {
            scene.answer(refused(None));
            assert_eq!(scene.push_at(start.plus_millis(round * day)).await, ["bob"], "try {round}");
        }
        let now = start.plus_millis(20 * day);
        assert!(scene.push_at(now).await.is_empty(), "given up");
        let letters = rows::dead_letters(&scene.test.db, 10).await.unwrap();
        assert_eq!((letters.len(), letters[0].tries, letters[0].what.as_str()), (1, 10, "push"));
        let ids = [letters[0].id];
        assert_eq!(rows::act_on_dead(&scene.test.db, Some(&ids), Fate::Replay, now).await.unwrap(), 1);
        assert_eq!(scene.push_at(now).await, ["bob"]);
        assert_eq!(scene.count("select count(*) from push_delivery").await, 0);
    }
}

#[tokio::test]
async fn a_push_that_a_crash_breaks_off_is_repeated() {
    for scene in scenes().await {
        let ada = scene.member("ada", "All").await;
        scene.listener("bob", "All").await;
        scene.say(ada, "one", &[], None).await;
        let now = Timestamp::now().plus_millis(1000);
        scene.worker.carry(now).await.unwrap();
        // Taken, and never heard of again.
        assert_eq!(rows::take_deliveries(&scene.test.db, now, 10, |_| false, 0).await.unwrap().len(), 1);
        assert_eq!(scene.push_at(now.plus_millis(61_000)).await, ["bob"]);
    }
}
