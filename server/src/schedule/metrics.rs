//! What the worker counts.

use prometheus_client::{
    metrics::{counter::Counter, gauge::Gauge},
    registry::Registry,
};

/// Counters of the worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobMetrics {
    /// Jobs whose time has come and that are not done.
    pub(super) due: Gauge,
    /// Messages posted and reminders given.
    pub(super) delivered: Counter,
    /// Tries that were refused.
    pub(super) refused: Counter,
    /// Jobs that were given up.
    pub(super) failed: Counter,
}

impl JobMetrics {
    /// Adds everything to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("parlour_jobs_due", "scheduled jobs that are due", self.due.clone());
        registry.register("parlour_jobs_delivered", "scheduled jobs that were done", self.delivered.clone());
        registry.register("parlour_jobs_refused", "tries of scheduled jobs that were refused", self.refused.clone());
        registry.register("parlour_jobs_failed", "scheduled jobs that were given up", self.failed.clone());
    }
}
