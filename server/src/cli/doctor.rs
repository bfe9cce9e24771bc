//! `parlour doctor`: examines the machine, the settings and every backend that they name, and says what to do.

use std::{fs, io, path::Path};

use parlour_protocol::Timestamp;

use super::{CliError, serve::raise_descriptor_limit};
#[cfg(feature = "azure-blob")]
use crate::blobs::azure::AzureBlobs;
use crate::{
    app::attach_database,
    blobs::folder::files_of,
    clock::{STOP, WARN},
    config::{Config, Registration},
    directory,
    store::db::{Db, DbError},
};

/// Descriptors that are used for other things than connections.
const SPARE_DESCRIPTORS: u64 = 100;
/// Connections that Postgres keeps for others.
const SPARE_CONNECTIONS: i64 = 10;
/// Free space below which something should be done, in bytes.
const SPARE_SPACE: u64 = 1 << 30;
/// The oldest version of Postgres that is tested.
const OLDEST_POSTGRES: i64 = 15;

/// What was found.
#[derive(Debug, Default)]
struct Report {
    worries: usize,
}

impl Report {
    fn tell(&mut self, is_fine: bool, what: &str, advice: &str) {
        if is_fine {
            println!("ok    {what}");
        } else {
            self.worries += 1;
            println!("CHECK {what}: {advice}");
        }
    }

    /// The same of something that was tried.
    fn outcome(&mut self, what: &str, outcome: Result<(), impl ToString>) {
        match outcome {
            Ok(()) => self.tell(true, what, ""),
            Err(reason) => self.tell(false, what, &reason.to_string()),
        }
    }
}

/// Examines everything; fails when something has to be done.
pub(super) async fn examine(config: &Config) -> Result<(), CliError> {
    let mut report = Report::default();
    println!("Parlour {} with its data in {}", env!("CARGO_PKG_VERSION"), config.data_dir.display());
    machine(&mut report, config);
    settings(&mut report, config);
    match attach_database(config).await {
        Ok(db) => {
            database(&mut report, config, &db).await;
            clock(&mut report, &db).await;
            db.close().await;
        }
        Err(error) => report.tell(false, "the database", &error.to_string()),
    }
    report.tell(true, "the bus is inside of the server, which works alone", "");
    files(&mut report, config).await;
    match report.worries {
        0 => Ok(()),
        worries => Err(CliError::Failed(format!("{worries} to look at"))),
    }
}

fn machine(report: &mut Report, config: &Config) {
    let descriptors = raise_descriptor_limit();
    let wanted = u64::from(config.limits.connections_per_address) + SPARE_DESCRIPTORS;
    let advice = "too few for the connections of one address; raise it with `ulimit -n` or LimitNOFILE=";
    report.tell(descriptors >= wanted, &format!("{descriptors} open files are allowed"), advice);
    let now = Timestamp::now();
    let advice = "set the clock of this machine";
    report.tell(now.as_millis() > 1_700_000_000_000, &format!("the clock says {now}"), advice);
    match free_space(&config.data_dir) {
        Ok(None) => {}
        Ok(Some(free)) => {
            let advice = "when the disk is full nothing can be stored: make room, or move the data folder";
            report.tell(free >= SPARE_SPACE, &format!("{} MiB are free for the data folder", free >> 20), advice);
        }
        Err(error) => report.tell(false, "the data folder", &error.to_string()),
    }
}

