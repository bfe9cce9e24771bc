//! A reader of the crash test: subscribed to every room, it keeps a position a room over
//! reconnects and writes down what it applies, by the rules for client libraries.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::verdict::{Read, Seen, SeenRoom};
use super::{DRAIN_DEADLINE, RECOVERY_DEADLINE, Scene, message_of};
use crate::server_process::pause;
use crate::session::Session;

#[derive(Debug)]
struct Reader<'a> {
    scene: &'a Scene,
    rooms: Vec<RoomState>,
}

#[derive(Debug, Default)]
struct RoomState {
    position: Option<(String, u64)>,
    sub: u64,
    /// Subscribed again after a hole, and not answered yet.
    resubscribing: bool,
    seen: SeenRoom,
}

enum End {
    Finished,
    Lost,
}

/// What follows from a frame.
enum Next {
    Go,
    /// The room showed a hole.
    Resubscribe(usize),
    /// The server could not answer just now.
    Reconnect,
}

/// # Errors
/// A verdict that a crash must not cause, a malformed frame, or no connection for 30 s.
pub(super) fn run(scene: &Scene, number: usize, token: &str) -> Result<Read> {
    let rooms = scene.rooms.iter().map(|_| RoomState::default()).collect();
    let mut reader = Reader { scene, rooms };
    let result = reader.read(token);
    if result.is_err() {
        scene.abandoned.store(true, Ordering::Relaxed);
    }
    result.with_context(|| format!("reader {number}"))?;
    Ok(Read { reader: number, rooms: reader.rooms.into_iter().map(|room| room.seen).collect() })
}

