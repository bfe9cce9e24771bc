//! The composition root: the only file that names concrete backends.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use parlour_protocol::{ProtocolError, Timestamp, limits::Limits};
use prometheus_client::registry::Registry;
use tokio::{net::TcpListener, sync::Notify, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[cfg(feature = "azure-blob")]
use crate::blobs::azure::AzureBlobs;
#[cfg(feature = "service-bus")]
use crate::schedule::service_bus::ServiceBusWakeUps;
use crate::{
    accounts::{Accounts, KeyError, caller::Caller},
    blobs::{
        BlobError,
        folder::{FolderBlobs, files_of},
    },
    bus::{Bus, in_process::InProcessBus},
    clock::Skew,
    config::{Config, ConfigError, DatabaseConfig},
    directory::{self, room_changes},
    files::{self, Files},
    http::{self, HttpMetrics, Readiness, serve::ServeLimits},
    hub::{Access, Hub, HubLimits},
    notifications::{metrics::NotificationMetrics, recipients::Resolver, worker::Worker as Notifier},
    people::{self, presence::Presence},
    previews::Previews,
    push::{
        Push,
        sender::{SenderError, WebPush},
        vapid::Vapid,
    },
    rates::Rates,
    rooms::{changes::Follower, state::RoomStates},
    schedule::{metrics::JobMetrics, timer::Timer, wake_ups::WakeUps},
    search::index::SearchIndex,
    shutdown,
    store::{
        MessageStore, StoreError,
        db::{Db, DbError, OpenError, ServerLimits, attach_sqlite, open_postgres, open_sqlite},
        sql::SqlStore,
    },
    telemetry,
};

/// The pace of pings.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What every handler works with.
#[derive(Debug)]
pub(crate) struct AppState {
    pub(crate) config: Config,
    pub(crate) db: Db,
    pub(crate) store: Arc<dyn MessageStore>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) rooms: Arc<RoomStates>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) files: Files,
    pub(crate) previews: Previews,
    pub(crate) push: Push,
    pub(crate) search: SearchIndex,
    /// What calls the worker of scheduled jobs in time.
    pub(crate) wake_ups: Arc<dyn WakeUps>,
    pub(crate) job_metrics: JobMetrics,
    /// What the hello reply tells.
    pub(crate) limits: Limits,
    /// The pace of pings, in ms.
    pub(crate) heartbeat_ms: u64,
    pub(crate) readiness: Readiness,
    pub(crate) registry: Registry,
    pub(crate) http_metrics: HttpMetrics,
    /// Commands being handled; waited for at shutdown.
    pub(crate) tasks: TaskTracker,
}

