//! `/metrics`, and what HTTP itself counts.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use parlour_protocol::{ErrorCode, ProtocolError};
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use subtle::ConstantTimeEq;

use super::{
    address,
    error::HttpError,
    extract::{self, Credential},
};
use crate::{app::AppState, bus::Link};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    route: String,
    status: u32,
}

/// Counters of HTTP.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpMetrics {
    answers: Family<Answer, Counter>,
}

impl HttpMetrics {
    /// Adds everything to a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("parlour_http_answers", "HTTP answers by route and status", self.answers.clone());
    }
}

/// Counts an answer.
pub(super) async fn count(State(state): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("page", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16().into();
    state.http_metrics.answers.get_or_create(&Answer { route, status }).inc();
    response
}

/// `GET /metrics`.
pub(super) async fn metrics(State(state): State<Arc<AppState>>, request: Request) -> Result<Response, HttpError> {
    let (parts, _) = request.into_parts();
    if !may_read(&state, &parts).await {
        let text = "metrics are for this machine, the operator and who has the metrics token";
        return Err(ProtocolError::new(ErrorCode::Forbidden, text).into());
    }
    state.hub.metrics().bus_up.set((state.bus.link() == Link::Up).into());
    let mut body = String::new();
    text::encode(&mut body, &state.registry).map_err(|error| crate::error::internal(&error.to_string()))?;
    let mut response = body.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    Ok(response)
}

async fn may_read(state: &AppState, parts: &Parts) -> bool {
    let peer = address::peer(parts);
    let client = address::client(&state.config, peer, &parts.headers);
    // Whoever comes through a proxy on this machine that is not trusted is not from this machine.
    let is_forwarded =
        ["x-forwarded-for", "forwarded", "x-real-ip"].iter().any(|name| parts.headers.contains_key(*name));
    if peer.is_loopback() && client.is_loopback() && !is_forwarded {
        return true;
    }
    let Some(Credential { token, is_cookie: false }) = extract::credential(&parts.headers) else { return false };
    let given_token = state.config.metrics_token.as_ref();
    if given_token.is_some_and(|right| right.expose().as_bytes().ct_eq(token.as_bytes()).into()) {
        return true;
    }
    state.accounts.authenticate(token, client).await.is_ok_and(|principal| principal.is_operator)
}
