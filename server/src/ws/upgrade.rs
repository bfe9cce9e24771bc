//! The opening handshake: checks the request, answers 101 and takes the TCP stream back from hyper.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parlour_protocol::codec::Codec;
use sha1::{Digest, Sha1};
use tokio::net::TcpStream;

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Why a request for `/v1/ws` is not upgraded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Rejection {
    #[error("this address speaks WebSocket: {0}")]
    NotWebSocket(&'static str),
    #[error("only version 13 of the WebSocket protocol is spoken")]
    Version,
    #[error("none of the offered subprotocols is known")]
    Subprotocol,
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, code) = match self {
            Self::NotWebSocket(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            Self::Version => (StatusCode::UPGRADE_REQUIRED, "unsupported"),
            Self::Subprotocol => (StatusCode::BAD_REQUEST, "unsupported"),
        };
        let body = serde_json::json!({"code": code, "message": self.to_string()});
        let mut response = (status, axum::Json(body)).into_response();
        if self == Self::Version {
            response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        response
    }
}

/// A request that has passed the checks.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// The negotiated codec.
    pub(crate) codec: Codec,
    accept: HeaderValue,
    subprotocol: Option<HeaderValue>,
    upgrade: OnUpgrade,
}

/// A stream that HTTP has let go of.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) stream: TcpStream,
    /// What the client sent behind its request.
    pub(crate) early: Bytes,
}

/// Why a stream could not be taken over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeError {
    #[error("the client left during the upgrade")]
    Upgrade(#[from] hyper::Error),
    #[error("the stream under the upgrade is not plain TCP")]
    NotTcp,
}

impl Handshake {
    /// Checks a request.
    ///
    /// # Errors
    /// The answer to give instead of an upgrade.
    pub(crate) fn check(request: &mut Request) -> Result<Self, Rejection> {
        let headers = request.headers();
        if request.method() != Method::GET || request.version() < Version::HTTP_11 {
            return Err(Rejection::NotWebSocket("use GET over HTTP/1.1"));
        }
        if !has_token(headers, header::CONNECTION, "upgrade") || !has_token(headers, header::UPGRADE, "websocket") {
            return Err(Rejection::NotWebSocket("the upgrade headers are missing"));
        }
        if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
            return Err(Rejection::Version);
        }
        let accept = headers
            .get(header::SEC_WEBSOCKET_KEY)
            .and_then(accept_key)
            .ok_or(Rejection::NotWebSocket("the key is missing or malformed"))?;
        let (codec, subprotocol) = choose_subprotocol(headers)?;
        Ok(Self { codec, accept, subprotocol, upgrade: hyper::upgrade::on(request) })
    }

    /// The 101 that completes the handshake.
    pub(crate) fn response(&self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        if let Some(subprotocol) = &self.subprotocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, subprotocol.clone());
        }
        response
    }

    /// Waits until the 101 is written, then takes the stream.
    ///
    /// # Errors
    /// When the client left, or something other than our own listener carries the request.
    pub(crate) async fn take(self) -> Result<Taken, TakeError> {
        let parts = self.upgrade.await?.downcast::<TokioIo<TcpStream>>().map_err(|_: Upgraded| TakeError::NotTcp)?;
        Ok(Taken { stream: parts.io.into_inner(), early: parts.read_buf })
    }
}

fn has_token(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|offered| offered.eq_ignore_ascii_case(token))
}

fn tokens(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn accept_key(key: &HeaderValue) -> Option<HeaderValue> {
    let key = key.as_bytes();
    if STANDARD.decode(key).ok()?.len() != 16 {
        return None;
    }
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    HeaderValue::from_str(&STANDARD.encode(digest)).ok()
}

/// The first subprotocol of the client's list that is known; JSON when it offers none.
fn choose_subprotocol(headers: &HeaderMap) -> Result<(Codec, Option<HeaderValue>), Rejection> {
    if !headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
        return Ok((Codec::Json, None));
    }
    tokens(headers, header::SEC_WEBSOCKET_PROTOCOL)
        .find_map(Codec::from_subprotocol)
        .map(|codec| (codec, Some(HeaderValue::from_static(codec.subprotocol()))))
        .ok_or(Rejection::Subprotocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &'static str)]) -> Request {
        let mut request = Request::builder()
            .uri("/v1/ws")
            .header("Host", "parlour")
            .header("Connection", "keep-alive, Upgrade")
            .header("Upgrade", "WebSocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .body(Body::empty())
            .unwrap();
        for (name, value) in headers {
            if value.is_empty() {
                request.headers_mut().remove(*name);
            } else {
                request.headers_mut().insert(*name, HeaderValue::from_static(value));
            }
        }
        request
    }

    fn check(headers: &[(&'static str, &'static str)]) -> Result<Handshake, Rejection> {
        Handshake::check(&mut request(headers))
    }

    #[test]
    fn the_sample_key_of_the_rfc_is_accepted() {
        let response = check(&[]).unwrap().response();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!response.headers().contains_key("sec-websocket-protocol"));
    }

    #[test]
    fn the_first_known_subprotocol_is_chosen() {
        assert_eq!(check(&[]).unwrap().codec, Codec::Json);
        let offer = "graphql-ws, parlour.v1.msgpack, parlour.v1.json";
        let handshake = check(&[("sec-websocket-protocol", offer)]).unwrap();
        assert_eq!(handshake.codec, Codec::MessagePack);
        assert_eq!(handshake.response().headers()["sec-websocket-protocol"], "parlour.v1.msgpack");
    }

    #[test]
    fn unknown_subprotocols_alone_are_unsupported() {
        let rejection = check(&[("sec-websocket-protocol", "parlour.v9.json")]).unwrap_err();
        assert_eq!(rejection, Rejection::Subprotocol);
        assert_eq!(rejection.into_response().status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn a_plain_request_is_told_what_this_address_is() {
        for missing in ["connection", "upgrade", "sec-websocket-key"] {
            let rejection = check(&[(missing, "")]).unwrap_err();
            assert!(matches!(rejection, Rejection::NotWebSocket(_)), "{missing}");
        }
        assert_eq!(check(&[("sec-websocket-version", "8")]).unwrap_err(), Rejection::Version);
        assert!(check(&[("sec-websocket-key", "c2hvcnQ=")]).is_err());
    }
}
