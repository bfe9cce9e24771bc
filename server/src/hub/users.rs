//! The user stream: who is connected, and what goes to all connections of one user.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use parlour_protocol::{Event, UserEvent, UserId, codec::Codec};
use tokio::sync::Notify;

use super::{lock, room::Turn};
use crate::{
    bus::NodePresence,
    ws::{
        codec,
        connection::{Connection, Lane, SessionInfo},
    },
};

/// Messages of other nodes that wait; beyond it they are dropped, and each node's next whole list makes up for it.
const ELSEWHERE: usize = 1000;

/// Logged-in connections by user.
#[derive(Debug, Default)]
pub(super) struct Users {
    by_id: Mutex<HashMap<UserId, Vec<Arc<Connection>>>>,
    /// Whose first connection came or whose last one went, since somebody asked.
    moved: Mutex<HashSet<UserId>>,
    has_moved: Notify,
    /// What other nodes told of theirs, since somebody asked.
    elsewhere: Mutex<Vec<Arc<NodePresence>>>,
}

impl Users {
    /// Lists a connection; false when its user has `limit` of them already.
    pub(super) fn insert(&self, connection: &Arc<Connection>, user_id: UserId, limit: usize) -> bool {
        let mut by_id = lock(&self.by_id);
        let connections = by_id.entry(user_id).or_insert_with(|| Vec::with_capacity(1));
        let fits = connections.len() < limit;
        if fits {
            connections.push(Arc::clone(connection));
        }
        if connections.len() == 1 {
            self.note_move(user_id);
        }
        fits
    }

    pub(super) fn remove(&self, connection: &Arc<Connection>) {
        let Some(session) = connection.session() else { return };
        let mut by_id = lock(&self.by_id);
        if let Some(connections) = by_id.get_mut(&session.user_id) {
            connections.retain(|other| !Arc::ptr_eq(other, connection));
            if connections.is_empty() {
                by_id.remove(&session.user_id);
                self.note_move(session.user_id);
            }
        }
    }

    fn note_move(&self, user_id: UserId) {
        lock(&self.moved).insert(user_id);
        self.has_moved.notify_one();
    }

    /// Keeps what another node told.
    pub(super) fn note_elsewhere(&self, told: Arc<NodePresence>) {
        let mut elsewhere = lock(&self.elsewhere);
        if elsewhere.len() < ELSEWHERE {
            elsewhere.push(told);
        }
        drop(elsewhere);
        self.has_moved.notify_one();
    }

    /// What other nodes told since the last time.
    pub(super) fn take_elsewhere(&self) -> Vec<Arc<NodePresence>> {
        std::mem::take(&mut *lock(&self.elsewhere))
    }

    /// Waits until somebody came or went.
    pub(super) async fn moved(&self) {
        self.has_moved.notified().await;
    }

    /// Who came or went since the last time.
    pub(super) fn take_moved(&self) -> HashSet<UserId> {
        std::mem::take(&mut *lock(&self.moved))
    }

    pub(super) fn contains(&self, user_id: UserId) -> bool {
        lock(&self.by_id).get(&user_id).is_some_and(|connections| !connections.is_empty())
    }

    #[cfg(test)]
    pub(super) fn count(&self, user_id: UserId) -> usize {
        lock(&self.by_id).get(&user_id).map_or(0, Vec::len)
    }

    /// The logged-in connections, of one user or of all, whose session is concerned.
    pub(super) fn connections_where(
        &self,
        user_id: Option<UserId>,
        concerned: impl Fn(&SessionInfo) -> bool,
    ) -> Vec<Arc<Connection>> {
        let by_id = lock(&self.by_id);
        let mut connections: Vec<_> = match user_id {
            Some(user_id) => by_id.get(&user_id).into_iter().flatten().cloned().collect(),
            None => by_id.values().flatten().cloned().collect(),
        };
        drop(by_id);
        connections.retain(|connection| connection.session().is_some_and(|session| concerned(&session)));
        connections
    }

    pub(super) fn connections(&self, user_id: UserId) -> Vec<Arc<Connection>> {
        lock(&self.by_id).get(&user_id).cloned().unwrap_or_default()
    }

    /// Sends an event to all connections of a user.
    pub(super) fn send(&self, user_id: UserId, event: &UserEvent) {
        let connections = lock(&self.by_id).get(&user_id).cloned().unwrap_or_default();
        send_to(&connections, event);
    }

    /// Queues an event for all connections of several users: what a turn has for a connection is written at once.
    pub(super) fn send_many(&self, user_ids: &[UserId], event: &UserEvent, turn: &mut Turn) {
        let by_id = lock(&self.by_id);
        let connections: Vec<_> = user_ids.iter().filter_map(|user_id| by_id.get(user_id)).flatten().cloned().collect();
        drop(by_id);
        let mut frames = Frames::new(event);
        for connection in connections {
            let (_, is_first) = connection.send_later(Lane::User, frames.of(connection.codec()));
            if is_first {
                turn.later.push(connection);
            }
        }
    }

    /// Sends an event to everybody.
    pub(super) fn send_to_all(&self, event: &UserEvent) {
        let connections: Vec<_> = lock(&self.by_id).values().flatten().cloned().collect();
        send_to(&connections, event);
    }
}

fn send_to(connections: &[Arc<Connection>], event: &UserEvent) {
    let mut frames = Frames::new(event);
    for connection in connections {
        connection.send(Lane::User, frames.of(connection.codec()));
    }
}

/// An event as each codec writes it, once.
struct Frames<'a> {
    event: &'a UserEvent,
    json: Option<Bytes>,
    msgpack: Option<Bytes>,
}

impl<'a> Frames<'a> {
    fn new(event: &'a UserEvent) -> Self {
        Self { event, json: None, msgpack: None }
    }

    fn of(&mut self, codec: Codec) -> &Bytes {
        let frame = match codec {
            Codec::Json => &mut self.json,
            Codec::MessagePack => &mut self.msgpack,
        };
        frame.get_or_insert_with(|| codec::encode(codec, &Event::User(self.event.clone())))
    }
}
