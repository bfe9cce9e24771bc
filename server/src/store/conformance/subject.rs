//! A store under test, with what a test needs around it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use parlour_protocol::{
    DurableEvent, FileId, InviteId, MessageType, Nonce, RoomId, RowKey, UserId,
    object::{File, Head, Message},
    operation::Order,
};
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    bus::{Bus, BusEvent, in_process::InProcessBus},
    store::{
        Append, AppendError, Appended, ListQuery, LogEntry, LogRead, MessageStore, NewMessage, Origin, RoomChange,
        db::Db, sql::SqlStore, testing::TestDb,
    },
};

/// 2026-01-01 in nanoseconds.
const START: i64 = 1_767_225_600_000_000_000;

pub(super) struct Subject {
    pub(super) store: Arc<dyn MessageStore>,
    pub(super) heard: broadcast::Receiver<BusEvent>,
    test: TestDb,
    tasks: TaskTracker,
    stop: CancellationToken,
    clock: AtomicI64,
}

pub(super) fn nonce(text: &str) -> Nonce {
    text.parse().unwrap()
}

/// A message without anything special.
pub(super) fn text(user_id: UserId, body: &str) -> NewMessage {
    NewMessage {
        message_type: MessageType::Message,
        user_id: Some(user_id),
        app_user: None,
        origin: Origin::Live,
        nonce: None,
        body: body.to_owned(),
        files: Vec::new(),
        mentions: Vec::new(),
        reply_row_key: None,
        link_preview: None,
        poll: None,
        is_forward: false,
        slowmode_ms: None,
        job: None,
    }
}

impl Subject {
    pub(super) async fn sqlite() -> Self {
        Self::over(TestDb::sqlite().await)
    }

    pub(super) async fn postgres() -> Option<Self> {
        TestDb::postgres().await.map(Self::over)
    }

    fn over(test: TestDb) -> Self {
        let bus = Arc::new(InProcessBus::new());
        let heard = bus.listen();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let bus: Arc<dyn Bus> = bus;
        let store = Arc::new(SqlStore::start(test.db.clone(), bus, &tasks, stop.clone()));
        Self { store, heard, test, tasks, stop, clock: AtomicI64::new(START) }
    }

    /// Stops the store in good order and starts it on the same database.
    pub(super) async fn reopen(self) -> Self {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        drop(self.store);
        Self::over(self.test.reopen().await)
    }

    /// The database as another node sees it.
    pub(super) async fn beside(&self) -> Option<Db> {
        self.test.beside().await
    }

    pub(super) fn db(&self) -> &Db {
        &self.test.db
    }

    /// The time of the next change: a millisecond after the one before.
    pub(super) fn now(&self) -> i64 {
        self.clock.fetch_add(1_000_000, Ordering::Relaxed)
    }

    pub(super) fn set_now(&self, now: i64) {
        self.clock.store(now, Ordering::Relaxed);
    }

    pub(super) async fn account(&self, name: &str) -> UserId {
        let user_id = UserId::new();
        self.db()
            .write(
                "insert into account (user_id, name, name_key, name_fold, image, biography, is_operator, is_disabled, \
                 is_deleted, created_at, updated_at) values ($1, $2, $3, $2, '', '', $4, $4, $4, 1, 1)",
            )
            .bind(user_id)
            .bind(name)
            .bind(user_id.to_string())
            .bind(false)
            .execute()
            .await
            .unwrap();
        user_id
    }

    /// A room with its owner.
    pub(super) async fn room(&self) -> (RoomId, UserId) {
        let (room_id, owner) = (RoomId::new(), self.account("owner").await);
        let mut tx = self.db().begin().await.unwrap();
        tx.query(
            "insert into room (room_id, type, name, topic, image, user_id, is_read_only, is_invite_paused, \
             allowed_mime_categories, created_at, updated_at) \
             values ($1, 'Room', 'Lounge', '', '', $2, $3, $3, '[\"Image\"]', 1, 1)",
        )
        .bind(room_id)
        .bind(owner)
        .bind(false)
        .execute()
        .await
        .unwrap();
        tx.query("insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, $2, 0, 0, 0)")
            .bind(room_id)
            .bind(Uuid::new_v4().simple().to_string())
            .execute()
            .await
            .unwrap();
        tx.query(
            "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
             values ($1, $2, '', 'DirectMessage', $3, 1)",
        )
        .bind(room_id)
        .bind(owner)
        .bind(false)
        .execute()
        .await
        .unwrap();
        tx.commit().await.unwrap();
        (room_id, owner)
    }

