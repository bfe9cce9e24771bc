//! The real program: its settings, exit codes, signals, and the commands beside a running server.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

fn parlour(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parlour"));
    command.arg("--data-dir").arg(folder.join("data")).current_dir(folder);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PARLOUR_")) {
        command.env_remove(name);
    }
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    parlour(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn expect_complaint(output: &Output, code: i32, complaint: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(complaint), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// A running server notices within a second; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running server. Killed when dropped.
struct Server {
    child: Child,
    address: String,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut child = parlour(folder)
            .args(["serve", "--listen", "127.0.0.1:0", "--set", "rates.auth.points=1000"])
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(concat!("Parlour ", env!("CARGO_PKG_VERSION"))), "{line}");
        assert!(line.contains("SQLite") && line.contains("data"), "{line}");
        let address = line.split("http://").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        Self { child, address, _stdout: stdout }
    }

    /// Sends a request with a JSON body; status and body of the answer.
    fn post(&self, path: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{authorization}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    fn account(&self, action: &str, name: &str, password: &str) -> (u16, String) {
        let body = serde_json::json!({"name": name, "password": password}).to_string();
        let (status, answer) = self.post(&format!("/v1/auth/{action}"), None, &body);
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        (status, answer["token"].as_str().unwrap_or_default().to_owned())
    }

    fn accepts(&self, token: &str) -> bool {
        self.post("/v1/rpc/session.list", Some(token), "{}").0 == 200
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_setting_that_is_wrong_is_named_in_one_line_with_exit_code_2() {
    let folder = folder();
    let file = folder.path().join("settings.toml");
    fs::write(&file, "[limits]\nframe_brust = 3\n").unwrap();
    let output = run(folder.path(), &["serve", "--config", file.to_str().unwrap()]);
    expect_complaint(&output, 2, "limits.frame_brust in ");
    expect_complaint(&run(folder.path(), &["serve", "--listen", "8080"]), 2, "--listen: must be an address");
    expect_complaint(&run(folder.path(), &["serve", "--set", "registration=maybe"]), 2, "--set registration: must be");
    let output = parlour(folder.path()).env("PARLOUR_RATES_AUTH_POINTS", "0").arg("serve").output().unwrap();
    expect_complaint(&output, 2, "PARLOUR_RATES_AUTH_POINTS: must be at least 1");
    assert!(!folder.path().join("data").exists(), "nothing was begun");
}

#[test]
fn a_database_that_cannot_be_used_is_told_in_one_line_with_exit_code_2() {
    let folder = folder();
    let with_url = |url: &str| {
        let mut command = parlour(folder.path());
        command.env("PARLOUR_DATABASE_URL", url).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap()
    };
    expect_complaint(&with_url("mysql://here"), 2, "PARLOUR_DATABASE_URL: must begin with postgres://");
    expect_complaint(&with_url("postgres://here:port/x"), 2, "PARLOUR_DATABASE_URL: is not the address of a Postgres");
    // Nobody listens on a port that was just free.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let complaint = format!("PARLOUR_DATABASE_URL: Postgres at 127.0.0.1:{port} is not reached");
    expect_complaint(&with_url(&format!("postgres://ada@127.0.0.1:{port}/x")), 2, &complaint);
    let azure = |connection_string: &str| {
        let mut command = parlour(folder.path());
        command.env("PARLOUR_AZURE_BLOB_CONNECTION_STRING", connection_string);
        command.args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap()
    };
    expect_complaint(&azure("AccountName=tea"), 2, "PARLOUR_AZURE_BLOB_CONNECTION_STRING: has no AccountKey");
    let output = azure(&format!("AccountName=tea;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:{port}/tea"));
    let said = text(&output.stderr);
    let complaint =
        format!("PARLOUR_AZURE_BLOB_CONNECTION_STRING: the store of files failed: http://127.0.0.1:{port} is");
    assert!(output.status.code() == Some(2) && said.contains(&complaint), "{said}");
    if let Ok(url) = std::env::var("PARLOUR_TEST_POSTGRES_URL") {
        let place = url.rsplit_once('/').unwrap().0;
        let output = with_url(&format!("{place}/absent"));
        expect_complaint(&output, 2, "has no database \"absent\": make it with `createdb absent`");
        let output = with_url(&format!("postgres://nobody@{}/postgres", place.split('@').nth(1).unwrap()));
        expect_complaint(&output, 2, "does not let \"nobody\" in");
    }
}

#[test]
fn a_data_folder_in_use_and_an_address_in_use_are_refused() {
    let (one, other) = (folder(), folder());
    let server = Server::start(one.path());
    expect_complaint(&run(one.path(), &["serve", "--listen", "127.0.0.1:0"]), 1, "is in use by another process");
    let output = run(other.path(), &["serve", "--listen", &server.address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&format!("failed to listen on {}", server.address)));
}

#[test]
fn a_signal_drains_the_server_within_ten_seconds() {
    let folder = folder();
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start(folder.path());
        // A keep-alive connection and a socket that never says anything do not hold it up.
        let mut idle = TcpStream::connect(&server.address).unwrap();
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        idle.read_exact(&mut [0; 15]).unwrap();
        let mut socket = TcpStream::connect(&server.address).unwrap();
        let upgrade = "GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        socket.write_all(upgrade.as_bytes()).unwrap();
        socket.read_exact(&mut [0; 12]).unwrap();
        let begin = Instant::now();
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn accounts_are_acted_on_beside_the_running_server() {
    let folder = folder();
    let server = Server::start(folder.path());
    let (_, token) = server.account("register", "Ada", "correct horse battery");
    assert!(server.accepts(&token));
    expect_complaint(&run(folder.path(), &["user", "disable", "nobody"]), 1, "no such account");
    assert!(run(folder.path(), &["user", "disable", "ada"]).status.success());
    let begin = Instant::now();
    while server.accepts(&token) {
        assert!(begin.elapsed() < PATIENCE, "the server did not notice");
    }
    assert_eq!(server.account("login", "Ada", "correct horse battery").0, 401);
    assert!(run(folder.path(), &["user", "enable", "ada"]).status.success());
    let output = run(folder.path(), &["user", "reset-password", "ada"]);
    let password = text(&output.stdout).trim().rsplit(' ').next().unwrap().to_owned();
    let (status, token) = server.account("login", "Ada", &password);
    assert_eq!(status, 200);
    assert!(run(folder.path(), &["user", "delete", "ada"]).status.success());
    let begin = Instant::now();
    while server.accepts(&token) {
        assert!(begin.elapsed() < PATIENCE, "the server did not notice");
    }
}

#[test]
fn a_backup_made_while_serving_is_restored_while_not() {
    let folder = folder();
    let copy = folder.path().join("copy.db");
    let copy = copy.to_str().unwrap();
    let server = Server::start(folder.path());
    server.account("register", "Ada", "correct horse battery");
    assert!(run(folder.path(), &["backup", copy]).status.success());
    expect_complaint(&run(folder.path(), &["backup", copy]), 1, "exists already");
    server.account("register", "Bob", "correct horse battery");
    expect_complaint(&run(folder.path(), &["restore", copy]), 1, "is in use by another process");
    drop(server);
    let output = run(folder.path(), &["restore", copy]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let server = Server::start(folder.path());
    assert_eq!(server.account("login", "Ada", "correct horse battery").0, 200);
    assert_eq!(server.account("login", "Bob", "correct horse battery").0, 401);
    drop(server);
    assert!(run(folder.path(), &["new-epoch"]).status.success());
}

#[test]
fn the_doctor_says_what_to_do() {
    let folder = folder();
    let output = run(folder.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(1), "nothing is there yet");
    let server = Server::start(folder.path());
    assert!(text(&run(folder.path(), &["doctor"]).stdout).contains("CHECK the operator's account"));
    server.account("register", "Ada", "correct horse battery");
    let output = run(folder.path(), &["doctor"]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let output = run(folder.path(), &["doctor", "--set", "listen=0.0.0.0:8080"]);
    assert!(text(&output.stdout).contains("TLS"));
}