impl AppState {
    /// Charges a command to the caller's budget.
    ///
    /// # Errors
    /// `rate_limited`.
    pub(crate) fn charge(&self, caller: &Caller, op: &str) -> Result<(), ProtocolError> {
        self.rates.charge_command(op, caller.user_id, 1, Timestamp::now())
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The database.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A key of the identity provider.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database, after it was opened.
    #[error(transparent)]
    Db(#[from] DbError),
    /// A service that does not take what the settings say.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What fetches link previews.
    #[error("failed to prepare link previews: {0}")]
    Previews(#[from] reqwest::Error),
    /// What carries events between nodes.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Bus(#[from] crate::bus::nats::ConnectError),
    /// The folder of files.
    #[error("failed to use the folder of files: {0}")]
    Files(io::Error),
    /// The store of files that a setting names.
    #[error("{0}: {1}")]
    Blobs(String, BlobError),
    /// What pushes.
    #[error(transparent)]
    Push(#[from] SenderError),
    /// Reading what is kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address.
    #[error("failed to listen on {0}: {1}; --listen names another address")]
    Listen(SocketAddr, io::Error),
}

/// A server that is ready to serve.
#[derive(Debug)]
pub(crate) struct App {
    state: Arc<AppState>,
    listener: TcpListener,
    /// No new requests and sockets.
    draining: CancellationToken,
    /// The end of what serves sockets.
    hub_stop: CancellationToken,
    /// The end of everything else.
    stop: CancellationToken,
    background: TaskTracker,
}

/// Opens the database of a configuration.
pub(crate) async fn open_database(config: &Config) -> Result<Db, OpenError> {
    match &config.database {
        Some(database) => open_server(database, database.limits).await,
        None => open_sqlite(&config.data_dir).await,
    }
}

/// Opens the database of a configuration beside a server that may be using it.
pub(crate) async fn attach_database(config: &Config) -> Result<Db, OpenError> {
    match &config.database {
        Some(database) => open_server(database, ServerLimits { connections: 2, ..database.limits }).await,
        None => attach_sqlite(&config.data_dir).await,
    }
}

/// The bus of a configuration.
async fn open_bus(
    config: &Config,
    background: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Arc<dyn Bus>, StartError> {
    #[cfg(feature = "nats")]
    if let Some(url) = &config.nats_url {
        return Ok(crate::bus::nats::NatsBus::start(url.expose(), background, stop.clone()).await?);
    }
    #[cfg(not(feature = "nats"))]
    let _ = (config, background, stop);
    Ok(Arc::new(InProcessBus::new()))
}

async fn open_server(database: &DatabaseConfig, limits: ServerLimits) -> Result<Db, OpenError> {
    open_postgres(database.url.expose(), limits).await.map_err(|error| match error {
        error @ (OpenError::Newer(_) | OpenError::Unreleased(_)) => error,
        error => {
            let reason = error.to_string().lines().collect::<Vec<_>>().join(" ");
            OpenError::Setting { setting: database.setting.clone(), reason }
        }
    })
}

async fn open_files(config: &Config, db: &Db) -> Result<Files, StartError> {
    let signer = files::signer(db).await?;
    #[cfg(feature = "azure-blob")]
    if let Some(azure) = &config.azure_blob {
        let blobs = AzureBlobs::open(azure.account.clone(), azure.container.clone()).await;
        let blobs = blobs.map_err(|error| StartError::Blobs(azure.setting.clone(), error))?;
        return Ok(Files::elsewhere(Arc::new(blobs), signer));
    }
    let folder = FolderBlobs::open(files_of(&config.data_dir), signer.clone()).map_err(StartError::Files)?;
    Ok(Files::here(folder, signer))
}

/// What calls the worker of scheduled jobs.
#[cfg(feature = "service-bus")]
fn wake_ups(config: &Config, background: &TaskTracker, stop: &CancellationToken) -> Arc<dyn WakeUps> {
    match &config.service_bus {
        Some(service) => Arc::new(ServiceBusWakeUps::start(service.clone(), background, stop.clone())),
        None => Arc::new(Timer::default()),
    }
}

#[cfg(not(feature = "service-bus"))]
fn wake_ups(_: &Config, _: &TaskTracker, _: &CancellationToken) -> Arc<dyn WakeUps> {
    Arc::new(Timer::default())
}

impl App {
    /// Opens what the configuration names and listens.
    ///
    /// # Errors
    /// As [`StartError`] says.
    pub(crate) async fn start(config: Config) -> Result<Self, StartError> {
        let (draining, hub_stop, stop) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
        let background = TaskTracker::new();
        #[cfg(feature = "service-bus")]
        if let Some(service) = &config.service_bus {
            crate::service_bus::check(service).await?;
        }
        let db = open_database(&config).await?;
        let bus = open_bus(&config, &background, &stop).await?;
        let skew = Skew::default();
        skew.compare(&db).await?;
        background.spawn(skew.clone().watch(db.clone(), stop.clone()));
        let sql = SqlStore::start(db.clone(), Arc::clone(&bus), &background, stop.clone()).with_clock(skew.clone());
        let outbox = sql.outbox();
        let store: Arc<dyn MessageStore> = Arc::new(sql);
        let rooms = Arc::new(RoomStates::new(db.clone()));
        let mut hub_limits = HubLimits::from_protocol(&config.limits, HEARTBEAT);
        hub_limits.flush_window = config.flush_window;
        let hub = Hub::new(Arc::clone(&store), Arc::clone(&bus), room_access(&rooms), hub_limits, hub_stop.clone());
        hub.start(&background);
        let rates = Arc::new(Rates::new(&config.limits.rates));
        let known = Arc::clone(&rooms);
        let wished = Arc::clone(&outbox);
        let forget = Box::new(move |user_id| {
            known.forget_user(user_id);
            // A push address may be what changed.
            wished.wanted();
        });
        let accounts = Arc::new(Accounts::new(&config, db.clone(), Arc::clone(&bus), Arc::clone(&rates), forget)?);
        accounts.start(&background, &stop).await?;
        if !db.is_sqlite() {
            let position = room_changes::head(&db).await?;
            let (db, bus) = (db.clone(), Arc::clone(&bus));
            let follower = Follower { db, bus, rooms: Arc::clone(&rooms), hub: Arc::clone(&hub) };
            background.spawn(follower.run(position, stop.clone()));
        }
        let files = open_files(&config, &db).await?;
        files.start(&db, &config.limits, &background, stop.clone());
        let presence = Arc::new(Presence::new(db.clone(), Arc::clone(&hub), Arc::clone(&bus)));
        background.spawn(Arc::clone(&presence).run(stop.clone()));
        let search = SearchIndex::new(db.clone());
        background.spawn(search.clone().run(stop.clone()));
        let previews = match config.previews.clone() {
            Some(policy) => Previews::start(&store, policy, &background, &stop)?,
            None => Previews::off(),
        };
        let vapid = Arc::new(Vapid::load(&db, &config.push).await?);
        if directory::push::any(&db).await? {
            outbox.wanted();
        }
        let notification_metrics = NotificationMetrics::default();
        let resolver = Resolver {
            db: db.clone(),
            store: Arc::clone(&store),
            rooms: Arc::clone(&rooms),
            public_url: config.public_url.clone(),
        };
        let notifier = Arc::new(Notifier {
            db: db.clone(),
            outbox: Arc::clone(&outbox),
            carrier: Arc::new(resolver),
            sender: Arc::new(WebPush::new(&config.push, Arc::clone(&vapid))?),
            metrics: notification_metrics.clone(),
            noted: Notify::new(),
        });
        background.spawn(notifier.run(stop.clone()));
        let push = Push { vapid, policy: config.push.policy.clone(), outbox };
        let listener = http::serve::bind(config.listen).map_err(|error| StartError::Listen(config.listen, error))?;
        let http_metrics = HttpMetrics::default();
        let job_metrics = JobMetrics::default();
        let wake_ups = wake_ups(&config, &background, &stop);
        let mut registry = telemetry::registry(hub.metrics(), &http_metrics, &job_metrics, &notification_metrics);
        skew.register(&mut registry);
        let state = Arc::new(AppState {
            registry,
            http_metrics,
            readiness: Readiness::new(draining.clone()),
            limits: config.limits.clone(),
            heartbeat_ms: u64::try_from(HEARTBEAT.as_millis()).unwrap_or(u64::MAX),
            tasks: TaskTracker::new(),
            config,
            db,
            store,
            bus,
            hub,
            rooms,
            accounts,
            presence,
            rates,
            files,
            previews,
            push,
            search,
            wake_ups,
            job_metrics,
        });
        state.tasks.spawn(Arc::clone(&state.wake_ups).run(Arc::clone(&state), draining.clone()));
        background.spawn(people::departures::run(Arc::clone(&state), state.accounts.ended(), stop.clone()));
        Ok(Self { state, listener, draining, hub_stop, stop, background })
    }

    /// Where it listens: also when the configuration left the port open.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.state.config.listen)
    }

    /// What handlers work with.
    #[cfg(test)]
    pub(crate) fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    /// Serves until `stopped`, then drains: nothing new is taken in, sockets are told to go (1001), what was begun is
    /// finished and stored.
    pub(crate) async fn run(self, stopped: impl Future<Output = ()>) {
        let Self { state, listener, draining, hub_stop, stop, background } = self;
        let limits = ServeLimits { drain: shutdown::DRAIN, ..ServeLimits::default() };
        let serving = http::serve::serve(listener, http::router(&state), limits, draining.clone());
        let draining_hub = async {
            stopped.await;
            draining.cancel();
            state.hub.drain(shutdown::DRAIN).await;
        };
        tokio::join!(serving, draining_hub);
        state.tasks.close();
        wait(&state.tasks, shutdown::FINISH, "commands").await;
        hub_stop.cancel();
        stop.cancel();
        background.close();
        wait(&background, shutdown::SETTLE, "background tasks").await;
        state.db.close().await;
    }
}

async fn wait(tasks: &TaskTracker, deadline: Duration, what: &str) {
    if time::timeout(deadline, tasks.wait()).await.is_err() {
        tracing::warn!(left = tasks.len(), "{what} were not finished at the drain deadline");
    }
}

/// What the hub asks and tells the cache of rooms.
fn room_access(rooms: &Arc<RoomStates>) -> Access {
    let (asked, told, forgetful) = (Arc::clone(rooms), Arc::clone(rooms), Arc::clone(rooms));
    Access {
        check: Box::new(move |room_id, user_id| {
            let rooms = Arc::clone(&asked);
            Box::pin(async move { rooms.reader(room_id, user_id).await.map(drop) })
        }),
        apply: Box::new(move |room_id, _, event| told.apply(room_id, event)),
        forget: Box::new(move |room_id| forgetful.forget_room(room_id)),
    }
}
