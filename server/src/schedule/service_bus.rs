//! Wake-ups by Azure Service Bus: a job's id is put on the queue for its time, and comes out of it on one of the nodes. It
//! is completed when the row was looked after, and abandoned, to come again, when it is not known whether it was.

use std::sync::Arc;

use async_trait::async_trait;
use parlour_protocol::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::{sync::Mutex, task::JoinSet};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{wake_ups::WakeUps, worker};
use crate::{
    app::AppState,
    service_bus::{ConnectionString, Due, Planner, Queue},
};

/// Calls that are worked on at once; the service keeps the rest.
const AT_ONCE: usize = 64;

/// All that is on the queue of a job: everything else is in its row.
#[derive(Debug, Serialize, Deserialize)]
struct Call {
    id: JobId,
}

/// A queue of Service Bus.
#[derive(Debug)]
pub(crate) struct ServiceBusWakeUps {
    planner: Planner,
    queue: Mutex<Queue>,
}

impl ServiceBusWakeUps {
    /// Begins to keep a connection to the queue, until `stop`.
    pub(crate) fn start(service: ConnectionString, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let queue = Queue::start(service, tasks, stop);
        Self { planner: queue.planner(), queue: Mutex::new(queue) }
    }

    async fn take_calls(&self, state: &Arc<AppState>, stop: &CancellationToken) {
        // What became due while nobody ran; its calls may have come and gone.
        worker::look(state, stop).await;
        let mut queue = self.queue.lock().await;
        let mut at_work = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                due = queue.next(), if at_work.len() < AT_ONCE => match due {
                    Some(due) => drop(at_work.spawn(take(Arc::clone(state), due))),
                    None => break,
                },
                Some(ended) = at_work.join_next() => if let Err(error) = ended {
                    tracing::error!(%error, "the call of a job ended");
                },
            }
        }
        while at_work.join_next().await.is_some() {}
    }
}

#[async_trait]
impl WakeUps for ServiceBusWakeUps {
    fn schedule(&self, job_id: JobId, at: Timestamp) {
        let text = serde_json::to_string(&Call { id: job_id }).unwrap_or_default();
        if !self.planner.plan(text, at) {
            tracing::debug!(job = %job_id, "too much waits for Service Bus; the sweep finds the job");
        }
    }

    /// The call comes all the same, finds the row as it is, and does nothing.
    fn cancel(&self, _: JobId) {}

    async fn run(self: Arc<Self>, state: Arc<AppState>, stop: CancellationToken) {
        tokio::join!(self.take_calls(&state, &stop), worker::sweep(&state, &stop));
    }
}

async fn take(state: Arc<AppState>, due: Due) {
    match serde_json::from_str::<Call>(&due.text) {
        Ok(Call { id }) => match worker::wake(&state, id, Timestamp::now()).await {
            Ok(()) => due.complete(),
            // Dropped, it comes again.
            Err(error) => tracing::warn!(%error, job = %id, "a due job could not be looked after"),
        },
        Err(error) => {
            tracing::warn!(%error, "somebody else's message is on the queue");
            due.complete();
        }
    }
}
