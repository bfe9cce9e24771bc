//! `POST /v1/webhooks/{id}/{token}`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use parlour_protocol::ProtocolError;

use super::{error::HttpError, extract::JsonText};
use crate::{
    app::AppState,
    webhooks::call::{self, Posted},
};

/// Posts a message.
pub(super) async fn call(
    State(state): State<Arc<AppState>>,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
    headers: HeaderMap,
    body: JsonText,
) -> Result<(StatusCode, Json<Posted>), HttpError> {
    let Path((webhook_id, token)) = path.map_err(|_| ProtocolError::bad_request("the path is not UTF-8"))?;
    let key = headers.get("idempotency-key");
    let key = key.map(|key| key.to_str()).transpose();
    let key = key.map_err(|_| ProtocolError::bad_request("the Idempotency-Key is not printable ASCII"))?;
    let posted = call::call(&state, (&webhook_id, &token), key, body.as_str()?).await?;
    Ok((StatusCode::ACCEPTED, Json(posted)))
}
