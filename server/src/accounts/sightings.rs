//! When and where sessions are used: gathered in memory, written together, a few at a time.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use parlour_protocol::{
    SessionId, Timestamp,
    object::{Session, SessionClient},
    operation::ClientInfo,
};
use tokio::time;
use tokio_util::sync::CancellationToken;

use super::{Accounts, caller::Principal};
use crate::directory::{self, sessions::Sighting};

/// Between two writes.
const WRITE_EVERY: Duration = Duration::from_secs(5);
/// Sightings of one transaction: others that write are not to wait for all.
const STEP: usize = 256;
/// Between two steps.
const STEP_EVERY: Duration = Duration::from_millis(10);
/// Sightings in between two writes; more are let go of, as they come again.
const CAPACITY: usize = 10_000;

/// Sightings that are not written yet.
#[derive(Debug)]
pub(super) struct Sightings {
    waiting: Mutex<HashMap<SessionId, Sighting>>,
}

impl Sightings {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::default() }
    }

    pub(super) fn see(&self, session_id: SessionId, client: Option<(String, String)>, address: IpAddr, at: Timestamp) {
        let mut waiting = self.lock();
        if waiting.len() >= CAPACITY && !waiting.contains_key(&session_id) {
            return;
        }
        let before = waiting.remove(&session_id).and_then(|sighting| sighting.client);
        let sighting = Sighting { session_id, client: client.or(before), address: address.to_string(), at };
        waiting.insert(session_id, sighting);
    }

    /// Brings sessions that were read up to what is not written yet.
    pub(super) fn show(&self, sessions: &mut [Session]) {
        let waiting = self.lock();
        for session in sessions {
            if let Some(seen) = waiting.get(&session.session_id) {
                if let Some((name, version)) = &seen.client {
                    session.client = Some(SessionClient { name: name.clone(), version: version.clone() });
                }
                session.address.clone_from(&seen.address);
                session.last_seen_at = session.last_seen_at.max(Some(seen.at));
            }
        }
    }

    fn take(&self) -> Vec<Sighting> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Sighting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// Notes the program that says hello.
    pub(crate) fn note_client(&self, principal: &Principal, client: Option<&ClientInfo>, address: IpAddr) {
        let client = client.map(|client| (client.name.to_string(), client.version.to_string()));
        self.sightings.see(principal.session_id, client, address, Timestamp::now());
    }

    pub(super) async fn write_sightings(&self) {
        let sightings = self.sightings.take();
        if sightings.is_empty() {
            return;
        }
        for step in sightings.chunks(STEP) {
            if let Err(error) = directory::sessions::note_sightings(&self.db, step).await {
                tracing::warn!(%error, "the last use of sessions could not be noted");
            }
            if step.len() == STEP {
                time::sleep(STEP_EVERY).await;
            }
        }
    }
}

/// Writes sightings until shutdown, and what is left then.
pub(super) async fn note(accounts: Arc<Accounts>, shutdown: CancellationToken) {
    while shutdown.run_until_cancelled(time::sleep(WRITE_EVERY)).await.is_some() {
        accounts.write_sightings().await;
    }
    accounts.write_sightings().await;
}
