//! The worker: carries what is noted, pushes what is due, and sleeps until a commit or the next due time.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use parlour_protocol::Timestamp;
use rand::RngExt;
use tokio::{sync::Notify, time};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Carried, Notifications, Outbox, PushOutcome, PushSender, metrics::NotificationMetrics};
use crate::{
    directory::{
        notifications::{self, Delivery, Retry},
        push,
    },
    store::{StoreError, db::Db},
};

/// Notifications carried at once.
const BATCH: usize = 128;
/// Pushes at the same time.
const PUSHES: usize = 32;
/// Tries until something is given up on.
const TRIES: u32 = 10;
/// The longest time without a look.
const SWEEP: Duration = Duration::from_secs(60);
/// Between tries when the database fails.
const PAUSE: Duration = Duration::from_secs(5);
/// The first wait before another try; each is twice as long as the one before.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(20 * 60);
/// The longest that a push service can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(6 * 3600);

/// Carries and pushes.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) db: Db,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) carrier: Arc<dyn Notifications>,
    pub(crate) sender: Arc<dyn PushSender>,
    pub(crate) metrics: NotificationMetrics,
    /// Deliveries were noted.
    pub(crate) noted: Notify,
}

impl Worker {
    /// Works until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let work = async { tokio::join!(self.carry_all(), self.push_all(), self.sweep_all()) };
        stop.run_until_cancelled(work).await;
    }

    async fn carry_all(&self) {
        loop {
            let wait = match self.carry(Timestamp::now()).await {
                Ok(BATCH..) => continue,
                Ok(_) => notifications::next_due(&self.db).await.map_or(PAUSE, until),
                Err(error) => {
                    tracing::warn!(%error, "notifications wait for the database");
                    PAUSE
                }
            };
            drop(time::timeout(wait, self.outbox.news()).await);
        }
    }

    /// Carries what is due; how many there were.
    pub(super) async fn carry(&self, now: Timestamp) -> Result<usize, StoreError> {
        let taken = notifications::take(&self.db, now, BATCH).await?;
        if taken.is_empty() {
            return Ok(0);
        }
        let (mut done, mut deliveries, mut retries) = (Vec::new(), Vec::new(), Vec::new());
        for (notification, carried) in taken.iter().zip(self.carrier.carry(&taken, now).await) {
            match carried {
                Carried::Resolved(found) => {
                    self.metrics.count_carried(if found.is_empty() { "for_nobody" } else { "resolved" });
                    done.push(notification.id);
                    deliveries.extend(found);
                }
                Carried::Failed(reason) => {
                    tracing::warn!(%reason, "a notification is not carried");
                    self.metrics.count_carried("failed");
                    retries.push(another_try(notification.id, notification.tries, reason, None, now));
                }
            }
        }
        notifications::settle(&self.db, &done, &deliveries, &retries, now).await?;
        if !deliveries.is_empty() {
            self.noted.notify_one();
        }
        Ok(taken.len())
    }

    async fn push_all(&self) {
        let mut running = FuturesUnordered::new();
        let mut busy: HashSet<Uuid> = HashSet::new();
        let mut settled: Vec<(Delivery, PushOutcome)> = Vec::new();
        let mut wait = Duration::ZERO;
        loop {
            tokio::select! {
                Some(done) = running.next(), if !running.is_empty() => {
                    settled.push(done);
                    while let Some(Some(done)) = running.next().now_or_never() {
                        settled.push(done);
                    }
                }
                () = self.noted.notified() => {}
                () = time::sleep(wait) => {}
            }
            let now = Timestamp::now();
            if let Err(error) = self.settle(&settled, now).await {
                tracing::warn!(%error, "what became of pushes waits for the database");
                time::sleep(PAUSE).await;
                wait = PAUSE;
                continue;
            }
            for (delivery, _) in settled.drain(..) {
                busy.remove(&delivery.id);
            }
            let free = PUSHES.saturating_sub(busy.len());
            let taken = match free {
                0 => Ok(Vec::new()),
                free => notifications::take_deliveries(&self.db, now, free, |id| busy.contains(&id), busy.len()).await,
            };
            wait = match taken {
                Ok(taken) => {
                    for delivery in taken {
                        busy.insert(delivery.id);
                        running.push(async move {
                            let outcome = self.sender.push(&delivery).await;
                            (delivery, outcome)
                        });
                    }
                    notifications::next_delivery_due(&self.db, now).await.map_or(PAUSE, until)
                }
                Err(error) => {
                    tracing::warn!(%error, "pushes wait for the database");
                    PAUSE
                }
            };
        }
    }

    /// Pushes what is due, once; how many there were.
    #[cfg(test)]
    pub(super) async fn push(&self, now: Timestamp) -> usize {
        let taken = notifications::take_deliveries(&self.db, now, PUSHES, |_| false, 0).await.unwrap();
        let mut settled = Vec::new();
        for delivery in taken {
            let outcome = self.sender.push(&delivery).await;
            settled.push((delivery, outcome));
        }
        self.settle(&settled, now).await.unwrap();
        settled.len()
    }

    async fn settle(&self, settled: &[(Delivery, PushOutcome)], now: Timestamp) -> Result<(), StoreError> {
        if settled.is_empty() {
            return Ok(());
        }
        let (mut arrived, mut ended, mut retries) = (Vec::new(), Vec::new(), Vec::new());
        for (delivery, outcome) in settled {
            match outcome {
                PushOutcome::Arrived => arrived.push(delivery.id),
                PushOutcome::Ended => ended.push(delivery.subscription_id),
                PushOutcome::Refused { reason, retry_after } => {
                    tracing::debug!(%reason, tries = delivery.tries + 1, "a push is refused");
                    retries.push(another_try(delivery.id, delivery.tries, reason.clone(), *retry_after, now));
                }
            }
        }
        notifications::settle_deliveries(&self.db, &arrived, &ended, &retries, now).await?;
        for (_, outcome) in settled {
            self.metrics.count_push(match outcome {
                PushOutcome::Arrived => "arrived",
                PushOutcome::Ended => "address_ended",
                PushOutcome::Refused { .. } => "refused",
            });
        }
        let given_up = retries.iter().filter(|retry| retry.is_dead).count();
        if given_up > 0 {
            tracing::warn!(pushes = given_up, "pushes are given up on; `parlour dead-letters list` shows them");
        }
        Ok(())
    }

    async fn sweep_all(&self) {
        loop {
            time::sleep(SWEEP).await;
            if let Err(error) = self.sweep(Timestamp::now()).await {
                tracing::warn!(%error, "old notifications are forgotten later");
            }
        }
    }

    /// Forgets what is over, and whether anything has to be noted.
    pub(super) async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        push::remove_expired(&self.db, now).await?;
        notifications::forget_old(&self.db, now).await?;
        let wishes = self.outbox.wishes();
        if push::any(&self.db).await? {
            self.outbox.wanted();
        } else {
            self.outbox.unwanted_since(wishes);
        }
        Ok(())
    }
}

/// How long to sleep.
fn until(next: Option<Timestamp>) -> Duration {
    next.map_or(SWEEP, |next| next.since(Timestamp::now()).min(SWEEP))
}

/// Another try of something, unless it was tried often enough.
fn another_try(id: Uuid, tries: u32, reason: String, asked: Option<Duration>, now: Timestamp) -> Retry {
    let doubled = FIRST_WAIT.saturating_mul(1 << tries.min(16)).min(LONGEST_WAIT);
    let spread = doubled.mul_f64(rand::rng().random_range(1.0..1.2));
    let wait = spread.max(asked.unwrap_or_default().min(LONGEST_ASKED));
    let due_at = now.plus_millis(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
    Retry { id, reason, due_at, is_dead: tries + 1 >= TRIES }
}
