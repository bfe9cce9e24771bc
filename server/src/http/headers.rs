//! Headers that every answer carries.

use std::borrow::Cow;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

/// What the page may load: files of this server, pictures from anywhere by https.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
    img-src 'self' data: https:; media-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const NO_PAGE_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What the page may load where its files lie at another origin.
pub(super) fn page_policy(files: Option<String>) -> Cow<'static, str> {
    let Some(origin) = files else { return PAGE_POLICY.into() };
    PAGE_POLICY
        .replace("img-src 'self'", &format!("img-src 'self' {origin}"))
        .replace("media-src 'self'", &format!("media-src 'self' {origin}"))
        .replace("connect-src 'self'", &format!("connect-src 'self' {origin}"))
        .into()
}

/// Adds them.
pub(super) async fn security(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NO_PAGE_POLICY));
    response
}
