//! What a handler left of a request's body is read before the answer leaves: a client that is still writing
//! gets its answer, not a reset, and the connection can be used again.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderValue, header},
    middleware::Next,
    response::Response,
};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::time;

/// Bytes that are read for nothing; behind them the connection is closed.
const MOST: usize = 4 * 1024 * 1024;
/// How long they may take.
const PATIENCE: Duration = Duration::from_secs(5);

type Left = Arc<Mutex<Option<Body>>>;

/// Reads the rest of a body, or says that the connection closes.
pub(super) async fn read_rest(request: Request, next: Next) -> Response {
    // Who waits to be asked for the body has not begun to send it.
    let waits = request.headers().contains_key(header::EXPECT);
    let left = Left::default();
    let lent = Arc::clone(&left);
    let mut response = next.run(request.map(|inner| Body::new(Lent { inner, lent }))).await;
    let rest = left.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(rest) = rest
        && (waits || !skip(rest).await)
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn skip(rest: Body) -> bool {
    let mut rest = Limited::new(rest, MOST);
    let all = async {
        while let Some(frame) = rest.frame().await {
            if frame.is_err() {
                return false;
            }
        }
        true
    };
    time::timeout(PATIENCE, all).await.unwrap_or(false)
}

/// A body that comes back when it is dropped unfinished.
struct Lent {
    inner: Body,
    lent: Left,
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.inner.is_end_stream() {
            let inner = std::mem::take(&mut self.inner);
            *self.lent.lock().unwrap_or_else(PoisonError::into_inner) = Some(inner);
        }
    }
}
