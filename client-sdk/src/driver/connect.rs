//! From an address to a connection that has said hello, and what to do when it ends.

use std::{io, sync::Arc, time::Duration};

use parlour_protocol::{
    ErrorCode, Operation,
    close::CloseCode,
    codec::Codec,
    frame::{ReplyFrame, ServerFrame},
    operation::{ClientInfo, HelloReply, SessionHello},
};
use reqwest::Url;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::time::timeout;
use tokio_tungstenite::{
    Connector, client_async_tls_with_config,
    tungstenite::{
        Error as WsError,
        client::IntoClientRequest,
        http::{HeaderValue, StatusCode, header},
        protocol::WebSocketConfig,
    },
};

use crate::{
    auth::{Credentials, NoToken, Token, install_tls},
    builder::Dialer,
    driver::link::encode,
    error::ConnectErrorKind,
    transport::{BoxStream, End, Incoming, Transport},
};

const OPEN_DEADLINE: Duration = Duration::from_secs(10);
const HELLO_DEADLINE: Duration = Duration::from_secs(10);
/// Frames of the user stream that may come before the answer to hello.
const EARLY_FRAMES: usize = 1000;
/// A page of the protocol has 256 KiB; nothing a server sends comes near this.
const LARGEST_FRAME: usize = 16 << 20;

/// Where to connect to, and as which program.
pub(crate) struct Target {
    pub(crate) server: Url,
    pub(crate) codec: Codec,
    pub(crate) client: ClientInfo,
    pub(crate) dialer: Option<Dialer>,
}

/// A connection that has said hello.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) transport: Transport,
    pub(crate) hello: HelloReply,
    /// Frames that came before the answer to hello.
    pub(crate) early: Vec<ServerFrame>,
}

/// What to do after a connection ended, or was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Stop for good.
    Stop(Option<ConnectErrorKind>),
    /// Connect again after a wait that grows.
    Backoff,
    /// The same, with a new token.
    NewToken,
    /// The server restarts: connect again soon, each client at its own time.
    Spread,
    /// Connect again after this.
    After(Duration),
}

/// Why there is no connection any more.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) next: Next,
}

impl Failure {
    pub(crate) fn new(next: Next, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), next }
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Self {
        match end {
            End::Closed { code, reason } => {
                let next = after_close(code, &reason);
                Self::new(next, format!("closed with {code} {reason}"))
            }
            End::Broken(reason) => Self::new(Next::Backoff, reason),
        }
    }
}

/// What a close code asks a client to do.
pub(crate) fn after_close(code: u16, reason: &str) -> Next {
    match CloseCode::from_code(code) {
        Some(CloseCode::Normal) => Next::Stop(None),
        Some(CloseCode::GoingAway) => Next::Spread,
        Some(CloseCode::Unauthenticated) => Next::NewToken,
        Some(CloseCode::TooMany) => {
            let wait = reason.split(['=', ';', ' ', ',']).find_map(|word| word.parse().ok());
            wait.map_or(Next::Backoff, |millis| Next::After(Duration::from_millis(millis)))
        }
        Some(
            CloseCode::WrongFrameKind
            | CloseCode::InvalidUtf8
            | CloseCode::TooBig
            | CloseCode::BadFrame
            | CloseCode::ProtocolError,
        ) => Next::Stop(Some(ConnectErrorKind::Refused)),
        Some(CloseCode::Internal | CloseCode::TimedOut | CloseCode::Behind) | None => Next::Backoff,
    }
}

/// Opens a connection and says hello.
pub(crate) async fn connect(target: Arc<Target>, credentials: Arc<Credentials>) -> Result<Opened, Failure> {
    let token = credentials.token().await.map_err(|no_token| match no_token {
        NoToken::Refused(error) => Failure::new(Next::Stop(Some(ConnectErrorKind::Unauthenticated)), error.to_string()),
        NoToken::Later { error, retry_after } => {
            Failure::new(retry_after.map_or(Next::Backoff, Next::After), error.to_string())
        }
    })?;
    let opening = timeout(OPEN_DEADLINE, open(&target)).await;
    let transport = opening.map_err(|_| Failure::new(Next::Backoff, "the socket did not open in time"))??;
    let hello = timeout(HELLO_DEADLINE, say_hello(transport, &target, &token)).await;
    let outcome = hello.map_err(|_| Failure::new(Next::Backoff, "no answer to hello in time"))?;
    if let Err(Failure { next: Next::NewToken, reason }) = outcome {
        credentials.discard().await;
        // A token that was made for this very hello is as new as they come.
        let next = if token.is_new { Next::Stop(Some(ConnectErrorKind::Unauthenticated)) } else { Next::NewToken };
        return Err(Failure { reason, next });
    }
    outcome
}

