//! `parlour serve`.

use super::CliError;
use crate::{app::App, config::Config, shutdown, telemetry};

/// Descriptors below which the default limits of connections cannot be met.
const WANTED_DESCRIPTORS: u64 = 20_000;

/// Serves until a signal.
pub(super) async fn serve(config: Config) -> Result<(), CliError> {
    telemetry::start_logging(&config.log);
    let descriptors = raise_descriptor_limit();
    if descriptors < WANTED_DESCRIPTORS {
        tracing::warn!(
            descriptors,
            "the limit of open files is low: at most about this many connections fit; raise it with `ulimit -n` or \
             LimitNOFILE="
        );
    }
    let store = if config.database.is_some() { "Postgres" } else { "SQLite" };
    let bus = if config.nats_url.is_some() { "NATS" } else { "in-process" };
    let data_dir = config.data_dir.clone();
    let app = App::start(config).await?;
    let version = env!("CARGO_PKG_VERSION");
    let address = app.address();
    println!("Parlour {version} on http://{address} (store: {store}, bus: {bus}, data folder: {})", data_dir.display());
    tracing::info!(version, %address, store, bus, data_dir = %data_dir.display(), descriptors, "ready");
    app.run(signalled()).await;
    tracing::info!("stopped");
    Ok(())
}

/// Raises the soft limit of open files to the hard one; the limit then.
pub(super) fn raise_descriptor_limit() -> u64 {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => limit,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files could not be raised");
            rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(0, |(soft, _)| soft)
        }
    }
}

/// Waits for the first signal, which drains. A second one, or the drain's deadline, ends the process.
async fn signalled() {
    match shutdown::signalled().await {
        Ok(signal) => tracing::info!(signal, "draining"),
        Err(error) => tracing::error!(%error, "signals cannot be listened to; draining"),
    }
    tokio::spawn(async {
        drop(tokio::time::timeout(shutdown::DEADLINE, shutdown::signalled()).await);
        tracing::warn!("ending without waiting any longer");
        std::process::exit(1);
    });
}
