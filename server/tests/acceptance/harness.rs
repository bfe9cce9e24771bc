//! A server of one's own, accounts on it, and clients that speak raw JSON.

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    net::{Ipv4Addr, SocketAddr},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

/// Longer than anything takes, shorter than a test runner's patience.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Budgets that no test meets by accident.
const GENEROUS: &[(&str, &str)] = &[
    ("PARLOUR_RATES_AUTH_POINTS", "1000000"),
    ("PARLOUR_RATES_STANDARD_POINTS", "1000000"),
    ("PARLOUR_LIMITS_FRAMES_PER_SECOND", "100000"),
    ("PARLOUR_LIMITS_FRAME_BURST", "100000"),
];

/// A running server, killed when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    settings: Vec<(String, String)>,
    child: Mutex<Option<Child>>,
    http: reqwest::Client,
}

impl Server {
    /// The server that tests share which need nothing special; it lives as long as one of them runs.
    pub(crate) async fn shared() -> Arc<Self> {
        static SHARED: tokio::sync::Mutex<Weak<Server>> = tokio::sync::Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(Self::with(&[]).await);
        *shared = Arc::downgrade(&server);
        server
    }

    /// A server of one's own, with settings on top of generous budgets.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            rustls::crypto::ring::default_provider().install_default().unwrap();
        });
        let mut all: HashMap<_, _> = GENEROUS.iter().copied().collect();
        all.extend(settings.iter().copied());
        let mut settings: Vec<_> = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if let Ok(url) = std::env::var("PARLOUR_TEST_DATABASE_URL") {
            settings.push(("PARLOUR_DATABASE_URL".to_owned(), schema_of_its_own(&url).await));
        }
        let mut server = Self {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            folder: tempfile::tempdir().unwrap(),
            settings,
            child: Mutex::new(None),
            http: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap(),
        };
        server.address = server.start().await;
        server
    }

    /// Starts the program and waits for the line that tells where it listens.
    async fn start(&self) -> SocketAddr {
        let log = self.folder.path().join("log");
        let log = File::create(log).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_parlour"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PARLOUR_")) {
            command.env_remove(name);
        }
        let child = command
            .args(["serve", "--listen", &self.address.to_string(), "--data-dir"])
            .arg(self.folder.path().join("data"))
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.child() = Some(child);
        let ready = async {
            loop {
                let log = self.log();
                let told = log.lines().find_map(|line| line.strip_prefix("Parlour ")?.split_once(" on http://"));
                if let Some(address) = told.and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()) {
                    return address;
                }
                let ended = self.child().as_mut().and_then(|child| child.try_wait().unwrap());
                assert!(ended.is_none(), "the server ended:\n{log}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let address = timeout(PATIENCE, ready).await;
        address.unwrap_or_else(|_| panic!("the server is not ready:\n{}", self.log()))
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// As by `kill -9`.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Kills the server and starts it on the same folder and address.
    pub(crate) async fn restart(&self) {
        self.kill();
        self.start().await;
    }

    /// Runs a command of the program on the server's folder.
    pub(crate) fn command(&self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parlour"));
        let folder = self.folder.path().join("data");
        let settings = self.settings.iter().map(|(name, value)| (name, value));
        let output = command.args(arguments).envs(settings).env("PARLOUR_DATA_DIR", folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Asks the server to end, as a service manager does.
    pub(crate) fn terminate(&self) {
        let pid = self.child().as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Waits until the server has ended by itself.
    pub(crate) async fn ended(&self) {
        let ended = async {
            while self.child().as_mut().is_some_and(|child| child.try_wait().unwrap().is_none()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, ended).await.unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request that a test finishes by hand.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, self.url(path))
    }

    pub(crate) async fn post(&self, path: &str, token: Option<&str>, body: &Value) -> Answer {
        let request = self.request(Method::POST, path).json(body);
        Answer::of(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>) -> Answer {
        let request = self.request(Method::GET, path);
        Answer::of(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    pub(crate) async fn rpc(&self, user: &User, op: &str, data: &Value) -> Answer {
        self.post(&format!("/v1/rpc/{op}"), Some(&user.token), data).await
    }

    /// A new account whose name begins with `name`.
    pub(crate) async fn user(&self, name: &str) -> User {
        let name = unique(name);
        let password = "correct horse".to_owned();
        let answer = self.post("/v1/auth/register", None, &json!({ "name": name, "password": password })).await;
        assert_eq!(answer.status, 201, "{:?}", answer.body);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        User {
            id: text(&answer.body["user"]["userId"]),
            token: text(&answer.body["token"]),
            session_id: text(&answer.body["sessionId"]),
            name,
            password,
        }
    }

    /// Two people in a room that the first of them owns.
    pub(crate) async fn two_in_a_room(&self) -> (String, (User, Client), (User, Client)) {
        let (ada, mut owner) = self.client("Ada").await;
        let (bob, mut member) = self.client("Bob").await;
        let room = owner.room("Tea").await;
        owner.bring(&room, &mut member).await;
        (room, (ada, owner), (bob, member))
    }

    /// A new account with a connection.
    pub(crate) async fn client(&self, name: &str) -> (User, Client) {
        let user = self.user(name).await;
        let client = Client::of(self, &user).await;
        (user, client)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() && !self.log().is_empty() {
            eprintln!("--- the server's log ---\n{}", self.log());
        }
    }
}

/// The address of a new schema: with `PARLOUR_TEST_DATABASE_URL`, an address of Postgres, every server of these tests
/// works there instead of in its folder.
pub(crate) async fn schema_of_its_own(url: &str) -> String {
    use sqlx::Connection;
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("create schema {schema}"))).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options[search_path]={schema}")
}

/// A text that no other test uses.
pub(crate) fn unique(text: &str) -> String {
    format!("{text} {}", &uuid::Uuid::new_v4().simple().to_string()[..10])
}

pub(crate) fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) token: String,
    pub(crate) session_id: String,
}

/// An HTTP answer with its JSON, or null.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) async fn of(request: reqwest::RequestBuilder) -> Self {
        let answer = timeout(PATIENCE, request.send()).await.unwrap().unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let text = answer.text().await.unwrap();
        Self { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::Null) }
    }

    /// The status and code of an error.
    #[track_caller]
    pub(crate) fn refused(&self) -> (u16, &str) {
        assert!(self.status >= 400, "{self:?}");
        assert!(self.body["message"].is_string(), "{self:?}");
        (self.status, self.body["code"].as_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> &Value {
        assert!(self.status < 300, "{self:?}");
        &self.body
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A WebSocket that speaks JSON text, one id after the other.
pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    next_id: u64,
    replies: HashMap<u64, Value>,
    events: VecDeque<Value>,
    statuses: VecDeque<Value>,
    /// The reply to its hello.
    pub(crate) hello: Value,
}

impl Client {
    /// An upgraded socket that has not said hello.
    pub(crate) async fn open(server: &Server) -> Self {
        Self::open_with(server, &[]).await.unwrap()
    }

    /// The same with headers of the upgrade request.
    pub(crate) async fn open_with(server: &Server, headers: &[(&'static str, &str)]) -> Result<Self, UpgradeRefused> {
        let mut request = format!("ws://{}/v1/ws", server.address).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        let stream = TcpStream::connect(server.address).await.unwrap();
        Self::upgrade(request, stream).await
    }

    async fn upgrade(
        request: tokio_tungstenite::tungstenite::handshake::client::Request,
        stream: TcpStream,
    ) -> Result<Self, UpgradeRefused> {
        use tokio_tungstenite::tungstenite::Error;
        match timeout(PATIENCE, tokio_tungstenite::client_async(request, stream)).await.unwrap() {
            Ok((socket, answer)) => {
                assert!(!answer.headers().contains_key("sec-websocket-extensions"), "no compression is offered");
                let subprotocol = answer.headers().get("sec-websocket-protocol");
                let hello = json!({ "subprotocol": subprotocol.map(|name| name.to_str().unwrap()) });
                let (replies, events, statuses) = (HashMap::new(), VecDeque::new(), VecDeque::new());
                Ok(Self { socket, next_id: 1, replies, events, statuses, hello })
            }
            Err(Error::Http(answer)) => Err(UpgradeRefused {
                status: answer.status().as_u16(),
                body: answer.body().as_ref().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or(Value::Null),
            }),
            Err(error) => panic!("{error}"),
        }
    }

    /// A connection whose socket takes little before its sender has to wait.
    pub(crate) async fn with_small_buffer(server: &Server, user: &User) -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let stream = socket.connect(server.address).await.unwrap();
        let request = format!("ws://{}/v1/ws", server.address).into_client_request().unwrap();
        let mut client = Self::upgrade(request, stream).await.unwrap();
        client.hello = client.ok("session.hello", json!({ "token": user.token })).await;
        client
    }

    /// A connection of an account.
    pub(crate) async fn of(server: &Server, user: &User) -> Self {
        let mut client = Self::open(server).await;
        client.hello = client.ok("session.hello", json!({ "token": user.token })).await;
        client
    }

    /// A connection of an account with a second handle on its stream, to write what is no good frame.
    pub(crate) async fn with_raw(server: &Server, user: &User) -> (Self, TcpStream) {
        let stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.set_nonblocking(true).unwrap();
        let raw = TcpStream::from_std(stream.try_clone().unwrap()).unwrap();
        let request = format!("ws://{}/v1/ws", server.address).into_client_request().unwrap();
        let mut client = Self::upgrade(request, TcpStream::from_std(stream).unwrap()).await.unwrap();
        client.hello = client.ok("session.hello", json!({ "token": user.token })).await;
        (client, raw)
    }

    /// Sends to a socket that may be closed already.
    pub(crate) async fn send_text_leniently(&mut self, text: &str) {
        let _closed = timeout(PATIENCE, self.socket.send(Message::text(text))).await.unwrap();
    }

    /// Whether a command is answered rather than the socket closed.
    pub(crate) async fn call_or_closed(&mut self, op: &str, data: Value) -> bool {
        self.begin(op, data).await;
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("an answer in time") {
                Some(Ok(Message::Text(text))) => return !text.contains("\"error\""),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => return false,
            }
        }
    }

    /// The frame that answers a command, all in MessagePack.
    pub(crate) async fn packed(&mut self, op: &str, data: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let frame = rmp_serde::to_vec_named(&json!({ "id": id, "op": op, "data": data })).unwrap();
        self.send(Message::binary(frame)).await;
        loop {
            let frame = self.packed_frame().await;
            if frame["id"] == id {
                return frame;
            }
            self.events.push_back(frame);
        }
    }

    /// The next event of a name, in MessagePack.
    pub(crate) async fn packed_event(&mut self, name: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(at).unwrap();
            }
            let frame = self.packed_frame().await;
            self.events.push_back(frame);
        }
    }

    /// Decoded as JSON's model, so that anything but texts, numbers, lists and maps with text keys fails.
    async fn packed_frame(&mut self) -> Value {
        let Message::Binary(bytes) = self.message().await else { panic!("a binary frame is expected") };
        let frame = rmp_serde::from_slice(&bytes).unwrap();
        assert_no_empty_fields(&frame);
        frame
    }

    pub(crate) async fn send(&mut self, message: Message) {
        timeout(PATIENCE, self.socket.send(message)).await.unwrap().unwrap();
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.send(Message::text(text)).await;
    }

    /// Sends a command without waiting and answers its id.
    pub(crate) async fn begin(&mut self, op: &str, data: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send_text(&json!({ "id": id, "op": op, "data": data }).to_string()).await;
        id
    }

    /// The reply to a command, events on the way being kept.
    pub(crate) async fn reply(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            if let Some(mut reply) = self.replies.remove(&id) {
                return match reply.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(reply["data"].take()),
                };
            }
            self.receive().await;
        }
    }

    async fn receive(&mut self) {
        let frame = self.frame().await;
        match frame["id"].as_u64() {
            Some(id) => {
                let twice = self.replies.insert(id, frame);
                assert!(twice.is_none(), "a second reply to {id}");
            }
            None => self.events.push_back(frame),
        }
    }

    /// The statuses that were told before now.
    pub(crate) async fn statuses(&mut self) -> Vec<Value> {
        self.ok("session.ping", json!({})).await;
        self.statuses.drain(..).collect()
    }

    /// Waits until a user is told to have a status; what was told before that is dropped.
    pub(crate) async fn status_of(&mut self, user: &User, status: &str) -> Value {
        let told = async {
            loop {
                while let Some(told) = self.statuses.pop_front() {
                    if told["userId"] == user.id && told["status"] == status {
                        return told;
                    }
                }
                // Nothing else announces it: ask until it is among what came before the answer.
                self.ok("session.ping", json!({})).await;
                if self.statuses.is_empty() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        let in_time = timeout(PATIENCE, told).await;
        in_time.unwrap_or_else(|_| panic!("{} is not told to be {status}", user.name))
    }

    /// The next frame, whatever it is. Every frame is held to the rule that empty fields are left out.
    pub(crate) async fn frame(&mut self) -> Value {
        loop {
            let Message::Text(text) = self.message().await else { panic!("a text frame is expected") };
            let frame: Value = serde_json::from_str(&text).unwrap();
            assert_no_empty_fields(&frame);
            // Who comes and goes is told a moment later: kept apart, so that other frames have their order.
            if frame["event"] != "status.changed" {
                return frame;
            }
            self.statuses.push_back(frame["data"]["status"].clone());
        }
    }

    /// The next message of the socket but for pings.
    async fn message(&mut self) -> Message {
        let next = async {
            loop {
                match self.socket.next().await.expect("an open socket").unwrap() {
                    Message::Ping(_) | Message::Pong(_) => {}
                    message => return message,
                }
            }
        };
        timeout(PATIENCE, next).await.unwrap_or_else(|_| panic!("nothing came in time; seen: {:?}", self.events))
    }

    pub(crate) async fn call(&mut self, op: &str, data: Value) -> Result<Value, Value> {
        let id = self.begin(op, data).await;
        self.reply(id).await
    }

    /// The data of a command that succeeds.
    pub(crate) async fn ok(&mut self, op: &str, data: Value) -> Value {
        let shown = data.to_string();
        self.call(op, data).await.unwrap_or_else(|error| panic!("{op} {shown}: {error}"))
    }

    /// The code of a command that is refused.
    pub(crate) async fn refused(&mut self, op: &str, data: Value) -> String {
        self.error(op, data).await["code"].as_str().unwrap().to_owned()
    }

    /// The error of a command that is refused.
    pub(crate) async fn error(&mut self, op: &str, data: Value) -> Value {
        let shown = data.to_string();
        match self.call(op, data).await {
            Ok(reply) => panic!("{op} {shown} answered {reply}"),
            Err(error) => {
                assert!(error["message"].is_string(), "{error}");
                error
            }
        }
    }

    /// The next event of a name; others are kept.
    pub(crate) async fn event(&mut self, name: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(at).unwrap();
            }
            self.receive().await;
        }
    }

    /// The next event that belongs to a room: durable, control or ephemeral.
    pub(crate) async fn room_event(&mut self) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|event| event.get("roomId").is_some()) {
                return self.events.remove(at).unwrap();
            }
            self.receive().await;
        }
    }

    /// All events that were sent before now: the answer to a ping travels in order with them.
    pub(crate) async fn settled(&mut self) -> Vec<Value> {
        self.ok("session.ping", json!({})).await;
        self.events.drain(..).collect()
    }

    /// Whether nothing of a room was sent that has not been looked at.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        let rooms: Vec<_> = self.settled().await.into_iter().filter(|event| event.get("roomId").is_some()).collect();
        for event in &rooms {
            eprintln!("not quiet: {event}");
        }
        rooms.is_empty()
    }

    /// The names of `settled`.
    pub(crate) async fn settled_names(&mut self) -> Vec<String> {
        let events = self.settled().await;
        events.iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
    }

    /// Reads on until the server closes, and answers code and reason.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            let next = timeout(PATIENCE, self.socket.next()).await.expect("a close in time");
            match next {
                Some(Ok(Message::Close(Some(close)))) => return (close.code.into(), close.reason.to_string()),
                Some(Ok(Message::Close(None))) => return (1005, String::new()),
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("closed without a code: {error}"),
                None => panic!("closed without a code"),
            }
        }
    }

    /// The next frame, or the code of the close.
    pub(crate) async fn frame_or_close(&mut self) -> Result<Value, u16> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("something in time") {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(Some(close)))) => return Err(close.code.into()),
                Some(Ok(_)) => {}
                other => panic!("ended without a close: {other:?}"),
            }
        }
    }

    /// Subscribes one room and answers its entry.
    pub(crate) async fn subscribe(&mut self, room_id: &str) -> Value {
        let reply = self.ok("room.subscribe", json!({ "rooms": [{ "roomId": room_id }] })).await;
        let entry = reply["rooms"][0].clone();
        assert_eq!(entry["verdict"], "live", "{entry}");
        entry
    }

    /// Subscribes from a position and answers the entry and all entries of the catch-up.
    pub(crate) async fn resume(&mut self, room_id: &str, epoch: &Value, seq: u64) -> (Value, Vec<Value>) {
        let rooms = json!([{ "roomId": room_id, "since": { "epoch": epoch, "seq": seq } }]);
        let reply = self.ok("room.subscribe", json!({ "rooms": rooms })).await;
        let entry = reply["rooms"][0].clone();
        let entries = if entry["verdict"] == "exact" { self.catch_up(&entry).await } else { Vec::new() };
        (entry, entries)
    }

    /// The entries of the catch-up that follows a verdict `exact`.
    pub(crate) async fn catch_up(&mut self, subscribed: &Value) -> Vec<Value> {
        let mut entries = Vec::new();
        loop {
            let page = self.event("room.catchUp").await;
            assert_eq!((&page["roomId"], &page["sub"]), (&subscribed["roomId"], &subscribed["sub"]));
            let items = page["data"]["entries"].as_array().cloned().unwrap_or_default();
            assert!(items.len() <= 100);
            entries.extend(items);
            if page["data"]["done"] == true {
                assert_eq!(page["data"].get("seq"), subscribed.get("seq"));
                return entries;
            }
        }
    }

    /// A new room of one's own.
    pub(crate) async fn room(&mut self, name: &str) -> String {
        let view = self.ok("room.create", json!({ "name": name, "nonce": nonce() })).await;
        view["room"]["roomId"].as_str().unwrap().to_owned()
    }

    /// Brings another into a room of one's own.
    pub(crate) async fn bring(&mut self, room_id: &str, other: &mut Self) {
        let reply = self.ok("invite.create", json!({ "roomId": room_id, "nonce": nonce() })).await;
        let invite_id = &reply["invite"]["inviteId"];
        other.ok("invite.join", json!({ "inviteId": invite_id, "nonce": nonce() })).await;
    }

    /// Makes two accounts friends.
    pub(crate) async fn befriend(&mut self, own: &User, other: &mut Self, friend: &User) {
        self.ok("friend.request", json!({ "userId": friend.id })).await;
        other.ok("friend.accept", json!({ "userId": own.id })).await;
    }

    /// Sends a text and answers the message.
    pub(crate) async fn say(&mut self, room_id: &str, text: &str) -> Value {
        let data = json!({ "roomId": room_id, "message": text, "nonce": nonce() });
        self.ok("message.send", data).await["message"].take()
    }
}