impl Reader<'_> {
    fn read(&mut self, token: &str) -> Result<()> {
        let mut lost_at = Instant::now();
        let mut give_up = None;
        loop {
            if self.scene.is_abandoned() {
                return Ok(());
            }
            if let Ok(session) = Session::connect(self.scene.address, token) {
                if let End::Finished = self.listen(session, &mut give_up)? {
                    return Ok(());
                }
                lost_at = Instant::now();
            } else if lost_at.elapsed() > RECOVERY_DEADLINE {
                bail!("no connection for 30 s");
            }
            pause(Duration::from_millis(5));
        }
    }

    fn listen(&mut self, mut session: Session, give_up: &mut Option<Instant>) -> Result<End> {
        for room in &mut self.rooms {
            room.resubscribing = false;
        }
        let all: Vec<usize> = (0..self.rooms.len()).collect();
        self.subscribe(&mut session, &all);
        loop {
            if self.scene.is_abandoned() || self.at_goal(give_up)? {
                return Ok(End::Finished);
            }
            if session.flush().is_err() {
                return Ok(End::Lost);
            }
            match session.receive(Duration::from_millis(20)) {
                Ok(Some(frame)) => {
                    let frame: Value = serde_json::from_slice(&frame).context("not JSON")?;
                    match self.take(&frame)? {
                        Next::Go => {}
                        Next::Reconnect => return Ok(End::Lost),
                        Next::Resubscribe(room) => {
                            let state = &mut self.rooms[room];
                            state.seen.holes += 1;
                            state.resubscribing = true;
                            self.subscribe(&mut session, &[room]);
                        }
                    }
                }
                Ok(None) => {}
                Err(_) => return Ok(End::Lost),
            }
        }
    }

    /// Whether every room is read to its end; also when that takes too long, for the audit to say what is missing.
    fn at_goal(&self, give_up: &mut Option<Instant>) -> Result<bool> {
        let Ok(goal) = self.scene.goal.try_lock() else {
            return Ok(false);
        };
        let Some(goal) = goal.as_ref() else {
            return Ok(false);
        };
        let until = *give_up.get_or_insert_with(|| Instant::now() + DRAIN_DEADLINE);
        let reached = |(room, seq): (&RoomState, &u64)| room.position.as_ref().is_some_and(|(_, at)| at >= seq);
        Ok(self.rooms.iter().zip(goal).all(reached) || Instant::now() > until)
    }

    fn subscribe(&self, session: &mut Session, rooms: &[usize]) {
        let wanted: Vec<Value> = rooms
            .iter()
            .map(|room| match &self.rooms[*room].position {
                Some((epoch, seq)) => json!({"roomId": self.scene.rooms[*room], "since": {"epoch": epoch, "seq": seq}}),
                None => json!({"roomId": self.scene.rooms[*room]}),
            })
            .collect();
        session.queue("room.subscribe", &json!({"rooms": wanted}));
    }

    /// Takes one frame.
    fn take(&mut self, frame: &Value) -> Result<Next> {
        if frame["id"].is_u64() {
            if frame.get("error").is_some() {
                return Ok(Next::Reconnect);
            }
            for entry in frame["data"]["rooms"].as_array().into_iter().flatten() {
                self.subscribed(entry)?;
            }
            return Ok(Next::Go);
        }
        let Some(room) = self.scene.rooms.iter().position(|id| frame["roomId"] == id.as_str()) else {
            return Ok(Next::Go);
        };
        let state = &mut self.rooms[room];
        let (data, seq) = (&frame["data"], frame["seq"].as_u64());
        match frame["event"].as_str().unwrap_or_default() {
            "room.catchUp" => {
                if frame["sub"].as_u64() != Some(state.sub) {
                    return Ok(Next::Go);
                }
                for entry in data["entries"].as_array().into_iter().flatten() {
                    let seq = entry["seq"].as_u64().context("a catch-up entry without seq")?;
                    state.note(entry, seq)?;
                }
                state.advance(data["seq"].as_u64().unwrap_or(0));
            }
            "room.behind" => {
                if frame["sub"].as_u64() == Some(state.sub) && data["verdict"] == "gap" {
                    state.jump(data["head"].as_u64().unwrap_or(0));
                }
            }
            "room.unsubscribed" => bail!("lost access: {frame}"),
            _ => {
                let (Some(seq), Some((_, at))) = (seq, state.position.as_ref()) else {
                    return Ok(Next::Go);
                };
                if seq <= *at {
                    state.seen.repeats += 1;
                } else if seq == at + 1 {
                    state.note(frame, seq)?;
                    state.advance(seq);
                } else if !state.resubscribing {
                    return Ok(Next::Resubscribe(room));
                }
            }
        }
        Ok(Next::Go)
    }

    fn subscribed(&mut self, entry: &Value) -> Result<()> {
        let room = self.scene.rooms.iter().position(|id| entry["roomId"] == id.as_str()).context("a foreign room")?;
        let state = &mut self.rooms[room];
        state.sub = entry["sub"].as_u64().unwrap_or(0);
        state.resubscribing = false;
        let epoch = entry["epoch"].as_str().unwrap_or_default().to_owned();
        let seq = entry["seq"].as_u64().unwrap_or(0);
        match (entry["verdict"].as_str().unwrap_or_default(), &mut state.position) {
            ("live", position @ None) => {
                *position = Some((epoch, seq));
                state.seen.from = seq;
            }
            ("exact", Some((known, at))) if *known == epoch && *at <= seq => {}
            ("gap", Some(_)) => state.jump(seq),
            _ => bail!("subscribe from {:?} was answered {entry}", state.position),
        }
        Ok(())
    }
}

impl RoomState {
    fn note(&mut self, event: &Value, seq: u64) -> Result<()> {
        if event["event"] != "message.created" {
            return Ok(());
        }
        if let Some(message) = message_of(&event["data"]["message"])? {
            self.seen.messages.push(Seen { at: seq, message });
        }
        Ok(())
    }

    fn advance(&mut self, seq: u64) {
        if let Some((_, at)) = &mut self.position {
            *at = seq.max(*at);
        }
    }

    /// The server may skip to its head when a reader is far behind; what lay between is excused.
    fn jump(&mut self, head: u64) {
        if let Some((_, at)) = &mut self.position {
            self.seen.gaps.push(*at + 1..=head);
            *at = head;
        }
    }
}
