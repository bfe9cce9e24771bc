//! Connections over real loopback sockets.

use std::sync::{Mutex, mpsc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::*;

/// The client's end: writes masked frames, reads the server's.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    held: Vec<u8>,
}

/// A frame from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Got {
    Message(Vec<u8>),
    Ping,
    Pong(Vec<u8>),
    Close(u16, String),
    Eof,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, held: Vec::new() }
    }

    pub(crate) async fn send(&mut self, first: u8, payload: &[u8]) {
        let frame = masked(first, payload);
        self.stream.write_all(&frame).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Got {
        loop {
            if let Some((first, payload)) = self.take() {
                return match first & 0x0F {
                    0x8 => {
                        let code = u16::from_be_bytes([payload[0], payload[1]]);
                        Got::Close(code, String::from_utf8(payload[2..].to_vec()).unwrap())
                    }
                    0x9 => Got::Ping,
                    0xA => Got::Pong(payload),
                    _ => Got::Message(payload),
                };
            }
            let mut chunk = vec![0; 64 * 1024];
            match self.stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return Got::Eof,
                Ok(read) => self.held.extend_from_slice(&chunk[..read]),
            }
        }
    }

    /// Whether a whole frame was read already.
    pub(crate) fn has_frame(&self) -> bool {
        !self.held.is_empty()
    }

    fn take(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, second) = (*self.held.first()?, *self.held.get(1)?);
        let (start, len) = match second {
            126 => (4, usize::from(u16::from_be_bytes(self.held.get(2..4)?.try_into().unwrap()))),
            127 => (10, usize::try_from(u64::from_be_bytes(self.held.get(2..10)?.try_into().unwrap())).unwrap()),
            short => (2, usize::from(short)),
        };
        let payload = self.held.get(start..start + len)?.to_vec();
        self.held.drain(..start + len);
        Some((first, payload))
    }
}

pub(crate) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        len @ 0..=125 => frame.push(0x80 | u8::try_from(len).unwrap()),
        len @ 126..=0xFFFF => {
            frame.push(0xFE);
            frame.extend_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
        }
        len => {
            frame.push(0xFF);
            frame.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&[1, 2, 3, 4]);
    frame.extend(payload.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

pub(crate) async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (server, client)
}

pub(crate) fn context(limits: ConnectionLimits) -> Arc<ConnectionContext> {
    Arc::new(ConnectionContext { limits, pulse: Arc::default(), metrics: SocketMetrics::default() })
}

pub(crate) fn session() -> SessionInfo {
    SessionInfo { user_id: UserId::new(), session_id: SessionId::new(), expires_at: None }
}

async fn start(
    limits: ConnectionLimits,
    handle: impl Fn(&Arc<Connection>, &[u8]) + Send + Sync + 'static,
) -> (Arc<Connection>, Peer, JoinHandle<()>) {
    let (server, client) = sockets().await;
    let connection = Connection::new(server, Codec::Json, context(limits));
    let task = tokio::spawn(Arc::clone(&connection).run(Bytes::new(), handle));
    (connection, Peer::new(client), task)
}

fn echo(connection: &Arc<Connection>, message: &[u8]) {
    connection.send(Lane::Reply, &codec::message(codec::DataKind::Text, message));
}

#[tokio::test]
async fn messages_are_handled_in_order_and_answered() {
    let (_connection, mut peer, _task) = start(ConnectionLimits::default(), echo).await;
    let mut burst = Vec::new();
    for n in 0..100 {
        burst.extend(masked(0x81, format!("message {n}").as_bytes()));
    }
    peer.stream.write_all(&burst[..777]).await.unwrap();
    tokio::task::yield_now().await;
    peer.stream.write_all(&burst[777..]).await.unwrap();
    for n in 0..100 {
        assert_eq!(peer.next().await, Got::Message(format!("message {n}").into_bytes()));
    }
    peer.send(0x89, b"ping").await;
    assert_eq!(peer.next().await, Got::Pong(b"ping".to_vec()));
}

#[tokio::test]
async fn bytes_that_came_with_the_handshake_are_read_first() {
    let (server, client) = sockets().await;
    let connection = Connection::new(server, Codec::Json, context(ConnectionLimits::default()));
    let _task = tokio::spawn(connection.run(masked(0x81, b"early").into(), echo));
    assert_eq!(Peer::new(client).next().await, Got::Message(b"early".to_vec()));
}

#[tokio::test]
async fn what_breaks_the_rules_is_closed_with_its_code() {
    for (first, payload, code) in [
        (0xC1, &b"x"[..], 1002),
        (0x82, b"x", 1003),
        (0x81, b"\xFF", 1007),
        (0x81, &[b'x'; 16 * 1024 + 1], 1009),
        (0x80, b"x", 1002),
    ] {
        let (_connection, mut peer, task) = start(ConnectionLimits::default(), echo).await;
        peer.send(0x81, b"fine").await;
        assert_eq!(peer.next().await, Got::Message(b"fine".to_vec()));
        peer.send(first, payload).await;
        let Got::Close(got, _) = peer.next().await else { panic!("no close frame for {code}") };
        assert_eq!(got, code);
        assert_eq!(peer.next().await, Got::Eof);
        drop(peer);
        task.await.unwrap();
    }
}

#[tokio::test]
async fn frames_may_be_longer_after_hello() {
    let (connection, mut peer, _task) = start(ConnectionLimits::default(), echo).await;
    connection.set_session(session());
    let long = vec![b'x'; 64 * 1024];
    peer.send(0x81, &long).await;
    assert_eq!(peer.next().await, Got::Message(long.clone()));
    peer.send(0x81, &[b'x'; 64 * 1024 + 1]).await;
    assert!(matches!(peer.next().await, Got::Close(1009, _)));
}

