//! What notifications count.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What became of something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Outcome {
    outcome: &'static str,
}

/// Counters of notifications.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotificationMetrics {
    carried: Family<Outcome, Counter>,
    pushes: Family<Outcome, Counter>,
}

impl NotificationMetrics {
    pub(crate) fn count_carried(&self, outcome: &'static str) {
        self.carried.get_or_create(&Outcome { outcome }).inc();
    }

    pub(crate) fn count_push(&self, outcome: &'static str) {
        self.pushes.get_or_create(&Outcome { outcome }).inc();
    }

    /// Adds everything to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("parlour_notifications", "notifications, by what became of them", self.carried.clone());
        registry.register("parlour_pushes", "pushes to browsers, by what became of them", self.pushes.clone());
    }
}
