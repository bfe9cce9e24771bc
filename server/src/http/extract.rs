//! What handlers ask for: the caller, a body.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parlour_protocol::{ErrorCode, ProtocolError, Timestamp, codec};
use serde::de::DeserializeOwned;

use super::{address, error::HttpError};
use crate::{
    accounts::caller::{Caller, Principal},
    app::AppState,
    rates::Payer,
};

/// The name of the session cookie.
pub(super) const COOKIE: &str = "parlour_session";

/// The client's address behind trusted proxies, and whether it speaks https.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    pub(super) is_https: bool,
}

impl FromRequestParts<Arc<AppState>> for Client {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, HttpError> {
        let peer = address::peer(parts);
        Ok(Self {
            address: address::client(&state.config, peer, &parts.headers),
            is_https: address::is_https(&state.config, peer, &parts.headers),
        })
    }
}

/// The token that a request carries: of the bearer header, else of the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Credential<'a> {
    pub(super) token: &'a str,
    pub(super) is_cookie: bool,
}

pub(super) fn credential(headers: &HeaderMap) -> Option<Credential<'_>> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    match bearer {
        Some(token) => Some(Credential { token, is_cookie: false }),
        None => cookie(headers).map(|token| Credential { token, is_cookie: true }),
    }
}

pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, token)| token.trim_matches('"'))
}

/// A caller with a valid token.
#[derive(Debug)]
pub(super) struct Authenticated {
    pub(super) caller: Caller,
    pub(super) client: Client,
    /// Whether the token came as the cookie.
    pub(super) by_cookie: bool,
}

impl FromRequestParts<Arc<AppState>> for Authenticated {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, HttpError> {
        let client = Client::from_request_parts(parts, state).await?;
        let Some(Credential { token, is_cookie }) = credential(&parts.headers) else {
            return Err(ProtocolError::new(ErrorCode::Unauthenticated, "a token is needed").into());
        };
        let principal = authenticate(state, token, client.address).await?;
        Ok(Self { caller: Caller::new(&principal, None, client.address), client, by_cookie: is_cookie })
    }
}

/// Checks a token; those who try many that are not valid pay for it.
async fn authenticate(state: &AppState, token: &str, address: IpAddr) -> Result<Principal, ProtocolError> {
    let outcome = state.accounts.authenticate(token, address).await;
    if outcome.as_ref().is_err_and(|error| error.code == ErrorCode::Unauthenticated) {
        state.rates.standard.charge(Payer::address(address), 1, Timestamp::now())?;
    }
    outcome
}

/// The variable segment of a path.
#[derive(Debug)]
pub(super) struct Segment(pub(super) String);

impl FromRequestParts<Arc<AppState>> for Segment {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<AppState>) -> Result<Self, HttpError> {
        let segment = Path::<String>::from_request_parts(parts, state).await;
        segment
            .map(|Path(segment)| Self(segment))
            .map_err(|_| ProtocolError::bad_request("the path is not UTF-8").into())
    }
}

/// A body of JSON text, within the limit.
#[derive(Debug)]
pub(super) struct JsonText(Bytes);

impl JsonText {
    /// The text; `{}` for an empty body.
    pub(super) fn as_str(&self) -> Result<&str, ProtocolError> {
        if self.0.is_empty() {
            return Ok("{}");
        }
        std::str::from_utf8(&self.0).map_err(|_| ProtocolError::bad_request("the body is not UTF-8"))
    }
}

impl FromRequest<Arc<AppState>> for JsonText {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, HttpError> {
        let limit = usize::try_from(state.config.limits.http_body_bytes).unwrap_or(usize::MAX);
        let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        if announced.and_then(|length| length.parse().ok()).is_some_and(|length: usize| length > limit) {
            return Err(too_large());
        }
        read(request.into_body(), limit).await.map(Self)
    }
}

async fn read(body: Body, limit: usize) -> Result<Bytes, HttpError> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(ProtocolError::bad_request("the body ended early").into()),
    }
}

fn too_large() -> HttpError {
    let error = ProtocolError::new(ErrorCode::PayloadTooLarge, "the body is over the limit");
    HttpError::with_status(StatusCode::PAYLOAD_TOO_LARGE, error)
}

/// A decoded body.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<AppState>> for Json<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, HttpError> {
        let text = JsonText::from_request(request, state).await?;
        Ok(Self(codec::decode_body(text.as_str()?)?))
    }
}
