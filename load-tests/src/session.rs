//! A blocking client for what is not measured: accounts, rooms, invites, history, crash tests.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use crate::commands;
use crate::wire::{Opcode, check_upgrade, close_reason, http_head, next_frame, push_client_frame, upgrade_request};

const CALL_DEADLINE: Duration = Duration::from_secs(30);
/// Commands of one [`Session::call_all`] in flight.
const PIPELINE: usize = 64;

/// A log-in made by [`register`].
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) token: String,
}

/// Makes an account over HTTP.
pub(crate) fn register(address: SocketAddr, name: &str) -> Result<Account> {
    let body = json!({"name": name, "password": "correct horse battery"}).to_string();
    let request = format!(
        "POST /v1/auth/register HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = dial(address)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        if let Some(length) = http_head(&answer).map_err(|error| anyhow!(error))? {
            let head = String::from_utf8_lossy(&answer[..length]).into_owned();
            let body = &answer[length..];
            let wanted = crate::wire::header(&head, "content-length").and_then(|value| value.parse().ok());
            if wanted.is_some_and(|wanted: usize| body.len() >= wanted) {
                let text = String::from_utf8_lossy(body);
                if !head.starts_with("HTTP/1.1 201") {
                    bail!("registering {name} was refused: {} {text}", head.lines().next().unwrap_or_default());
                }
                let body: Value = serde_json::from_slice(body)?;
                let token = body["token"].as_str().context("no token in the reply to register")?;
                return Ok(Account { token: token.to_owned() });
            }
        }
        let count = stream.read(&mut chunk).context("no answer to register")?;
        if count == 0 {
            bail!("the server closed instead of answering register");
        }
        answer.extend_from_slice(&chunk[..count]);
    }
}

fn dial(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, CALL_DEADLINE)?;
    stream.set_read_timeout(Some(CALL_DEADLINE))?;
    stream.set_write_timeout(Some(CALL_DEADLINE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An open socket after hello.
#[derive(Debug)]
pub(crate) struct Session {
    stream: TcpStream,
    buffer: Vec<u8>,
    taken: usize,
    outgoing: Vec<u8>,
    next_id: u64,
}

impl Session {
    /// Opens a socket and says hello.
    ///
    /// # Errors
    /// No connection, or the token was refused.
    pub(crate) fn connect(address: SocketAddr, token: &str) -> Result<Self> {
        let mut stream = dial(address)?;
        stream.write_all(upgrade_request(&address.to_string()).as_bytes())?;
        let mut session =
            Self { stream, buffer: Vec::new(), taken: 0, outgoing: Vec::new(), next_id: commands::SUBSCRIBE };
        let head = loop {
            if let Some(length) = check_upgrade(&session.buffer).map_err(|error| anyhow!(error))? {
                break length;
            }
            session.fill(CALL_DEADLINE)?;
        };
        session.taken = head;
        session.outgoing = commands::hello(token);
        session.flush()?;
        session.reply(commands::HELLO)?;
        Ok(session)
    }

    /// Queues a command; its id.
    pub(crate) fn queue(&mut self, op: &str, data: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.outgoing.extend_from_slice(&commands::command(id, op, data));
        id
    }

    /// Writes what is queued.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let frames = std::mem::take(&mut self.outgoing);
        self.stream.write_all(&frames)
    }

    /// One command and its reply's data.
    ///
    /// # Errors
    /// The error reply's code and message, or the connection is over.
    pub(crate) fn call(&mut self, op: &str, data: &Value) -> Result<Value> {
        let text = self.call_text(op, data)?;
        let mut reply: Value = serde_json::from_slice(&text)?;
        Ok(reply["data"].take())
    }

    /// As [`Self::call`], but the whole reply as it came.
    pub(crate) fn call_text(&mut self, op: &str, data: &Value) -> Result<Vec<u8>> {
        let id = self.queue(op, data);
        self.flush()?;
        self.reply(id).with_context(|| format!("{op} failed"))
    }

    /// Commands pipelined 64 deep; their replies' data in the order asked.
    pub(crate) fn call_all(&mut self, op: &str, data: &[Value]) -> Result<Vec<Value>> {
        let first = self.next_id;
        let mut replies = vec![Value::Null; data.len()];
        let (mut asked, mut answered) = (0, 0);
        while answered < data.len() {
            while asked < data.len() && asked - answered < PIPELINE {
                self.queue(op, &data[asked]);
                asked += 1;
            }
            self.flush()?;
            let text = self.receive(CALL_DEADLINE)?.with_context(|| format!("{op}: no reply within 30 s"))?;
            let mut frame: Value = serde_json::from_slice(&text)?;
            let Some(id) = frame["id"].as_u64() else {
                continue;
            };
            if let Some(error) = frame.get("error") {
                bail!("{op} failed: {error}");
            }
            let slot = id.checked_sub(first).and_then(|index| replies.get_mut(usize::try_from(index).ok()?));
            *slot.context("a reply to no command")? = frame["data"].take();
            answered += 1;
        }
        Ok(replies)
    }

    fn reply(&mut self, id: u64) -> Result<Vec<u8>> {
        let deadline = Instant::now() + CALL_DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let text = self.receive(left)?.context("no reply within 30 s")?;
            if commands::Kind::of(&text) != commands::Kind::Reply(id) {
                continue;
            }
            if commands::is_error(&text) {
                let reply: Value = serde_json::from_slice(&text)?;
                bail!("{}: {}", reply["error"]["code"].as_str().unwrap_or("?"), reply["error"]["message"]);
            }
            return Ok(text);
        }
    }

    /// The next text frame, or `None` when none came within `wait`. Pings are answered.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) fn receive(&mut self, wait: Duration) -> Result<Option<Vec<u8>>> {
        let deadline = Instant::now() + wait;
        loop {
            let next = next_frame(&self.buffer[self.taken..]).map_err(|_| anyhow!("not a WebSocket frame"))?;
            let Some((frame, length)) = next else {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() || !self.fill(left)? {
                    return Ok(None);
                }
                continue;
            };
            self.taken += length;
            match frame.opcode {
                Opcode::Text => return Ok(Some(frame.payload.to_vec())),
                Opcode::Ping => {
                    push_client_frame(&mut self.outgoing, Opcode::Pong, frame.payload);
                    self.flush()?;
                }
                Opcode::Close => {
                    let (code, reason) = close_reason(frame.payload);
                    bail!("closed by the server: {code} {reason}");
                }
                Opcode::Pong | Opcode::Binary | Opcode::Continuation => {}
            }
        }
    }

    /// Reads once; whether anything came within `wait`.
    fn fill(&mut self, wait: Duration) -> Result<bool> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.stream.set_read_timeout(Some(wait.max(Duration::from_millis(1))))?;
        let kept = self.buffer.len();
        self.buffer.resize(kept + 64 * 1024, 0);
        let result = self.stream.read(&mut self.buffer[kept..]);
        self.buffer.truncate(kept + result.as_ref().copied().unwrap_or(0));
        match result {
            Ok(0) => bail!("closed by the server"),
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
