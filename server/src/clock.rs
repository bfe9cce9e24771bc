//! The node's clock, and how far it is from the store's.

use std::time::Duration;

use prometheus_client::{metrics::gauge::Gauge, registry::Registry};
use tokio_util::sync::CancellationToken;

use crate::store::{
    StoreError,
    db::{Db, DbError},
};

/// Nanoseconds since the Unix epoch.
pub(crate) fn now_nanos() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// Time between two comparisons.
const PAUSE: Duration = Duration::from_secs(20);
/// Further apart is worth a warning, in ms.
pub(crate) const WARN: u64 = 2_000;
/// Further apart nothing is stored: this node's messages would stand in the future, or crowd behind others'.
pub(crate) const STOP: u64 = 60_000;

/// How far this node's clock is ahead of the store's, in ms. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Skew(Gauge);

impl Skew {
    /// Adds it to the metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "How far the clock of this node is ahead of the database's, in ms";
        registry.register("parlour_clock_ahead_ms", help, self.0.clone());
    }

    /// What was measured.
    pub(crate) fn set(&self, ahead: i64) {
        let before = self.0.set(ahead).unsigned_abs();
        match (before, ahead.unsigned_abs()) {
            (_, STOP..) => {
                tracing::error!(
                    ahead_ms = ahead,
                    "the clock of this machine is over a minute off the database's: nothing is stored until one of them \
                     is set"
                );
            }
            (_, WARN..) => tracing::warn!(ahead_ms = ahead, "the clock of this machine is off the database's: set it"),
            (WARN.., _) => tracing::info!(ahead_ms = ahead, "the clock of this machine agrees with the database's"),
            _ => {}
        }
    }

    /// Why nothing may be stored.
    pub(crate) fn refusal(&self) -> Result<(), StoreError> {
        match self.0.get() {
            ahead if ahead.unsigned_abs() < STOP => Ok(()),
            ahead => {
                let seconds = ahead / 1000;
                Err(StoreError::Unavailable(format!("the clock is {seconds} s ahead of the database's").into()))
            }
        }
    }

    /// Compares once.
    pub(crate) async fn compare(&self, db: &Db) -> Result<(), DbError> {
        if let Some(ahead) = db.clock_ahead().await? {
            self.set(ahead);
        }
        Ok(())
    }

    /// Compares again and again until `stop`.
    pub(crate) async fn watch(self, db: Db, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
            if let Err(error) = self.compare(&db).await {
                tracing::debug!(%error, "the clock was not compared");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_over_a_minute_off_stops_the_node_until_it_is_set() {
        let skew = Skew::default();
        for (ahead, may_store) in [(0, true), (59_999, true), (60_000, false), (-61_000, false), (-3_000, true)] {
            skew.set(ahead);
            assert_eq!(skew.refusal().is_ok(), may_store, "{ahead}");
        }
    }
}
