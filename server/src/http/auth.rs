//! `/v1/auth/*`: accounts and sessions.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use parlour_protocol::{
    ProtocolError, Secret, SessionId, Timestamp,
    account::{AuthReply, Login, PasswordChange, RefreshedToken, Register},
    object::{Empty, Items, Session},
};
use serde::Serialize;

use super::{
    error::HttpError,
    extract::{Authenticated, COOKIE, Client, Json, Segment},
};
use crate::{accounts::LoggedIn, app::AppState};

type Shared = State<Arc<AppState>>;

/// `POST /v1/auth/register`.
pub(super) async fn register(
    State(state): Shared,
    client: Client,
    Json(data): Json<Register>,
) -> Result<Response, HttpError> {
    let logged_in = state.accounts.register(&data, client.address).await?;
    Ok(auth_reply(StatusCode::CREATED, logged_in, client, data.cookie.unwrap_or_default()))
}

/// `POST /v1/auth/login`.
pub(super) async fn log_in(
    State(state): Shared,
    client: Client,
    Json(data): Json<Login>,
) -> Result<Response, HttpError> {
    let logged_in = state.accounts.log_in(&data, client.address).await?;
    Ok(auth_reply(StatusCode::OK, logged_in, client, data.cookie.unwrap_or_default()))
}

/// `POST /v1/auth/refresh`.
pub(super) async fn refresh(State(state): Shared, by: Authenticated, _: Json<Empty>) -> Result<Response, HttpError> {
    by.caller.local_only()?;
    state.charge(&by.caller, "auth.refresh")?;
    let renewed = state.accounts.refresh(&by.caller).await?;
    let (expires_at, session_id) = (renewed.expires_at, by.caller.session_id);
    state.hub.renew_session(by.caller.user_id, session_id, expires_at);
    Ok(with_token(StatusCode::OK, renewed.token, expires_at, by.client, by.by_cookie, |token| RefreshedToken {
        expires_at,
        session_id,
        token,
    }))
}

/// `POST /v1/auth/logout`.
pub(super) async fn log_out(State(state): Shared, by: Authenticated, _: Json<Empty>) -> Result<Response, HttpError> {
    state.accounts.end_session(&by.caller, by.caller.session_id).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if by.by_cookie {
        set_cookie(&mut response, "", 0, by.client);
    }
    Ok(response)
}

/// `POST /v1/auth/password`.
pub(super) async fn change_password(
    State(state): Shared,
    by: Authenticated,
    Json(data): Json<PasswordChange>,
) -> Result<StatusCode, HttpError> {
    by.caller.local_only()?;
    state.accounts.change_password(&by.caller, &data).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/auth/sessions`.
pub(super) async fn sessions(State(state): Shared, by: Authenticated) -> Result<axum::Json<Items<Session>>, HttpError> {
    state.charge(&by.caller, "session.list")?;
    Ok(axum::Json(Items { items: state.accounts.sessions(&by.caller).await? }))
}

/// `DELETE /v1/auth/sessions/{sessionId}`.
pub(super) async fn end_session(
    State(state): Shared,
    by: Authenticated,
    Segment(session_id): Segment,
) -> Result<StatusCode, HttpError> {
    let session_id: SessionId =
        session_id.parse().map_err(|error| ProtocolError::bad_request(format!("the session id {error}")))?;
    state.charge(&by.caller, "session.revoke")?;
    state.accounts.end_session(&by.caller, session_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn auth_reply(status: StatusCode, logged_in: LoggedIn, client: Client, as_cookie: bool) -> Response {
    let LoggedIn { user, session_id, token, expires_at } = logged_in;
    with_token(status, token, expires_at, client, as_cookie, |token| AuthReply { expires_at, session_id, user, token })
}

/// An answer with the token in it, or beside it as the cookie.
fn with_token<T: Serialize>(
    status: StatusCode,
    token: Secret,
    expires_at: Timestamp,
    client: Client,
    as_cookie: bool,
    body: impl FnOnce(Option<Secret>) -> T,
) -> Response {
    let (cookie, token) = if as_cookie { (Some(token), None) } else { (None, Some(token)) };
    let mut response = (status, axum::Json(body(token))).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(token) = cookie {
        set_cookie(&mut response, token.expose(), expires_at.since(Timestamp::now()).as_secs(), client);
    }
    response
}

fn set_cookie(response: &mut Response, token: &str, max_age: u64, client: Client) {
    let secure = if client.is_https { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{secure}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}
