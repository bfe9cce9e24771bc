//! Logs and metrics.

use std::io::{self, IsTerminal};

use prometheus_client::registry::Registry;
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    config::{LogConfig, LogFormat},
    http::HttpMetrics,
    hub::metrics::HubMetrics,
    notifications::metrics::NotificationMetrics,
    schedule::metrics::JobMetrics,
};

/// Writes logs to the standard error stream from now on. Only the first call of a process has an effect.
pub(crate) fn start_logging(config: &LogConfig) {
    let filter = EnvFilter::try_new(&config.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = io::stderr().is_terminal();
    let pretty = match config.format {
        LogFormat::Auto => is_terminal,
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let registry = tracing_subscriber::registry().with(filter);
    let outcome = if pretty {
        registry.with(fmt::layer().with_writer(io::stderr).with_ansi(is_terminal).with_target(false)).try_init()
    } else {
        registry.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).try_init()
    };
    // A test of this process may have started logging before.
    drop(outcome);
}

/// The registry of all metrics.
pub(crate) fn registry(
    hub: &HubMetrics,
    http: &HttpMetrics,
    jobs: &JobMetrics,
    notifications: &NotificationMetrics,
) -> Registry {
    let mut registry = Registry::default();
    hub.register(&mut registry);
    http.register(&mut registry);
    jobs.register(&mut registry);
    notifications.register(&mut registry);
    registry
}
