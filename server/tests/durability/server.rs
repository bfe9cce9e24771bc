//! The real binary as a child process, and just enough of a client to talk to it.

use std::{
    fs::{self, File},
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Once,
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::unsynced::{Behaviour, Disk};

/// One user sends more here than a person may.
const LIMITS: &str = "\
[limits]
frames_per_second = 1000000
frame_burst = 1000000

[rates.standard]
points = 1000000
";

const DEADLINE: Duration = Duration::from_secs(30);

/// `parlour serve` on a disk's folder and a port of its own; killed at the end.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Server {
    /// Starts the server on what the disk holds.
    pub(crate) async fn start(disk: &Disk, behaviour: Behaviour) -> Server {
        let mut command = Command::new(binary());
        disk.watch(&mut command, behaviour);
        let mut server = Self::launch(command, disk);
        server.address = server.announced_address().await.expect("the server starts");
        server
    }

    /// The same under `strace`, without the disk's own watch.
    pub(crate) async fn start_traced(mut strace: Command, disk: &Disk) -> Server {
        strace.arg(binary());
        let mut server = Self::launch(strace, disk);
        server.address = server.announced_address().await.expect("the server starts");
        server
    }

    /// Starts it and loses power at the named change; answers whether it ran long enough to listen.
    pub(crate) async fn start_until_power_loss(disk: &Disk, change: u64) -> bool {
        let mut command = Command::new(binary());
        disk.watch(&mut command, Behaviour::PowerLossAt(change));
        Self::launch(command, disk).announced_address().await.is_ok()
    }

    fn launch(mut command: Command, disk: &Disk) -> Server {
        let log = disk.beside("server.log");
        let output = File::create(&log).expect("log file");
        let limits = disk.beside("limits.toml");
        fs::write(&limits, LIMITS).expect("configuration");
        let child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(disk.root())
            .arg("--config")
            .arg(limits)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("log file"))
            .stderr(output)
            .process_group(0)
            .spawn()
            .expect("the server starts");
        Server { child, address: ([127, 0, 0, 1], 0).into(), log }
    }

    /// The address in the line that the server prints once it listens; an error when it ended before.
    async fn announced_address(&mut self) -> Result<SocketAddr, String> {
        let read = async {
            loop {
                let ended = self.child.try_wait().expect("wait");
                let text = fs::read_to_string(&self.log).expect("log");
                if let Some(address) = text.split("http://").skip(1).find_map(|rest| {
                    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':').unwrap_or(rest.len());
                    rest[..end].parse().ok()
                }) {
                    return Ok(address);
                }
                if let Some(status) = ended {
                    return Err(format!("it ended ({status}):\n{text}"));
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, read).await.expect("the server prints its address in time")
    }

    /// SIGKILL to the process and all it started, at once; returns when it is gone.
    pub(crate) fn kill(&mut self) {
        let group = format!("kill -KILL -{}", self.child.id());
        // It fails where the process is gone already, which is what is wanted.
        let _status = Command::new("sh").args(["-c", &group]).stderr(Stdio::null()).status().expect("sh");
        self.child.wait().expect("reaped");
    }

    /// Makes an account and answers its token.
    pub(crate) async fn register(&self, name: &str) -> String {
        let answer = self.post("/v1/auth/register", None, json!({"name": name, "password": "correct horse"})).await;
        answer["token"].as_str().expect("a token").to_owned()
    }

    /// One operation over HTTP; panics unless it succeeds.
    pub(crate) async fn call(&self, token: &str, op: &str, data: Value) -> Value {
        self.post(&format!("/v1/rpc/{op}"), Some(token), data).await
    }

    async fn post(&self, path: &str, token: Option<&str>, body: Value) -> Value {
        let mut request = http().post(format!("http://{}{path}", self.address)).json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let answer: Value = response.json().await.expect("a JSON answer");
        assert!(status.is_success(), "{path} {body}: {status} {answer}");
        answer
    }

    /// A socket that has said hello.
    pub(crate) async fn connect(&self, token: &str) -> Socket {
        let mut request = format!("ws://{}/v1/ws", self.address).into_client_request().expect("request");
        request.headers_mut().insert("sec-websocket-protocol", "parlour.v1.json".parse().expect("header"));
        let (stream, _response) = tokio_tungstenite::connect_async(request).await.expect("the upgrade");
        let mut socket = Socket { stream };
        socket.send(1, "session.hello", json!({"token": token})).await.expect("hello");
        let reply = socket.reply(1).await;
        assert!(reply.get("data").is_some(), "hello: {reply}");
        socket
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.kill();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    /// Sends one command; an error means that the connection is gone.
    pub(crate) async fn send(&mut self, id: u64, op: &str, data: Value) -> Result<(), ()> {
        let frame = json!({"id": id, "op": op, "data": data}).to_string();
        self.stream.send(Message::text(frame)).await.map_err(|_gone| ())
    }

    /// The next frame; `None` once the connection is gone.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match timeout(DEADLINE, self.stream.next()).await.expect("a frame in time") {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(other)) => panic!("unexpected frame {other:?}"),
                Some(Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn reply(&mut self, id: u64) -> Value {
        loop {
            let frame = self.next().await.expect("a reply");
            if frame["id"] == id {
                return frame;
            }
        }
    }
}

/// Another command of the program on the disk's folder.
pub(crate) fn run(disk: &Disk, arguments: &[&str], behaviour: Behaviour) -> ExitStatus {
    let mut command = Command::new(binary());
    command.args(arguments).arg("--data-dir").arg(disk.root());
    disk.watch(&mut command, behaviour);
    let output = command.output().expect("the program runs");
    print!("{}", String::from_utf8_lossy(&output.stderr));
    output.status
}

fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_parlour")
}

fn http() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        rustls::crypto::ring::default_provider().install_default().expect("the first provider");
    });
    reqwest::Client::new()
}
