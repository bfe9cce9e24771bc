//! Reads and idempotent changes: repeated over reconnects and failures that may pass, until their deadline.

use std::{collections::BTreeMap, time::Duration};

use parlour_protocol::{ErrorCode, ProtocolError, operation::Class};
use serde_json::Value;
use tokio::time::Instant;

use crate::{backoff::Backoff, command::Ask, error::RequestError, error::RequestErrorKind, outbox::Patience};

/// Requests at once; beyond it commands wait in their channel.
const CAPACITY: usize = 1024;
/// Ambiguous answers to one request after which the caller is told.
const TRIES: u32 = 5;

/// Operations that a repeat may answer with `not_found`, or `forbidden` where access itself is gone:
/// then the first one did it.
const REMOVALS: &[&str] = &[
    "message.delete",
    "room.delete",
    "room.leave",
    "invite.revoke",
    "role.delete",
    "emoji.delete",
    "webhook.delete",
    "category.delete",
    "block.remove",
    "friend.remove",
    "friend.cancel",
    "friend.decline",
    "session.revoke",
    "moderation.unban",
    "push.unsubscribe",
    "file.discard",
    "file.delete",
    "dm.remove",
];

#[derive(Debug)]
struct Entry {
    ask: Ask,
    is_in_flight: bool,
    /// An earlier try may have been carried out.
    is_doubtful: bool,
    resume_at: Option<Instant>,
    backoff: Backoff,
}

/// The requests that wait.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    entries: BTreeMap<u64, Entry>,
    next_id: u64,
}

impl Asks {
    pub(crate) fn add(&mut self, ask: Ask) {
        self.next_id += 1;
        let entry =
            Entry { ask, is_in_flight: false, is_doubtful: false, resume_at: None, backoff: Backoff::default() };
        self.entries.insert(self.next_id, entry);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.entries.len() < CAPACITY
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Ask> {
        self.entries.get(&id).map(|entry| &entry.ask)
    }

    /// Requests that may be sent now. They count as under way.
    pub(crate) fn take_ready(&mut self, now: Instant, most: usize) -> Vec<u64> {
        // Nobody waits any more for the others.
        self.entries.retain(|_, entry| entry.is_in_flight || !entry.ask.answer.is_closed());
        let mut ready = Vec::new();
        for (id, entry) in &mut self.entries {
            if ready.len() >= most {
                break;
            }
            if !entry.is_in_flight && entry.resume_at.is_none_or(|at| at <= now) {
                entry.is_in_flight = true;
                ready.push(*id);
            }
        }
        ready
    }

    /// When a request may be sent that may not be sent now, or is to be forgotten.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let waiting = self.entries.values().filter(|entry| !entry.is_in_flight);
        waiting.filter_map(|entry| entry.resume_at.filter(|at| *at > now)).min()
    }

