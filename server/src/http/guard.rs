//! What is refused before anything else happens.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use parlour_protocol::{ErrorCode, ProtocolError};

use super::{address, error::HttpError, extract};
use crate::app::AppState;

/// A request takes at most this long, its body included; what it began goes on or ends by itself.
const DEADLINE: Duration = Duration::from_secs(30);

/// Requests with the cookie come from a page of ours, and bodies are JSON: a form of a foreign page is neither.
pub(super) async fn cookie_and_content_type(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let has_cookie = extract::cookie(&parts.headers).is_some();
    if has_cookie && !address::is_allowed_origin(&state.config, address::peer(&parts), &parts.headers) {
        let text = "the cookie counts for pages of this server only (behind a proxy: see trusted_proxies, public_url)";
        let error = ProtocolError::new(ErrorCode::Forbidden, text);
        return HttpError::from(error).into_response();
    }
    if parts.method == Method::POST && !is_json(&parts.headers, has_cookie) {
        let error = ProtocolError::bad_request("the Content-Type must be application/json");
        return HttpError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, error).into_response();
    }
    next.run(Request::from_parts(parts, body)).await
}

/// Whether a body, if there is one, says that it is JSON. With the cookie it has to be said in any case.
fn is_json(headers: &HeaderMap, has_cookie: bool) -> bool {
    match headers.get(header::CONTENT_TYPE) {
        Some(given) => given.to_str().is_ok_and(|given| {
            given.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        }),
        None => {
            let length = headers.get(header::CONTENT_LENGTH);
            let is_empty =
                length.is_none_or(|length| length == "0") && !headers.contains_key(header::TRANSFER_ENCODING);
            is_empty && !has_cookie
        }
    }
}

/// Ends what takes too long.
pub(super) async fn deadline(request: Request, next: Next) -> Response {
    tokio::time::timeout(DEADLINE, next.run(request)).await.unwrap_or_else(|_| {
        HttpError::from(ProtocolError::new(ErrorCode::Unavailable, "the request took too long; the outcome is unknown"))
            .into_response()
    })
}