#[derive(Debug)]
pub(crate) struct UpgradeRefused {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// "The server leaves empty fields out", but for the changes of a delta.
#[track_caller]
fn assert_no_empty_fields(frame: &Value) {
    fn walk(value: &Value, frame: &Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    let is_empty = match value {
                        Value::Null | Value::Bool(false) => true,
                        Value::Number(number) => number.as_f64() == Some(0.0),
                        Value::String(text) => text.is_empty(),
                        Value::Array(items) => items.is_empty(),
                        Value::Object(fields) => fields.is_empty(),
                        Value::Bool(true) => false,
                    };
                    assert!(!is_empty, "{key} is empty in {frame}");
                    if !matches!(key.as_str(), "changes" | "limits") {
                        walk(value, frame);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, frame)),
            _ => {}
        }
    }
    for (key, value) in frame.as_object().expect("a frame is an object") {
        if key == "data" || key == "error" {
            walk(value, frame);
        }
    }
}

/// The text of each message of a list reply.
pub(crate) fn texts(reply: &Value) -> Vec<&str> {
    items(reply).iter().map(|message| message["message"].as_str().unwrap_or("")).collect()
}

pub(crate) fn items(reply: &Value) -> &[Value] {
    reply["items"].as_array().map_or(&[], Vec::as_slice)
}
