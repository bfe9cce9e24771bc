//! Azure Service Bus over AMQP 1.0, as much of it as waking takes: text is put on a queue for a time, and comes
//! out of it at that time, to one of those who listen. What comes out is locked until it is completed, or abandoned and
//! comes again. One task owns the connection and makes it again when it is lost.

mod connection;
mod connection_string;
mod link;
mod token;

use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use parlour_protocol::Timestamp;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::connection_string::ConnectionString;
use self::link::{Link, Locked};
use crate::config::ConfigError;

/// Every exchange with the service ends by then.
const DEADLINE: Duration = Duration::from_secs(15);
/// What waits to be sent. When it is full, more is refused: whoever plans finds its work by itself a little later.
const PLANNED: usize = 10_000;
/// What goes to the service in one go.
const BATCH: usize = 100;
/// What was received and nobody has taken yet. When it is full, the service keeps the rest.
const DUE: usize = 64;
/// Between two tries to connect, doubled up to [`MOST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(500);
const MOST_PAUSE: Duration = Duration::from_secs(30);

/// Why the service did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServiceBusError {
    /// It cannot be reached, or the connection broke.
    #[error("the service cannot be reached: {0}")]
    Unreachable(String),
    /// It does not take the key, or there is no such queue.
    #[error("the service refuses: {0}")]
    Refused(String),
    /// It did not answer in time.
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Deadline,
}

/// A text that comes out of the queue at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    pub(crate) text: String,
    pub(crate) at: Timestamp,
}

/// A text that has come out of the queue. Dropped, it is abandoned: it comes again.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) text: String,
    settle: oneshot::Sender<()>,
}

impl Due {
    /// It is done and does not come again.
    pub(crate) fn complete(self) {
        // Nobody listens when the connection was lost: it comes again, which whoever takes it bears.
        self.settle.send(()).unwrap_or_default();
    }
}

/// A queue of the service.
#[derive(Debug)]
pub(crate) struct Queue {
    planned: mpsc::Sender<Planned>,
    due: mpsc::Receiver<Due>,
}

/// Where a queue takes plans.
#[derive(Debug, Clone)]
pub(crate) struct Planner {
    planned: mpsc::Sender<Planned>,
}

impl Planner {
    /// Puts a text on the queue for a time. False when too much waits already.
    pub(crate) fn plan(&self, text: String, at: Timestamp) -> bool {
        self.planned.try_send(Planned { text, at }).is_ok()
    }
}

/// Opens the queue, once, to see whether it is there and the key is good. A service that is away is only warned of: it
/// is not needed to find what is due, and connected to once it is back.
///
/// # Errors
/// When it is not.
pub(crate) async fn check(service: &ConnectionString) -> Result<(), ConfigError> {
    match open(service).await {
        Ok(link) => link.close().await,
        Err(ServiceBusError::Refused(why)) => {
            let reason = format!("the service refuses ({why}); check the key and the queue {:?}", service.queue());
            return Err(ConfigError::new("service_bus.connection_string", reason));
        }
        Err(error) => tracing::warn!(%error, "Service Bus is away at the start"),
    }
    Ok(())
}

impl Queue {
    /// Begins to keep a connection to the queue, until `stop`.
    pub(crate) fn start(service: ConnectionString, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let (planned, plans) = mpsc::channel(PLANNED);
        let (dues, due) = mpsc::channel(DUE);
        let keeper = Keeper { service, plans, dues, batch: Vec::new() };
        tasks.spawn(async move { stop.run_until_cancelled(keeper.run()).await });
        Self { planned, due }
    }

    /// Where to put texts.
    pub(crate) fn planner(&self) -> Planner {
        Planner { planned: self.planned.clone() }
    }

    /// The next text that comes out; none after the end.
    pub(crate) async fn next(&mut self) -> Option<Due> {
        self.due.recv().await
    }
}

async fn open(service: &ConnectionString) -> Result<Link, ServiceBusError> {
    timeout(DEADLINE, Link::open(service)).await.unwrap_or(Err(ServiceBusError::Deadline))
}

/// Keeps the connection.
struct Keeper {
    service: ConnectionString,
    plans: mpsc::Receiver<Planned>,
    dues: mpsc::Sender<Due>,
    /// What is being sent: kept over a lost connection.
    batch: Vec<Planned>,
}

impl Keeper {
    async fn run(mut self) {
        let mut pause = PAUSE;
        loop {
            let began = Instant::now();
            let Err(error) = self.serve().await else { return };
            if began.elapsed() > MOST_PAUSE {
                pause = PAUSE;
            }
            tracing::warn!(%error, retry_in_ms = pause.as_millis(), "Service Bus is away; due jobs are found by the sweep");
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    /// Serves over one connection, until it is lost or nobody plans any more.
    async fn serve(&mut self) -> Result<(), ServiceBusError> {
        let mut link = open(&self.service).await?;
        tracing::info!(queue = self.service.queue(), "connected to Service Bus");
        let mut at_work = FuturesUnordered::new();
        loop {
            let renew_at = link.renew_at();
            if !self.batch.is_empty() {
                timeout(DEADLINE, link.send(&self.batch)).await.unwrap_or(Err(ServiceBusError::Deadline))?;
                self.batch.clear();
            }
            tokio::select! {
                planned = self.plans.recv() => {
                    let Some(planned) = planned else {
                        link.close().await;
                        return Ok(());
                    };
                    self.batch.push(planned);
                    while self.batch.len() < BATCH && let Ok(planned) = self.plans.try_recv() {
                        self.batch.push(planned);
                    }
                }
                // A place for it first: what nobody takes stays with the service.
                received = receive(&self.dues, &mut link) => {
                    let Some((place, (text, locked))) = received? else { return Ok(()) };
                    let (settle, settled) = oneshot::channel();
                    place.send(Due { text, settle });
                    at_work.push(settled.map(|done| (locked, done.is_ok())));
                }
                Some((locked, is_done)) = at_work.next() => settle(&link, locked, is_done).await?,
                () = sleep_until(renew_at) => {
                    timeout(DEADLINE, link.renew(&self.service)).await.unwrap_or(Err(ServiceBusError::Deadline))?;
                }
            }
        }
    }
}

async fn receive<'a>(
    dues: &'a mpsc::Sender<Due>,
    link: &mut Link,
) -> Result<Option<(mpsc::Permit<'a, Due>, (String, Locked))>, ServiceBusError> {
    let Ok(place) = dues.reserve().await else { return Ok(None) };
    Ok(Some((place, link.receive().await?)))
}

async fn settle(link: &Link, locked: Locked, is_done: bool) -> Result<(), ServiceBusError> {
    let settling = async { if is_done { link.complete(locked).await } else { link.abandon(locked).await } };
    timeout(DEADLINE, settling).await.unwrap_or(Err(ServiceBusError::Deadline))
}

#[cfg(test)]
mod tests;