#[tokio::test]
async fn a_peers_close_is_answered() {
    let (_connection, mut peer, task) = start(ConnectionLimits::default(), echo).await;
    peer.send(0x88, &1000_u16.to_be_bytes()).await;
    assert_eq!(peer.next().await, Got::Close(1000, String::new()));
    assert_eq!(peer.next().await, Got::Eof);
    drop(peer);
    task.await.unwrap();
}

#[tokio::test]
async fn too_many_frames_are_told_when_to_come_back() {
    let limits = ConnectionLimits { frame_burst: 10, ..ConnectionLimits::default() };
    let (_connection, mut peer, _task) = start(limits, echo).await;
    for _ in 0..11 {
        peer.send(0x81, b"x").await;
    }
    for _ in 0..10 {
        assert_eq!(peer.next().await, Got::Message(b"x".to_vec()));
    }
    assert_eq!(peer.next().await, Got::Close(4429, "retryAfterMs=100".to_owned()));
}

#[tokio::test]
async fn a_connection_with_all_its_commands_in_flight_is_not_read() {
    let limits = ConnectionLimits { commands_in_flight: 3, ..ConnectionLimits::default() };
    let guards = Arc::new(Mutex::new(Vec::new()));
    let (seen, handled) = mpsc::channel();
    let held = Arc::clone(&guards);
    let (_connection, mut peer, _task) = start(limits, move |connection, message| {
        held.lock().unwrap().push(connection.begin_command());
        seen.send(message.to_vec()).unwrap();
        echo(connection, b"begun");
    })
    .await;
    for n in 0..5 {
        peer.send(0x81, format!("{n}").as_bytes()).await;
    }
    for _ in 0..3 {
        assert_eq!(peer.next().await, Got::Message(b"begun".to_vec()));
    }
    assert_eq!(handled.try_iter().count(), 3, "the others wait");
    guards.lock().unwrap().pop();
    assert_eq!(peer.next().await, Got::Message(b"begun".to_vec()));
    guards.lock().unwrap().clear();
    assert_eq!(peer.next().await, Got::Message(b"begun".to_vec()));
    assert_eq!(handled.try_iter().collect::<Vec<_>>(), [b"3".to_vec(), b"4".to_vec()]);
}

#[tokio::test]
async fn a_reader_that_does_not_read_loses_events_and_keeps_replies() {
    let (connection, mut peer, _task) = start(ConnectionLimits::default(), echo).await;
    let event = codec::message(codec::DataKind::Text, &[b'e'; 100_000]);
    let mut first_lost = None;
    for seq in 1..=500 {
        if let Pushed::Behind { first } = connection.send(Lane::Live { sub: 1, first: seq }, &event) {
            first_lost = Some((first, seq));
            break;
        }
    }
    let (first, seq) = first_lost.expect("the queue is bounded");
    assert!(first > 1 && first <= seq);
    connection.send(Lane::Reply, &codec::message(codec::DataKind::Text, b"reply"));
    let mut events = 0;
    loop {
        match peer.next().await {
            Got::Message(message) if message == b"reply" => break,
            Got::Message(_) => events += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(events, first - 1, "all before the first lost one came");
    connection.drained().await.unwrap();
}

#[tokio::test]
async fn dropped_user_events_are_announced_when_the_socket_drains() {
    let (connection, mut peer, _task) = start(ConnectionLimits::default(), echo).await;
    let event = codec::message(codec::DataKind::Text, &[b'e'; 100_000]);
    while connection.send(Lane::User, &event) != Pushed::Dropped {}
    loop {
        match peer.next().await {
            Got::Message(message) if message.starts_with(b"{") => {
                assert_eq!(message, br#"{"event":"user.behind","data":{}}"#);
                break;
            }
            Got::Message(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_dead_peer_ends_the_task_and_whoever_waits_for_it() {
    let (connection, peer, task) = start(ConnectionLimits::default(), echo).await;
    let event = codec::message(codec::DataKind::Text, &[b'e'; 1_000_000]);
    for _ in 0..20 {
        connection.send(Lane::Control, &event);
    }
    let waiter = tokio::spawn({
        let connection = Arc::clone(&connection);
        async move { connection.drained().await }
    });
    drop(peer);
    task.await.unwrap();
    assert_eq!(waiter.await.unwrap(), Err(Closing));
    assert_eq!(connection.send(Lane::Reply, &event), Pushed::Dropped);
    assert_eq!(connection.context.metrics.queued_bytes.get(), 0);
}

#[tokio::test]
async fn a_close_lets_replies_out_first() {
    let (connection, mut peer, _task) = start(ConnectionLimits::default(), echo).await;
    let long = codec::message(codec::DataKind::Text, &[b'r'; 3_000_000]);
    connection.send(Lane::Reply, &long);
    connection.send(Lane::Reply, &codec::message(codec::DataKind::Text, b"the error"));
    connection.close(CloseCode::Unauthenticated, "bad token");
    assert!(matches!(peer.next().await, Got::Message(message) if message.len() == 3_000_000));
    assert_eq!(peer.next().await, Got::Message(b"the error".to_vec()));
    assert_eq!(peer.next().await, Got::Close(4401, "bad token".to_owned()));
    assert_eq!(peer.next().await, Got::Eof);
}

#[tokio::test]
async fn an_idle_connection_is_small() {
    let (server, _client) = sockets().await;
    let connection = Connection::new(server, Codec::Json, context(ConnectionLimits::default()));
    let task = Arc::clone(&connection).run(Bytes::new(), echo);
    let sizes = (size_of::<Connection>(), size_of_val(&task));
    assert!(sizes.0 <= 512 && sizes.1 <= 512, "{sizes:?}");
}
