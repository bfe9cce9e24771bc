//! One WebSocket: frames in, frames out, and why it ended.

use std::{
    collections::VecDeque,
    future::poll_fn,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use parlour_protocol::codec::Codec;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{
        Error as WsError, Message,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

/// Bytes that wait for the socket beyond which nothing more is put on it.
const BACKLOG: usize = 1 << 20;

/// What a connection runs over.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A connected stream of bytes.
pub(crate) type BoxStream = Box<dyn ByteStream>;

/// What came from the socket.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A frame of the protocol.
    Frame(Bytes),
    /// A ping or pong of WebSocket: the other side lives.
    Sign,
    /// The socket has ended.
    Ended(End),
}

/// How a socket ended.
#[derive(Debug)]
pub(crate) enum End {
    /// With a close frame.
    Closed { code: u16, reason: String },
    /// Without one.
    Broken(String),
}

/// An open socket.
pub(crate) struct Transport {
    socket: WebSocketStream<MaybeTlsStream<BoxStream>>,
    codec: Codec,
    outgoing: VecDeque<Message>,
    waiting: usize,
    needs_flush: bool,
}

impl Transport {
    pub(crate) fn new(socket: WebSocketStream<MaybeTlsStream<BoxStream>>, codec: Codec) -> Self {
        Self { socket, codec, outgoing: VecDeque::new(), waiting: 0, needs_flush: false }
    }

    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Whether the socket takes what is put on it.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting < BACKLOG
    }

    /// Puts an encoded frame on the socket; [`Self::next`] writes it.
    pub(crate) fn send(&mut self, frame: Vec<u8>) {
        self.waiting += frame.len();
        self.outgoing.push_back(match self.codec {
            Codec::Json => match String::from_utf8(frame) {
                Ok(text) => Message::text(text),
                Err(error) => Message::binary(error.into_bytes()),
            },
            Codec::MessagePack => Message::binary(frame),
        });
    }

    /// Writes what waits and reads what comes. Nothing is lost when it is dropped half-way.
    pub(crate) async fn next(&mut self) -> Incoming {
        poll_fn(|cx| {
            if let Poll::Ready(Err(error)) = self.poll_write(cx) {
                return Poll::Ready(Incoming::Ended(End::Broken(error.to_string())));
            }
            self.socket.poll_next_unpin(cx).map(understand)
        })
        .await
    }

    /// Says goodbye: writes what waits, then a normal close. The caller sets the deadline.
    pub(crate) async fn close(mut self) {
        let goodbye = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        self.outgoing.push_back(Message::Close(Some(goodbye)));
        let written = poll_fn(|cx| self.poll_write(cx)).await;
        while written.is_ok() && matches!(self.socket.next().await, Some(Ok(_))) {}
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), WsError>> {
        while !self.outgoing.is_empty() {
            match self.socket.poll_ready_unpin(cx)? {
                Poll::Ready(()) => {}
                Poll::Pending => return Poll::Pending,
            }
            if let Some(message) = self.outgoing.pop_front() {
                self.waiting = self.waiting.saturating_sub(message.len());
                self.socket.start_send_unpin(message)?;
                self.needs_flush = true;
            }
        }
        if self.needs_flush {
            match self.socket.poll_flush_unpin(cx)? {
                Poll::Ready(()) => self.needs_flush = false,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("codec", &self.codec).field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

fn understand(item: Option<Result<Message, WsError>>) -> Incoming {
    match item {
        Some(Ok(Message::Text(text))) => Incoming::Frame(text.into()),
        Some(Ok(Message::Binary(bytes))) => Incoming::Frame(bytes),
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Incoming::Sign,
        Some(Ok(Message::Close(Some(frame)))) => {
            Incoming::Ended(End::Closed { code: frame.code.into(), reason: frame.reason.as_str().to_owned() })
        }
        Some(Ok(Message::Close(None))) => Incoming::Ended(End::Broken("closed without a code".into())),
        Some(Err(error)) => Incoming::Ended(End::Broken(error.to_string())),
        None => Incoming::Ended(End::Broken("the stream ended".into())),
    }
}
