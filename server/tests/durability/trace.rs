//! The order of the system calls behind one acknowledged message, as `strace` sees it.

use std::{fs, path::PathBuf, process::Command};

use serde_json::json;

use crate::{server::Server, unsynced::Disk};

const NONCE: &str = "nonce-to-look-for-in-the-trace";

#[tokio::test]
async fn the_reply_leaves_after_the_write_ahead_log_is_synced() {
    if !can_trace() {
        println!("SKIPPED: strace is not installed or may not trace here");
        return;
    }
    let disk = Disk::new();
    let output = disk.beside("strace.txt");
    let mut server = Server::start_traced(strace(&output), &disk).await;
    let token = server.register("Ada").await;
    let view = server.call(&token, "room.create", json!({"name": "Tea"})).await;
    let mut socket = server.connect(&token).await;
    let message = json!({"roomId": view["room"]["roomId"], "message": "hello", "nonce": NONCE});
    socket.send(2, "message.send", message).await.expect("sent");
    let reply = socket.reply(2).await;
    assert_eq!(reply["data"]["message"]["nonce"], NONCE);
    server.kill();

    let calls = read_calls(&output);
    let written = calls.iter().rposition(|call| call.is_log_write() && call.text.contains(NONCE));
    let written = written.expect("the message is written to the write-ahead log");
    let synced = calls[written..].iter().position(Call::is_log_sync).expect("the log is synced") + written;
    let answered = calls.iter().position(|call| call.is_socket_write() && call.text.contains(NONCE));
    let answered = answered.expect("the reply is written to the socket");
    assert!(written < synced && synced < answered, "write {written}, sync {synced}, reply {answered}");
    let late = calls[synced..answered].iter().find(|call| call.is_log_write());
    assert!(late.is_none(), "written after the sync and before the reply: {late:?}");
}

fn strace(output: &PathBuf) -> Command {
    let mut command = Command::new("strace");
    let calls = "trace=write,writev,pwrite64,pwritev,fsync,fdatasync,sync_file_range,sendto,sendmsg";
    command.args(["-f", "-y", "-s", "65536", "-e", calls, "-o"]).arg(output);
    command
}

/// Containers often forbid ptrace.
fn can_trace() -> bool {
    let run = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    run.is_ok_and(|run| run.status.success())
}

/// One finished system call: its name, the path of its descriptor and the rest of its line.
#[derive(Debug)]
struct Call {
    name: String,
    file: String,
    text: String,
}

impl Call {
    fn is_log_write(&self) -> bool {
        self.file.ends_with("-wal") && ["write", "writev", "pwrite64", "pwritev"].contains(&self.name.as_str())
    }

    fn is_log_sync(&self) -> bool {
        self.file.ends_with("-wal") && ["fsync", "fdatasync"].contains(&self.name.as_str())
    }

    fn is_socket_write(&self) -> bool {
        self.file.starts_with("socket:") || self.file.starts_with("TCP:")
    }
}

/// The calls in the order in which they mattered: a write to a socket when it began (the bytes may leave at
/// once), everything else when it was finished.
fn read_calls(output: &PathBuf) -> Vec<Call> {
    let text = String::from_utf8_lossy(&fs::read(output).expect("the trace")).into_owned();
    let mut calls = Vec::new();
    let mut unfinished = std::collections::HashMap::new();
    for line in text.lines() {
        let Some((thread, line)) = line.split_once(' ') else { continue };
        let line = line.trim_start();
        if line.starts_with("<... ") {
            calls.extend(unfinished.remove(thread));
        } else if let Some(call) = parse(line) {
            if line.ends_with("<unfinished ...>") && !call.is_socket_write() {
                unfinished.insert(thread.to_owned(), call);
            } else {
                calls.push(call);
            }
        }
    }
    calls
}

/// `pwrite64(12</data/parlour.db-wal>, "…", 4096, 32) = 4096`
fn parse(line: &str) -> Option<Call> {
    let (name, arguments) = line.split_once('(')?;
    let (descriptor, text) = arguments.split_once('>')?;
    let (_number, file) = descriptor.split_once('<')?;
    Some(Call { name: name.to_owned(), file: file.to_owned(), text: text.to_owned() })
}
