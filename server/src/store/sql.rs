//! Messages in SQLite and Postgres.
//!
//! Changes go through a queue to `writer`, which commits them in groups (`group`); `read` is everything else.

mod emoji;
mod facts;
pub(crate) mod files;
mod group;
mod jobs;
mod message_change;
mod moderation;
mod notes;
mod participants;
mod purge;
mod read;
mod retention;
mod role;
mod room_change;
mod row;
mod statement;
mod writer;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use parlour_protocol::{
    Nonce, RoomId, RowKey, Timestamp, UserId,
    object::{Head, Message},
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    purge::Purger,
    writer::{Queued, Told},
};
use super::{Append, AppendError, ListQuery, LogRead, MessageStore, Origin, PendingAppend, StoreError, db::Db};
use crate::{bus::Bus, clock::Skew, notifications::Outbox};

/// Changes that wait for the writer. A change that finds no place for [`QUEUE_WAIT`] is refused as unavailable.
const QUEUE: usize = 4096;
const QUEUE_WAIT: Duration = Duration::from_secs(5);

/// The message store over SQLite or Postgres.
#[derive(Debug)]
pub struct SqlStore {
    db: Db,
    queue: mpsc::Sender<Queued>,
    generation: Arc<AtomicU64>,
    outbox: Arc<Outbox>,
    skew: Skew,
}

impl SqlStore {
    /// Starts the writer, the purger and the retention of logs. When `stop` is cancelled the writer takes nothing new, commits
    /// what it has, and ends.
    pub fn start(db: Db, bus: Arc<dyn Bus>, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let (queue, receiver) = mpsc::channel(QUEUE);
        let generation = Arc::new(AtomicU64::new(0));
        let called = Arc::new(Notify::new());
        let outbox = Arc::new(Outbox::default());
        let purger = Purger {
            db: db.clone(),
            queue: queue.clone(),
            generation: Arc::clone(&generation),
            called: Arc::clone(&called),
        };
        let told = Told { bus, outbox: Arc::clone(&outbox), purger: called };
        tasks.spawn(writer::run(db.clone(), told, Arc::clone(&generation), receiver, stop.clone()));
        tasks.spawn(purger.run(stop.clone()));
        tasks.spawn(retention::run(db.clone(), stop));
        Self { db, queue, generation, outbox, skew: Skew::default() }
    }

    /// What says whether commits note notifications, and is told of them.
    pub(crate) fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(&self.outbox)
    }

    /// The same, which takes nothing while this clock is far off.
    pub(crate) fn with_clock(self, skew: Skew) -> Self {
        Self { skew, ..self }
    }

    async fn enqueue(&self, queued: Queued) {
        let queued = match self.queue.try_send(queued) {
            Ok(()) => return,
            Err(mpsc::error::TrySendError::Closed(queued)) => return queued.refuse("the store has stopped"),
            Err(mpsc::error::TrySendError::Full(queued)) => queued,
        };
        match tokio::time::timeout(QUEUE_WAIT, self.queue.reserve()).await {
            Ok(Ok(place)) => place.send(queued),
            Ok(Err(_)) => queued.refuse("the store has stopped"),
            Err(_) => {
                // Whatever was received behind this change must not be stored before its repeat.
                self.generation.fetch_add(1, Ordering::AcqRel);
                queued.refuse("too many changes wait");
            }
        }
    }
}

#[async_trait]
impl MessageStore for SqlStore {
    async fn append(&self, append: Append) -> PendingAppend {
        let (answer, pending) = oneshot::channel();
        let queued = Queued { append, answer };
        match self.skew.refusal() {
            Ok(()) => self.enqueue(queued).await,
            Err(error) => {
                // Whatever was received behind this change must not be stored before its repeat.
                self.generation.fetch_add(1, Ordering::AcqRel);
                queued.refuse(&error.to_string());
            }
        }
        PendingAppend::new(pending)
    }

    fn completes_jobs(&self) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    async fn find_nonce(
        &self,
        room_id: RoomId,
        author: UserId,
        origin: Origin,
        nonce: &Nonce,
    ) -> Result<Option<Message>, AppendError> {
        read::find_nonce(&self.db, room_id, author, origin, nonce).await
    }

    async fn heads(&self, room_ids: &[RoomId]) -> Result<Vec<(RoomId, Head)>, StoreError> {
        read::heads(&self.db, room_ids).await
    }

    async fn read_log(
        &self,
        room_id: RoomId,
        after: u64,
        up_to: u64,
        max_entries: usize,
    ) -> Result<LogRead, StoreError> {
        read::log(&self.db, room_id, after, up_to, max_entries).await
    }

    async fn list(&self, query: ListQuery) -> Result<Vec<Message>, StoreError> {
        read::list(&self.db, query).await
    }

    async fn get(&self, room_id: RoomId, row_keys: &[RowKey]) -> Result<Vec<Message>, StoreError> {
        read::get(&self.db, room_id, row_keys).await
    }

    async fn canary(&self) -> Result<(), StoreError> {
        let written = Timestamp::now().as_millis().to_string();
        self.db
            .write("insert into meta (name, value) values ('canary', $1) on conflict (name) do update set value = $1")
            .bind(&written)
            .execute()
            .await?;
        // Another node may have written since: what counts is that a row is there to be read.
        let read = self.db.read("select value from meta where name = 'canary'").optional::<(String,)>().await?;
        read.map(drop).ok_or_else(|| StoreError::Internal("a row that was just written is missing".into()))
    }
}
