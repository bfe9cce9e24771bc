//! `/healthz` and `/readyz`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use tokio::{
    sync::Mutex,
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;

use crate::{app::AppState, bus::Link, store::MessageStore};

/// How long a proof that the store works counts.
const FRESH: Duration = Duration::from_secs(2);
/// How long the store has for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether this node can serve.
#[derive(Debug)]
pub(crate) struct Readiness {
    draining: CancellationToken,
    /// Held while the store is tried, so that many questions make one write.
    proof: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Readiness until `draining`.
    pub(crate) fn new(draining: CancellationToken) -> Self {
        Self { draining, proof: Mutex::default() }
    }

    /// Whether a write went through the store within the last seconds.
    async fn store_works(&self, store: &dyn MessageStore) -> bool {
        let mut proof = self.proof.lock().await;
        if let Some((at, works)) = *proof
            && at.elapsed() < FRESH
        {
            return works;
        }
        let works = match time::timeout(PATIENCE, store.canary()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the store refused the proof of readiness");
                false
            }
            Err(_) => {
                tracing::warn!("the store did not give the proof of readiness in time");
                false
            }
        };
        *proof = Some((Instant::now(), works));
        works
    }
}

#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    backends: BTreeMap<&'static str, &'static str>,
}

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> Response {
    Json(Health { status: "ok", backends: BTreeMap::new() }).into_response()
}

/// `GET /readyz`: clients can be sent here.
pub(super) async fn ready(State(state): State<Arc<AppState>>) -> Response {
    let works = state.readiness.store_works(&*state.store).await;
    let status = if state.readiness.draining.is_cancelled() {
        "draining"
    } else if works {
        "ready"
    } else {
        "unready"
    };
    // Without the bus this node serves, and hears of others through the store: it is only reported.
    let bus = state.bus.link() == Link::Up;
    let word = |works| if works { "ok" } else { "down" };
    let backends = BTreeMap::from([("store", word(works)), ("bus", word(bus))]);
    let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Health { status, backends })).into_response()
}
