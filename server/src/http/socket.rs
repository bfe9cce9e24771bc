//! `GET /v1/ws`: from a request to a socket.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::Response,
};

use super::extract::{Client, credential};
use crate::{app::AppState, ws::dispatch::Socket};

/// Upgrades a request. A token that the request carries and that is not valid is refused at hello, where a client in
/// a browser can learn why.
pub(super) async fn upgrade(State(state): State<Arc<AppState>>, client: Client, request: Request) -> Response {
    let token = credential(request.headers()).map(|credential| credential.token.to_owned());
    let principal = match token {
        Some(token) => state.accounts.authenticate(&token, client.address).await.ok(),
        None => None,
    };
    let socket = Socket::new(Arc::clone(&state), principal, client.address);
    state.hub.upgrade(request, Some(client.address), move |connection, payload| socket.on_message(connection, payload))
}
