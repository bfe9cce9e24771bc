//! When to stop, and how long that may take.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// From the signal to the end of the process.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
/// For sockets to go and requests to be answered.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);
/// For commands that were begun.
pub(crate) const FINISH: Duration = Duration::from_secs(2);
/// For the store to commit what it took in, and for the work beside the requests to end.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

/// Waits for SIGTERM or SIGINT.
///
/// # Errors
/// When the process cannot listen to signals.
pub(crate) async fn signalled() -> std::io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}
