//! The writer: takes what is queued, commits it in one transaction, tells the bus, answers.
//!
//! It never waits for company. SQLite has one writer for all rooms; on Postgres every room with queued changes has its
//! own transaction, several at a time.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use parlour_protocol::RoomId;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    QUEUE,
    facts::Known,
    group::{self, Nonces, Outcome},
};
use crate::{
    bus::{Bus, BusEvent},
    notifications::Outbox,
    store::{
        Append, AppendError, Appended, StoreError,
        db::{Db, DbError},
    },
};

/// Most changes of one commit.
const GROUP: usize = 256;
/// How long a group may take before its outcome counts as unknown.
const DEADLINE: Duration = Duration::from_secs(15);

/// A change that waits for its commit.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) append: Append,
    pub(super) answer: oneshot::Sender<Result<Appended, AppendError>>,
}

impl Queued {
    /// Answers that the outcome is unknown.
    pub(super) fn refuse(self, reason: &str) {
        self.answer(Err(StoreError::Unavailable(reason.into()).into()));
    }

    fn answer(self, outcome: Outcome) {
        // Whoever gave the change may have gone.
        drop(self.answer.send(outcome));
    }
}

/// Commits what comes through the queue until `stop`, and what is queued then.
pub(super) async fn run(
    db: Db,
    told: Told,
    generation: Arc<AtomicU64>,
    queue: mpsc::Receiver<Queued>,
    stop: CancellationToken,
) {
    let is_sqlite = db.is_sqlite();
    let writer = Writer { db, told, generation, known: is_sqlite.then(Mutex::default) };
    if is_sqlite { writer.run_one(queue, stop).await } else { writer.run_lanes(queue, stop).await }
}

/// Who is told of commits.
pub(super) struct Told {
    pub(super) bus: Arc<dyn Bus>,
    /// Says whether notifications are noted.
    pub(super) outbox: Arc<Outbox>,
    /// Called when a commit leaves something to purge.
    pub(super) purger: Arc<Notify>,
}

struct Writer {
    db: Db,
    told: Told,
    generation: Arc<AtomicU64>,
    /// Kept from group to group where nobody else writes. Taken out while a group runs, so that one that fails or is
    /// given up leaves nothing behind.
    known: Option<Mutex<Known>>,
}

impl Writer {
    async fn run_one(&self, mut queue: mpsc::Receiver<Queued>, stop: CancellationToken) {
        let mut changes = Vec::with_capacity(GROUP);
        while receive(&mut queue, &mut changes, &stop).await {
            self.write(std::mem::replace(&mut changes, Vec::with_capacity(GROUP))).await;
        }
    }

    async fn run_lanes(&self, mut queue: mpsc::Receiver<Queued>, stop: CancellationToken) {
        // A room that is being written keeps its (maybe empty) lane, so that it is not started twice.
        let mut lanes: HashMap<RoomId, VecDeque<Queued>> = HashMap::new();
        let mut ready: VecDeque<RoomId> = VecDeque::new();
        let mut running = FuturesUnordered::new();
        let most = self.db.lanes();
        let mut waiting = 0;
        let mut is_open = true;
        let mut changes = Vec::with_capacity(GROUP);
        while is_open || !running.is_empty() {
            tokio::select! {
                more = receive(&mut queue, &mut changes, &stop), if is_open && waiting < QUEUE => {
                    is_open = more;
                    waiting += changes.len();
                    for queued in changes.drain(..) {
                        let room_id = queued.append.room_id;
                        let lane = lanes.entry(room_id).or_insert_with(|| {
                            ready.push_back(room_id);
                            VecDeque::new()
                        });
                        lane.push_back(queued);
                    }
                }
                Some(room_id) = running.next() => {
                    if lanes.get(&room_id).is_some_and(VecDeque::is_empty) {
                        lanes.remove(&room_id);
                    } else {
                        ready.push_back(room_id);
                    }
                }
            }
            while running.len() < most
                && let Some(room_id) = ready.pop_front()
            {
                let Some(lane) = lanes.get_mut(&room_id) else { continue };
                let group: Vec<Queued> = lane.drain(..lane.len().min(GROUP)).collect();
                waiting -= group.len();
                running.push(async move {
                    self.write(group).await;
                    room_id
                });
            }
        }
    }