async fn open(target: &Target) -> Result<Transport, Failure> {
    let broken = |error: io::Error| Failure::new(Next::Backoff, error.to_string());
    let refused = |reason: String| Failure::new(Next::Stop(Some(ConnectErrorKind::Refused)), reason);
    let is_secure = target.server.scheme() == "https";
    let stream: BoxStream = match &target.dialer {
        Some(dialer) => dialer().await.map_err(broken)?,
        None => {
            let host = target.server.host_str().unwrap_or_default().trim_matches(['[', ']']);
            let port = target.server.port_or_known_default().unwrap_or(443);
            let stream = tokio::net::TcpStream::connect((host, port)).await.map_err(broken)?;
            stream.set_nodelay(true).map_err(broken)?;
            Box::new(stream)
        }
    };
    let connector = if is_secure {
        install_tls();
        let config = rustls::ClientConfig::with_platform_verifier().map_err(|error| refused(error.to_string()))?;
        Connector::Rustls(Arc::new(config))
    } else {
        Connector::Plain
    };
    let mut url = target.server.join("v1/ws").map_err(|error| refused(error.to_string()))?;
    let scheme = if is_secure { "wss" } else { "ws" };
    url.set_scheme(scheme).map_err(|()| refused("the address has no WebSocket".into()))?;
    let mut request = url.as_str().into_client_request().map_err(|error| refused(error.to_string()))?;
    let protocol = HeaderValue::from_static(target.codec.subprotocol());
    request.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    let config = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .max_message_size(Some(LARGEST_FRAME))
        .max_frame_size(Some(LARGEST_FRAME));
    let opened = client_async_tls_with_config(request, stream, Some(config), Some(connector)).await;
    let (socket, _) = opened.map_err(|error| upgrade_failure(&error))?;
    Ok(Transport::new(socket, target.codec))
}

fn upgrade_failure(error: &WsError) -> Failure {
    let WsError::Http(response) = error else { return Failure::new(Next::Backoff, error.to_string()) };
    let status = response.status();
    let wait = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let next = match (status, wait) {
        (StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN, _) => Next::Stop(Some(ConnectErrorKind::Refused)),
        (StatusCode::UNAUTHORIZED, _) => Next::NewToken,
        (_, Some(seconds)) => Next::After(Duration::from_secs(seconds)),
        (_, None) => Next::Backoff,
    };
    Failure::new(next, format!("the upgrade was answered with {status}"))
}

async fn say_hello(mut transport: Transport, target: &Target, token: &Token) -> Result<Opened, Failure> {
    let hello = SessionHello { token: Some(token.secret.clone()), client: Some(target.client.clone()) };
    let codec = transport.codec();
    transport.send(encode(codec, 1, SessionHello::NAME, &hello));
    let mut early = Vec::new();
    loop {
        let bytes = match transport.next().await {
            Incoming::Frame(bytes) => bytes,
            Incoming::Sign => continue,
            Incoming::Ended(end) => return Err(end.into()),
        };
        let frame =
            codec.decode_server_frame(&bytes).map_err(|error| Failure::new(Next::Backoff, error.to_string()))?;
        match frame {
            ServerFrame::Reply(ReplyFrame { id: 1, result: Ok(data) }) => {
                let hello = serde_json::from_value(data)
                    .map_err(|error| Failure::new(Next::Backoff, format!("hello was answered wrongly: {error}")))?;
                return Ok(Opened { transport, hello, early });
            }
            ServerFrame::Reply(ReplyFrame { id: 1, result: Err(error) }) => {
                let wait = error.retry_after_ms.map(Duration::from_millis);
                let next = match error.code {
                    ErrorCode::Unauthenticated => Next::NewToken,
                    code if code.is_retryable() => wait.map_or(Next::Backoff, Next::After),
                    _ => Next::Stop(Some(ConnectErrorKind::Refused)),
                };
                return Err(Failure::new(next, error.to_string()));
            }
            other if early.len() < EARLY_FRAMES => early.push(other),
            _ => return Err(Failure::new(Next::Backoff, "a flood of events before hello was answered")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_close_code_leads_where_the_protocol_says() {
        let refused = Next::Stop(Some(ConnectErrorKind::Refused));
        for (code, next) in [
            (1000, Next::Stop(None)),
            (1001, Next::Spread),
            (1003, refused),
            (1007, refused),
            (1009, refused),
            (1011, Next::Backoff),
            (4400, refused),
            (4401, Next::NewToken),
            (4408, Next::Backoff),
            (4413, Next::Backoff),
            (4999, Next::Backoff),
        ] {
            assert_eq!(after_close(code, ""), next, "{code}");
        }
        assert_eq!(after_close(4429, "retryAfterMs=1500"), Next::After(Duration::from_millis(1500)));
        assert_eq!(after_close(4429, "too many"), Next::Backoff);
    }
}
