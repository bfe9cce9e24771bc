//! HTTP: the accept loop and all routes.

mod address;
mod auth;
mod error;
mod extract;
mod files;
mod guard;
mod headers;
mod health;
mod metrics;
mod page;
mod rpc;
pub(crate) mod serve;
mod socket;
mod unread;
mod webhook;

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{delete, get, post},
};

pub(crate) use self::{health::Readiness, metrics::HttpMetrics};
use crate::app::AppState;

/// Every route. Layers run from the last to the first.
pub(crate) fn router(state: &Arc<AppState>) -> Router {
    let guarded = Router::new()
        .route("/v1/auth/register", post(auth::register))
        .route("/v1/auth/login", post(auth::log_in))
        .route("/v1/auth/refresh", post(auth::refresh))
        .route("/v1/auth/logout", post(auth::log_out))
        .route("/v1/auth/password", post(auth::change_password))
        .route("/v1/auth/sessions", get(auth::sessions))
        .route("/v1/auth/sessions/{session_id}", delete(auth::end_session))
        .route("/v1/rpc/{op}", post(rpc::call))
        .route("/v1/webhooks/{webhook_id}/{token}", post(webhook::call))
        .route("/v1/ws", get(socket::upgrade))
        .route_layer(middleware::from_fn_with_state(Arc::clone(state), guard::cookie_and_content_type));
    Router::new()
        .merge(guarded)
        .route("/v1/asyncapi.json", get(page::asyncapi))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .layer(middleware::from_fn(guard::deadline))
        // Bytes of files may take longer.
        .route("/v1/files/{signed}", get(files::get).put(files::put))
        .fallback(page::page)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(middleware::from_fn(unread::read_rest))
        .layer(middleware::from_fn_with_state(Arc::clone(state), metrics::count))
        .layer(middleware::from_fn(headers::security))
        .with_state(Arc::clone(state))
}

#[cfg(test)]
mod tests;
