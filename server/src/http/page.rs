//! The browser page, embedded in the program, and the description of the protocol.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use rust_embed::{Embed, EmbeddedFile};

use super::{error, headers::page_policy};
use crate::app::AppState;

const ASYNCAPI: &str = include_str!("../../../protocol/generated/asyncapi.json");

/// Shown when the program was built without the page.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Parlour</title>\
    <h1>Parlour is running</h1><p>This program was built without its page. With Node.js 20 or newer, run \
    <code>make web</code> in its sources and build it again; <code>make run</code> does both. Everything else works: \
    bots and other clients connect to <code>/v1/ws</code>.</p></html>";

/// Names of files below this hold a digest of their content.
const HASHED: &str = "assets/";

#[derive(Debug, Embed)]
#[folder = "web/dist"]
#[allow_missing = true]
struct Files;

/// Everything that is no other route: the page, its files, or nothing.
pub(super) async fn page(State(state): State<Arc<AppState>>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return error::not_found().into_response();
    }
    let path = request.uri().path().trim_start_matches('/');
    let is_page = path.is_empty() || path == "index.html" || is_place(path);
    let file = if is_page { "index.html" } else { path };
    match Files::get(file) {
        Some(embedded) => protected(&state, answer(file, &embedded, request.headers())),
        None if is_page => protected(&state, Html(NOT_BUILT).into_response()),
        None => error::not_found().into_response(),
    }
}

/// `GET /v1/asyncapi.json`.
pub(super) async fn asyncapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache")], ASYNCAPI).into_response()
}

/// Addresses that the page itself makes sense of.
fn is_place(path: &str) -> bool {
    let is_id = |id: &str| !id.is_empty() && !id.contains('/');
    // A message may follow its room.
    let room = path.strip_prefix("room/").map(|rest| rest.split_once('/').unwrap_or((rest, "message")));
    path.strip_prefix("invite/").is_some_and(is_id) || room.is_some_and(|(id, message)| is_id(id) && is_id(message))
}

fn answer(file: &str, embedded: &EmbeddedFile, asked: &HeaderMap) -> Response {
    let digest = embedded.metadata.sha256_hash();
    let etag: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let etag = format!("\"{etag}\"");
    let known = asked.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = mime_guess::from_path(file).first_or_octet_stream();
        ([(header::CONTENT_TYPE, content_type(kind.as_ref()))], embedded.data.clone().into_owned()).into_response()
    };
    let lasting = if file.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(lasting));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

fn content_type(kind: &str) -> String {
    if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.to_owned() }
}

fn protected(state: &AppState, mut response: Response) -> Response {
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&page_policy(state.files.blobs.origin())) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("permissions-policy", HeaderValue::from_static("camera=(), microphone=(), geolocation=()"));
    response
}