    /// No answer came, or none will.
    pub(crate) fn requeue(&mut self, id: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            (entry.is_in_flight, entry.is_doubtful) = (false, true);
        }
    }

    /// It does not fit a frame.
    pub(crate) fn refuse(&mut self, id: u64, kind: RequestErrorKind) {
        self.answer(id, Err(RequestError::new(kind)));
    }

    /// An answer; `unit` is a random number of `0.0..1.0`.
    pub(crate) fn answered(&mut self, id: u64, result: Result<Value, ProtocolError>, now: Instant, unit: f64) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let error = match result {
            Ok(data) => return self.answer(id, Ok(data)),
            Err(error) => error,
        };
        let wait = match error.code {
            ErrorCode::Slowmode | ErrorCode::RateLimited if entry.ask.patience == Patience::Wait => {
                Duration::from_millis(error.retry_after_ms.unwrap_or(1000))
            }
            // The connection is about to be closed; a new one has a new token.
            ErrorCode::Unauthenticated if entry.backoff.failures() < TRIES => {
                entry.backoff.next(unit) + Duration::from_secs(1)
            }
            code if code.is_ambiguous() && entry.backoff.failures() < TRIES => entry.backoff.next(unit),
            ErrorCode::NotFound | ErrorCode::Forbidden
                if entry.is_doubtful && entry.ask.class == Class::Set && REMOVALS.contains(&entry.ask.op) =>
            {
                return self.answer(id, Ok(Value::Null));
            }
            _ => return self.answer(id, Err(error.into())),
        };
        if now + wait >= entry.ask.deadline {
            return self.answer(id, Err(error.into()));
        }
        entry.is_in_flight = false;
        entry.is_doubtful |= error.code.is_ambiguous();
        entry.resume_at = Some(now + wait);
    }

    fn answer(&mut self, id: u64, result: Result<Value, RequestError>) {
        if let Some(entry) = self.entries.remove(&id)
            && entry.ask.answer.send(result).is_err()
        {
            tracing::debug!("a request was answered after its deadline");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    type Answered = oneshot::Receiver<Result<Value, RequestError>>;

    fn asks(op: &'static str, class: Class, patience: Patience) -> (Asks, Answered) {
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut asks = Asks::default();
        asks.add(Ask { op, class, data: json!({}), patience, deadline, answer });
        (asks, answered)
    }

    fn error(code: ErrorCode) -> ProtocolError {
        ProtocolError::new(code, "")
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_is_repeated_after_a_failure_that_may_pass() {
        let now = Instant::now();
        let (mut asks, answered) = asks("room.get", Class::Read, Patience::Wait);
        let [id] = asks.take_ready(now, 9)[..] else { panic!() };
        asks.answered(id, Err(error(ErrorCode::Unavailable)), now, 1.0);
        assert!(asks.take_ready(now, 9).is_empty());
        let wake = asks.next_wake(now).unwrap();
        assert_eq!(asks.take_ready(wake, 9), [id]);
        asks.requeue(id);
        assert_eq!(asks.take_ready(wake, 9), [id]);
        asks.answered(id, Ok(json!({"a": 1})), wake, 1.0);
        assert_eq!(answered.await.unwrap().unwrap(), json!({"a": 1}));
    }

    #[tokio::test(start_paused = true)]
    async fn a_repeated_removal_that_finds_nothing_has_been_done() {
        let now = Instant::now();
        let (mut asks, answered) = asks("message.delete", Class::Set, Patience::Wait);
        let [id] = asks.take_ready(now, 9)[..] else { panic!() };
        asks.requeue(id);
        asks.take_ready(now, 9);
        asks.answered(id, Err(error(ErrorCode::NotFound)), now, 1.0);
        assert!(answered.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_removal_that_finds_nothing_at_once_is_told() {
        let now = Instant::now();
        let (mut asks, answered) = asks("message.delete", Class::Set, Patience::Wait);
        let [id] = asks.take_ready(now, 9)[..] else { panic!() };
        asks.answered(id, Err(error(ErrorCode::NotFound)), now, 1.0);
        let kind = answered.await.unwrap().unwrap_err().kind();
        assert_eq!(kind, RequestErrorKind::Rejected(ErrorCode::NotFound));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_deadline_is_told_at_once() {
        let now = Instant::now();
        let (mut asks, answered) = asks("typing.start", Class::Set, Patience::Wait);
        let [id] = asks.take_ready(now, 9)[..] else { panic!() };
        asks.answered(id, Err(error(ErrorCode::RateLimited).retry_after(60_000)), now, 1.0);
        let failure = answered.await.unwrap().unwrap_err();
        assert_eq!(failure.rejection().unwrap().retry_after_ms, Some(60_000));
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_waits_for_is_forgotten() {
        let (mut asks, answered) = asks("room.get", Class::Read, Patience::Wait);
        drop(answered);
        assert!(asks.take_ready(Instant::now(), 9).is_empty());
        assert!(asks.is_empty());
    }
}
