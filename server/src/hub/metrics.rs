//! What delivery counts.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use crate::ws::connection::SocketMetrics;

/// Why a subscription went on from the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Cause {
    pub(super) cause: &'static str,
}

/// Counters of the hub.
#[derive(Debug, Clone, Default)]
pub(crate) struct HubMetrics {
    /// Durable events handed to sockets.
    pub(crate) deliveries: Counter,
    /// Turns of the delivery task.
    pub(crate) turns: Counter,
    /// Bus events that the delivery task missed because it lagged.
    pub(crate) bus_lag: Counter,
    /// Whether events of other nodes arrive, as it is when somebody asks.
    pub(crate) bus_up: Gauge,
    /// Rooms in memory.
    pub(crate) rooms: Gauge,
    /// Catch-up pages built.
    pub(crate) pages: Counter,
    /// Subscriptions that fell behind, by cause.
    pub(crate) behind: Family<Cause, Counter>,
    /// Counters of the sockets.
    pub(crate) sockets: SocketMetrics,
}

impl HubMetrics {
    /// Counts subscriptions that go on from the store.
    pub(crate) fn count_behind(&self, cause: &'static str, subscriptions: u64) {
        self.behind.get_or_create(&Cause { cause }).inc_by(subscriptions);
    }

    /// Adds everything to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let sockets = &self.sockets;
        registry.register("parlour_connections", "open sockets", sockets.connections.clone());
        registry.register("parlour_frames_received", "frames received from sockets", sockets.frames.clone());
        registry.register("parlour_queued_bytes", "bytes waiting for slow sockets", sockets.queued_bytes.clone());
        registry.register(
            "parlour_hints_dropped",
            "ephemeral events dropped because a socket was slow",
            sockets.hints_dropped.clone(),
        );
        registry.register(
            "parlour_user_events_dropped",
            "user events dropped because a socket was slow",
            sockets.user_events_dropped.clone(),
        );
        registry.register("parlour_deliveries", "durable events handed to sockets", self.deliveries.clone());
        registry.register("parlour_delivery_turns", "turns of the delivery task", self.turns.clone());
        registry.register("parlour_bus_lag", "bus events that delivery missed", self.bus_lag.clone());
        registry.register("parlour_bus_up", "whether events of other nodes arrive by the bus", self.bus_up.clone());
        registry.register("parlour_rooms_in_memory", "rooms with subscribers, or lately so", self.rooms.clone());
        registry.register("parlour_catch_up_pages", "pages of missed events sent", self.pages.clone());
        registry.register(
            "parlour_subscriptions_behind",
            "subscriptions that went on from the store, by cause",
            self.behind.clone(),
        );
    }
}