    /// Commits a group, tells the bus, and answers.
    async fn write(&self, changes: Vec<Queued>) {
        let current = self.generation.load(Ordering::Acquire);
        let (changes, stale): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|queued| queued.append.generation >= current);
        for queued in stale {
            queued.refuse("a change before this one failed");
        }
        let (outcomes, failure) = match tokio::time::timeout(DEADLINE, self.commit(&changes)).await {
            Ok(done) => done,
            Err(_) => (Vec::new(), Some(StoreError::Unavailable("the store took too long".into()))),
        };
        if let Some(error) = &failure {
            tracing::error!(%error, changes = changes.len() - outcomes.len(), "failed to store changes");
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        // All is told before anything is answered: who has an answer finds its event on the way.
        for (queued, outcome) in changes.iter().zip(&outcomes) {
            self.publish(&queued.append, outcome);
        }
        let mut outcomes = outcomes.into_iter();
        for queued in changes {
            match (outcomes.next(), &failure) {
                (Some(outcome), _) => queued.answer(outcome),
                (None, Some(error)) => queued.refuse(&error.to_string()),
                (None, None) => queued.refuse("the store gave no outcome"),
            }
        }
    }

    fn publish(&self, append: &Append, outcome: &Outcome) {
        let Ok(appended) = outcome else { return };
        if append.change.leaves_purge() {
            self.told.purger.notify_one();
        }
        // What follows the first entry is the server's own.
        let causes = std::iter::once(append.cause).chain(std::iter::repeat(None));
        for (entry, cause) in appended.entries.iter().zip(causes) {
            let event = Arc::clone(&entry.event);
            self.told.bus.publish(BusEvent::Room { room_id: append.room_id, seq: entry.seq, event, cause });
        }
    }

    /// Commits changes. A failure leaves the outcomes of those before it; the rest is not stored, or it is unknown.
    async fn commit(&self, changes: &[Queued]) -> (Vec<Outcome>, Option<StoreError>) {
        if changes.is_empty() {
            return (Vec::new(), None);
        }
        for nonces in [Nonces::Trusted, Nonces::LookedUp] {
            match self.commit_group(changes, nonces).await {
                Ok(outcomes) => return (outcomes, None),
                Err(DbError::Store(error)) => return (Vec::new(), Some(error)),
                Err(DbError::Unique | DbError::Constraint(_)) => {}
            }
        }
        // One of them is refused by a constraint that nothing foresaw: it must not take the others along.
        let mut outcomes = Vec::with_capacity(changes.len());
        for change in changes {
            match self.commit_group(std::slice::from_ref(change), Nonces::LookedUp).await {
                Ok(outcome) => outcomes.extend(outcome),
                Err(DbError::Store(error)) => return (outcomes, Some(error)),
                Err(refusal) => {
                    tracing::error!(error = %refusal, "a change was refused by the database");
                    outcomes.push(Err(StoreError::from(refusal).into()));
                }
            }
        }
        (outcomes, None)
    }

    async fn commit_group(&self, changes: &[Queued], nonces: Nonces) -> Result<Vec<Outcome>, DbError> {
        let mut known = match &self.known {
            Some(kept) => std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Known::default(),
        };
        let notes = self.told.outbox.is_wanted();
        let outcomes = group::commit(&self.db, &mut known, changes, nonces, notes).await?;
        if notes {
            self.told.outbox.wake();
        }
        if let Some(kept) = &self.known {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = known;
        }
        Ok(outcomes)
    }
}

/// Takes what is queued, at least one; false when there is no more.
async fn receive(queue: &mut mpsc::Receiver<Queued>, changes: &mut Vec<Queued>, stop: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        received = queue.recv_many(changes, GROUP) => received > 0,
        () = stop.cancelled(), if !queue.is_closed() => {
            queue.close();
            queue.recv_many(changes, GROUP).await > 0
        }
    }
}
