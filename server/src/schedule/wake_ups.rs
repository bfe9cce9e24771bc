//! The seam to whatever calls the worker in time.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use parlour_protocol::{JobId, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::app::AppState;

/// Calls the worker with a job at its time or later, at least once. It knows no more of a job than its id and when to
/// call: the row decides what is done. Whatever it loses is found by the sweep ([`super::worker::sweep`]), which an
/// implementation runs beside it.
#[async_trait]
pub(crate) trait WakeUps: Send + Sync + fmt::Debug {
    /// Asks for a call at `at`. Does not wait.
    fn schedule(&self, job_id: JobId, at: Timestamp);

    /// Takes calls for a job back, as far as that is easy.
    fn cancel(&self, job_id: JobId);

    /// Calls the worker ([`super::worker::wake`]) until `stop`.
    async fn run(self: Arc<Self>, state: Arc<AppState>, stop: CancellationToken);
}
