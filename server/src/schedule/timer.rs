//! Wake-ups within the process: sleeps until the next row is due, woken by what becomes due earlier. Nothing else wakes
//! it but the sweep.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use parlour_protocol::{JobId, Timestamp};
use tokio::{sync::Notify, time};
use tokio_util::sync::CancellationToken;

use super::{wake_ups::WakeUps, worker};
use crate::app::AppState;

/// The longest sleep: what was lost, and what a clock that stepped made due, is found after it.
pub(super) const SWEEP: Duration = Duration::from_secs(60);
/// The shortest sleep.
const NAP: Duration = Duration::from_millis(5);

/// The timer of this process.
#[derive(Debug)]
pub(crate) struct Timer {
    /// Until when it sleeps, in ms; while it is awake, for ever.
    until: AtomicI64,
    news: Notify,
}

impl Default for Timer {
    fn default() -> Self {
        Self { until: AtomicI64::new(i64::MAX), news: Notify::new() }
    }
}

impl Timer {
    /// Looks after what is due whenever it may be due; `look` answers when the next is.
    pub(super) async fn run_with<L: Future<Output = Option<Timestamp>>>(
        &self,
        mut look: impl FnMut() -> L,
        now: impl Fn() -> Timestamp,
        stop: &CancellationToken,
    ) {
        while !stop.is_cancelled() {
            self.until.store(i64::MAX, Ordering::SeqCst);
            let next = look().await;
            let present = now();
            let sleep = next.map_or(SWEEP, |next| next.since(present).clamp(NAP, SWEEP));
            let millis = i64::try_from(sleep.as_millis()).unwrap_or(i64::MAX);
            self.until.store(present.plus_millis(millis).as_millis(), Ordering::SeqCst);
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.news.notified() => {}
                () = time::sleep(sleep) => {}
            }
        }
    }
}

#[async_trait]
impl WakeUps for Timer {
    fn schedule(&self, _: JobId, at: Timestamp) {
        if at.as_millis() < self.until.load(Ordering::SeqCst) {
            self.news.notify_one();
        }
    }

    fn cancel(&self, _: JobId) {}

    async fn run(self: Arc<Self>, state: Arc<AppState>, stop: CancellationToken) {
        self.run_with(|| worker::look(&state, &stop), Timestamp::now, &stop).await;
    }
}
