//! A writer of the crash test: sends in order, repeats in order whatever was not answered, with the
//! same nonces, over as many connections as it takes.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::verdict::{Listed, Written};
use super::{DRAIN_DEADLINE, RECOVERY_DEADLINE, Scene, message_of};
use crate::commands;
use crate::payload;
use crate::server_process::pause;
use crate::session::Session;

#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) number: usize,
    pub(super) room: usize,
    pub(super) token: &'a str,
    pub(super) window: usize,
    pub(super) rate: u64,
}

#[derive(Debug)]
struct Writer<'a> {
    scene: &'a Scene,
    task: Task<'a>,
    started: Instant,
    next: u64,
    /// Sent and not answered, oldest first.
    open: VecDeque<u64>,
    answers: Vec<Listed>,
    repeats: u64,
}

/// How a connection ended.
enum End {
    Finished,
    Lost,
}

/// # Errors
/// A refusal that no crash excuses, or no connection for 30 s.
pub(super) fn run(scene: &Scene, task: Task<'_>) -> Result<Written> {
    let mut writer = Writer {
        scene,
        task,
        started: Instant::now(),
        next: 0,
        open: VecDeque::new(),
        answers: Vec::new(),
        repeats: 0,
    };
    let result = writer.write();
    if result.is_err() {
        scene.abandoned.store(true, Ordering::Relaxed);
    }
    result.with_context(|| format!("writer {}", task.number))?;
    Ok(Written {
        writer: task.number,
        room: task.room,
        sent: writer.next,
        answers: writer.answers,
        repeats: writer.repeats,
    })
}

impl Writer<'_> {
    fn write(&mut self) -> Result<()> {
        let mut lost_at = Instant::now();
        loop {
            if self.scene.is_abandoned() {
                return Ok(());
            }
            if let Ok(session) = Session::connect(self.scene.address, self.task.token) {
                if let End::Finished = self.converse(session)? {
                    return Ok(());
                }
                lost_at = Instant::now();
            } else if lost_at.elapsed() > RECOVERY_DEADLINE {
                bail!("no connection for 30 s");
            }
            pause(Duration::from_millis(5));
        }
    }

    fn converse(&mut self, mut session: Session) -> Result<End> {
        let mut asked = HashMap::new();
        for sequence in self.open.clone() {
            self.repeats += 1;
            asked.insert(self.queue(&mut session, sequence), sequence);
        }
        let mut drain_until = None;
        loop {
            if self.scene.is_abandoned() {
                return Ok(End::Finished);
            }
            if self.scene.draining.load(Ordering::Relaxed) {
                if self.open.is_empty() {
                    return Ok(End::Finished);
                }
                let until = *drain_until.get_or_insert_with(|| Instant::now() + DRAIN_DEADLINE);
                if Instant::now() > until {
                    bail!("{} sends without an answer for 30 s", self.open.len());
                }
            } else {
                let due = self.started.elapsed().as_millis() as u64 * self.task.rate / 1_000;
                while self.open.len() < self.task.window && self.next < due {
                    let sequence = self.next;
                    self.next += 1;
                    self.open.push_back(sequence);
                    asked.insert(self.queue(&mut session, sequence), sequence);
                }
            }
            if session.flush().is_err() {
                return Ok(End::Lost);
            }
            let Ok(received) = session.receive(Duration::from_millis(5)) else {
                return Ok(End::Lost);
            };
            let Some(frame) = received else {
                continue;
            };
            let frame: Value = serde_json::from_slice(&frame).context("not JSON")?;
            let Some(sequence) = frame["id"].as_u64().and_then(|id| asked.remove(&id)) else {
                continue;
            };
            match frame["error"]["code"].as_str() {
                None => self.answered(sequence, &frame["data"]["message"])?,
                // Outcome unknown: repeat all open ones in order on a new connection.
                Some("unavailable" | "internal") => return Ok(End::Lost),
                Some(_) => bail!("sequence {sequence} was refused: {}", frame["error"]),
            }
        }
    }

    fn queue(&self, session: &mut Session, sequence: u64) -> u64 {
        let Task { number, room, .. } = self.task;
        let data = json!({
            "roomId": self.scene.rooms[room],
            "message": payload::text(room, number, sequence, 0),
            "nonce": commands::nonce(number, sequence),
        });
        session.queue("message.send", &data)
    }

    fn answered(&mut self, sequence: u64, message: &Value) -> Result<()> {
        let answer = message_of(message)?.with_context(|| format!("the answer to {sequence} has no message"))?;
        if answer.sequence != sequence || answer.writer != self.task.number {
            bail!("the answer to {sequence} shows another message: {message}");
        }
        self.open.retain(|open| *open != sequence);
        self.answers.push(answer);
        self.scene.answered[self.task.number].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
