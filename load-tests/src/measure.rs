//! One measured run: CPU of server and client between two marks, and what came of it.

use std::time::Instant;

use anyhow::Result;

use crate::server_process::{ServerProcess, own_cpu_ns};
use crate::stage::Tally;

/// A moment on both sides' CPU clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    at: Instant,
    server_ns: u64,
    client_ns: u64,
}

impl Mark {
    pub(crate) fn now(server: &mut ServerProcess) -> Result<Self> {
        Ok(Self { at: Instant::now(), server_ns: server.cpu_ns()?, client_ns: own_cpu_ns() })
    }
}

/// The figures of one run. A *unit* is what the scenario counts: a delivery, a send, a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    /// Server CPU a unit, µs.
    pub(crate) server_us: f64,
    /// The generator's own CPU a unit, µs: near a whole core it is the limit itself.
    pub(crate) client_us: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Bytes of one frame on the wire (of one catch-up: all its pages).
    pub(crate) bytes: Option<f64>,
    pub(crate) per_read: Option<f64>,
    /// Growth of resident memory a connection, KiB.
    pub(crate) kib: Option<f64>,
    /// Server CPU while nothing is said, ms a second.
    pub(crate) silent_ms: Option<f64>,
    /// Times a connection fell behind and was resynced.
    pub(crate) behind: u64,
}

impl Measured {
    /// What happened between two marks, `units` of it.
    pub(crate) fn between(from: Mark, to: Mark, units: u64) -> Self {
        let each = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3 / units.max(1) as f64;
        Self {
            per_second: units as f64 / (to.at - from.at).as_secs_f64(),
            server_us: each(from.server_ns, to.server_ns),
            client_us: each(from.client_ns, to.client_ns),
            ..Self::default()
        }
    }

    /// Adds latency, size and coalescing of live deliveries.
    pub(crate) fn with_deliveries(mut self, tally: &Tally) -> Self {
        self.p50_ms = tally.latency.quantile_ms(0.5);
        self.p99_ms = tally.latency.quantile_ms(0.99);
        self.bytes = Some(tally.delivery_bytes as f64 / tally.deliveries.max(1) as f64);
        self.per_read = Some(tally.deliveries as f64 / tally.reads.max(1) as f64);
        self.behind = tally.behind;
        self
    }

    /// Milliseconds of server CPU a second between two marks.
    pub(crate) fn server_ms_per_second(from: Mark, to: Mark) -> f64 {
        to.server_ns.saturating_sub(from.server_ns) as f64 / 1e6 / (to.at - from.at).as_secs_f64()
    }
}