    pub(super) async fn invite(&self, room_id: RoomId, owner: UserId, code: &str, max_uses: u32) -> InviteId {
        let invite_id: InviteId = code.parse().unwrap();
        self.db()
            .write(
                "insert into invite (invite_id, room_id, user_id, expires_at, max_uses, uses, created_at) \
                 values ($1, $2, $3, $4, $5, 0, 1)",
            )
            .bind(invite_id)
            .bind(room_id)
            .bind(owner)
            .bind(START / 1_000_000 + 3_600_000)
            .bind(max_uses)
            .execute()
            .await
            .unwrap();
        invite_id
    }

    /// An upload that waits for its message.
    pub(super) async fn upload(&self, room_id: RoomId, user_id: UserId, filename: &str) -> File {
        let (file_id, mimetype) = (FileId::new(), "image/png");
        let file = File {
            file_id,
            filename: filename.to_owned(),
            mimetype: mimetype.to_owned(),
            size: 12,
            has_thumbnail: true,
        };
        self.db()
            .write(
                "insert into file (file_id, kind, room_id, user_id, filename, mimetype, size, has_thumbnail, \
                 created_at, expires_at) values ($1, 'File', $2, $3, $4, $5, 12, $6, 1, $7)",
            )
            .bind(file_id.uuid())
            .bind(room_id)
            .bind(user_id)
            .bind(filename)
            .bind(mimetype)
            .bind(true)
            .bind(START / 1_000_000 + 3_600_000)
            .execute()
            .await
            .unwrap();
        file
    }

    /// The one number of a query about a room.
    pub(super) async fn count(&self, sql: &'static str, room_id: RoomId) -> i64 {
        let (count,): (i64,) = self.db().read(sql).bind(room_id).one().await.unwrap();
        count
    }

    pub(super) fn change(&self, room_id: RoomId, change: RoomChange) -> Append {
        Append { room_id, now: self.now(), cause: None, generation: self.store.generation(), change }
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let pending = self.store.append(append).await;
        tokio::time::timeout(Duration::from_secs(60), pending).await.expect("an answer in time")
    }

    pub(super) async fn apply(&self, room_id: RoomId, change: RoomChange) -> Result<Appended, AppendError> {
        self.append(self.change(room_id, change)).await
    }

    pub(super) async fn post(&self, room_id: RoomId, new: NewMessage) -> Result<Appended, AppendError> {
        self.apply(room_id, RoomChange::Send(Box::new(new))).await
    }

    /// Sends a message that must be accepted.
    pub(super) async fn send(&self, room_id: RoomId, user_id: UserId, body: &str) -> Arc<Message> {
        self.post(room_id, text(user_id, body)).await.unwrap().message.unwrap()
    }

    pub(super) async fn edit(&self, room_id: RoomId, row_key: RowKey, body: &str) -> Result<Appended, AppendError> {
        let change = RoomChange::Edit { row_key, body: body.to_owned(), mentions: Vec::new(), if_rev: None };
        self.apply(room_id, change).await
    }

    pub(super) async fn delete(&self, room_id: RoomId, row_key: RowKey) -> Result<Appended, AppendError> {
        self.apply(room_id, RoomChange::Delete { row_key }).await
    }

    pub(super) async fn join(&self, room_id: RoomId, user_id: UserId) -> Result<Appended, AppendError> {
        let line = "came in".to_owned();
        self.apply(room_id, RoomChange::Join { user_id, invite_id: None, by: None, line, nonce: None }).await
    }

    pub(super) async fn head(&self, room_id: RoomId) -> Head {
        self.store.heads(&[room_id]).await.unwrap().pop().unwrap().1
    }

    /// The folded log after a position, up to the head.
    pub(super) async fn log(&self, room_id: RoomId, after: u64) -> Vec<LogEntry> {
        let head = self.head(room_id).await.seq;
        match self.store.read_log(room_id, after, head, usize::MAX).await.unwrap() {
            LogRead::Entries { entries, seq } => {
                assert_eq!(seq, head);
                entries
            }
            LogRead::OutOfReach => panic!("{after} is out of reach of {head}"),
        }
    }

    /// All live messages, newest first, in one page.
    pub(super) async fn all(&self, room_id: RoomId) -> Vec<Message> {
        self.page(room_id, Order::Desc, None, usize::MAX).await
    }

    pub(super) async fn page(&self, room_id: RoomId, order: Order, from: Option<RowKey>, limit: usize) -> Vec<Message> {
        let query = ListQuery { room_id, order, from, inclusive: false, pinned: false, reply_to: None, limit };
        self.store.list(query).await.unwrap()
    }

    /// What the bus told so far of a room.
    pub(super) fn told(&mut self, room: RoomId) -> Vec<(u64, Arc<DurableEvent>)> {
        let mut told = Vec::new();
        while let Ok(event) = self.heard.try_recv() {
            if let BusEvent::Room { room_id, seq, event, .. } = event
                && room_id == room
            {
                told.push((seq, event));
            }
        }
        told
    }
}
