//! The accept loop: every TCP connection becomes an HTTP/1.1 one, which an upgrade can take over.
//!
//! `axum::serve` hides the stream's type, so that an upgraded connection could not get its `TcpStream`
//! back; this loop keeps it visible.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

/// Connections the kernel holds ready while we accept.
const BACKLOG: i32 = 4096;
/// A client has this long to send the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A pause after an accept that failed for want of descriptors or memory.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Bounds of the HTTP side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServeLimits {
    /// HTTP connections at once (an upgraded one no longer counts); more wait in the backlog.
    pub(crate) http_connections: usize,
    /// After shutdown, requests in flight have this long.
    pub(crate) drain: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self { http_connections: 16_384, drain: Duration::from_secs(8) }
    }
}

/// A listener with room for a storm of reconnects.
///
/// # Errors
/// When the address cannot be bound.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Serves `router` until `shutdown`, then finishes what is in flight within the drain deadline.
///
/// Handlers find the peer in `ConnectInfo<SocketAddr>`.
pub(crate) async fn serve(listener: TcpListener, router: Router, limits: ServeLimits, shutdown: CancellationToken) {
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(limits.http_connections));
    while let Some((stream, peer, slot)) = accept(&listener, &slots, &shutdown).await {
        tasks.spawn(connection(stream, peer, router.clone(), shutdown.clone(), slot));
    }
    drop(listener);
    tasks.close();
    if time::timeout(limits.drain, tasks.wait()).await.is_err() {
        tracing::warn!(connections = tasks.len(), "requests were still in flight at the drain deadline");
    }
}

/// The next connection, or none once shutdown began.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = tokio::select! {
        () = shutdown.cancelled() => return None,
        slot = Arc::clone(slots).acquire_owned() => slot.ok()?,
    };
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection died while it was accepted");
                    continue;
                }
                return Some((stream, peer, slot));
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "accepting failed; is the descriptor limit too low?");
                time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: CancellationToken,
    _slot: OwnedSemaphorePermit,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request)
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::{
        extract::Request,
        response::{IntoResponse, Response},
        routing::get,
    };
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::ws::upgrade::Handshake;

    async fn upgrade(mut request: Request) -> Response {
        match Handshake::check(&mut request) {
            Err(rejection) => rejection.into_response(),
            Ok(handshake) => {
                let response = handshake.response();
                tokio::spawn(async move {
                    let mut taken = handshake.take().await.unwrap();
                    taken.stream.write_all(&taken.early).await.unwrap();
                });
                response
            }
        }
    }

    fn start() -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let router = Router::new()
            .route("/", get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() }))
            .route("/v1/ws", get(upgrade));
        let task = tokio::spawn(serve(listener, router, ServeLimits::default(), shutdown.clone()));
        (address, shutdown, task)
    }

    #[tokio::test]
    async fn an_upgraded_stream_comes_back_with_the_bytes_sent_early() {
        let (address, shutdown, task) = start();
        let mut client = TcpStream::connect(address).await.unwrap();
        client
            .write_all(
                b"GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                  Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nearly",
            )
            .await
            .unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nearly"), "{answer}");
        shutdown.cancel();
        task.await.unwrap();
    }

    #[tokio::test]
    async fn handlers_see_the_peer_and_shutdown_ends_an_idle_keep_alive() {
        let (address, shutdown, task) = start();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 4096];
        let len = client.read(&mut answer).await.unwrap();
        let peer = client.local_addr().unwrap().to_string();
        assert!(String::from_utf8_lossy(&answer[..len]).ends_with(&peer));
        shutdown.cancel();
        task.await.unwrap();
        assert_eq!(client.read(&mut answer).await.unwrap(), 0, "closed");
    }
}