/// What is free for a folder, in bytes; none when there is no such folder yet.
fn free_space(folder: &Path) -> io::Result<Option<u64>> {
    match rustix::fs::statvfs(folder) {
        Ok(space) => Ok(Some(space.f_bavail.saturating_mul(space.f_frsize))),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn settings(report: &mut Report, config: &Config) {
    let reaches_out = !config.listen.ip().is_loopback();
    let has_tls = config.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
        || !config.trusted_proxies.is_empty();
    let advice = "passwords would travel in the clear; put a TLS proxy in front and set public_url or trusted_proxies";
    report.tell(!reaches_out || has_tls, &format!("the address to listen on is {}", config.listen), advice);
    let who = match config.registration {
        Registration::Open => "everybody",
        Registration::Invite => "whoever has an invite",
        Registration::Closed => "nobody",
    };
    report.tell(true, &format!("{who} can register"), "");
}

async fn database(report: &mut Report, config: &Config, db: &Db) {
    let written = db
        .write("insert into meta (name, value) values ('doctor', $1) on conflict (name) do update set value = $1")
        .bind(Timestamp::now().as_millis().to_string())
        .execute()
        .await;
    let name = if db.is_sqlite() { "the embedded database" } else { "Postgres" };
    report.outcome(&format!("{name} opens, and takes a row"), written.map(drop));
    if let Some(database) = &config.database {
        match server_settings(db).await {
            Ok(server) => server.tell(report, database.limits.connections.into()),
            Err(error) => report.tell(false, "the settings of Postgres", &error.to_string()),
        }
    }
    let operator = directory::accounts::has_operator(db).await;
    let advice = "nobody has registered yet; the first account becomes the operator's, so register it yourself";
    report.tell(operator.unwrap_or(false), "the operator's account", advice);
}

/// How a Postgres is set up.
#[derive(Debug, sqlx::FromRow)]
struct ServerSettings {
    version: i64,
    fsync: String,
    synchronous_commit: String,
    max_connections: i64,
    used: i64,
}

async fn server_settings(db: &Db) -> Result<ServerSettings, DbError> {
    let sql = "select current_setting('server_version_num')::bigint / 10000 as version, \
               current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit, \
               current_setting('max_connections')::bigint as max_connections, \
               (select count(*) from pg_stat_activity where backend_type = 'client backend') as used";
    // SQLite's half of the row is never read.
    db.read(sql).one().await
}

impl ServerSettings {
    fn tell(&self, report: &mut Report, connections: i64) {
        let Self { version, fsync, synchronous_commit, max_connections, used } = self;
        let advice = format!("older than what is tested; update to {OLDEST_POSTGRES} or newer");
        report.tell(*version >= OLDEST_POSTGRES, &format!("its version is {version}"), &advice);
        let is_durable = fsync == "on" && synchronous_commit != "off";
        let what = format!("it has fsync {fsync} and synchronous_commit {synchronous_commit}");
        let advice = "messages that were acknowledged could be lost in a crash; set both to on";
        report.tell(is_durable, &what, advice);
        let what =
            format!("{used} of its {max_connections} connections are in use, a server takes up to {connections}");
        let advice = "raise max_connections of Postgres, or lower database_connections";
        report.tell(connections + SPARE_CONNECTIONS <= *max_connections, &what, advice);
    }
}

async fn clock(report: &mut Report, db: &Db) {
    match db.clock_ahead().await {
        Ok(None) => {}
        Ok(Some(ahead)) => {
            let apart = ahead.unsigned_abs();
            let what = format!("the clock of this machine and the database's are {apart} ms apart");
            let advice = match apart {
                STOP.. => "a server here stores nothing until one of them is set (NTP)",
                _ => "set one of them (NTP); over a minute apart nothing is stored",
            };
            report.tell(apart < WARN, &what, advice);
        }
        Err(error) => report.tell(false, "the clock of the database", &error.to_string()),
    }
}

async fn files(report: &mut Report, config: &Config) {
    #[cfg(feature = "azure-blob")]
    if let Some(azure) = &config.azure_blob {
        let what = format!("files lie in the container {} of {}", azure.container, azure.account.blobs);
        let blobs = match AzureBlobs::open(azure.account.clone(), azure.container.clone()).await {
            Ok(blobs) => blobs,
            Err(error) => return report.tell(false, &what, &format!("see {}: {error}", azure.setting)),
        };
        report.outcome(&what, blobs.try_out().await);
        if let Some(origin) = &config.public_url {
            let advice = format!(
                "the page at {origin} could not bring files: allow GET, HEAD and PUT with all headers for it \
                 (az storage cors add)"
            );
            match blobs.lets_in(origin).await {
                Ok(lets_in) => report.tell(lets_in, "the storage account's CORS rules let the page in", &advice),
                Err(error) => report.tell(false, "the storage account's CORS rules", &error.to_string()),
            }
        }
        return;
    }
    let folder = files_of(&config.data_dir);
    let probe = folder.join(".doctor");
    match fs::write(&probe, "tea").and_then(|()| fs::remove_file(&probe)) {
        // Made when the server starts for the first time.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        outcome => report.outcome(&format!("files lie in {}", folder.display()), outcome),
    }
}
