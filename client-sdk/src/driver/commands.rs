//! What handles ask for.

use std::collections::BTreeMap;

use parlour_protocol::{Nonce, RoomId};
use tokio::task::spawn_blocking;

use super::{
    Driver,
    rooms::{RoomState, tell},
};
use crate::{
    command::{Answer, Command, PendingCommand, Post},
    error::{RequestError, RequestErrorKind},
    outbox::EntryId,
    room::Snapshot,
};

/// Commands that are taken at once, so that one sync of the outbox file serves them all.
const BATCH: usize = 64;
/// What surrounds a command's data in a frame.
const FRAME_OVERHEAD: usize = 128;

impl Driver {
    /// Takes a command, and those that wait behind it.
    pub(super) async fn on_commands(&mut self, first: Command) {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = self.commands.try_recv()
        {
            batch.push(next);
        }
        let mut posts = Vec::new();
        for command in batch {
            match command {
                Command::Post(post) => posts.push(post),
                other => self.on_command(other),
            }
        }
        if !posts.is_empty() {
            self.on_posts(posts).await;
        }
    }

    fn on_command(&mut self, command: Command) {
        match command {
            Command::Ask(ask) if is_reserved(ask.op) => {
                let error = RequestError::with_source(RequestErrorKind::Invalid, "the client does this by itself");
                tell(ask.answer, Err(error));
            }
            Command::Ask(ask) => self.asks.add(ask),
            Command::Post(_) => {}
            Command::Subscribe { room_id, subscription, answer } => {
                let user = self.user;
                self.rooms.entry(room_id).or_insert_with(|| RoomState::new(subscription, user));
                self.in_room(room_id, |room, _, _| room.await_verdict(answer));
            }
            Command::Unsubscribe { room_id, answer } => {
                self.in_room(room_id, |room, _, told| room.unsubscribe(told));
                self.unsubscribed.push(room_id);
                tell(answer, Ok(()));
            }
            Command::Resubscribe { room_id, answer } => {
                if let Some(answer) = self.for_room(room_id, answer) {
                    self.in_room(room_id, |room, _, _| room.catch_up(answer));
                }
            }
            Command::LoadOlder { room_id, limit, answer } => {
                if let Some(answer) = self.for_room(room_id, answer) {
                    self.in_room(room_id, |room, _, _| room.load_older(limit, answer));
                    self.busy.insert(room_id);
                }
            }
            Command::Snapshot { room_id, answer } => {
                if let Some(answer) = self.for_room(room_id, answer) {
                    let snapshot = self.snapshot(room_id);
                    tell(answer, snapshot.ok_or_else(|| RequestError::new(RequestErrorKind::NotSubscribed)));
                }
            }
            Command::Message { room_id, row_key, answer } => {
                if let Some(answer) = self.for_room(room_id, answer) {
                    tell(answer, Ok(self.rooms.get(&room_id).and_then(|room| room.timeline.get(row_key).cloned())));
                }
            }
            Command::Pending { answer } => tell(answer, Ok(self.pending(None))),
            Command::Withdraw { nonce, answer } => tell(answer, Ok(self.withdraw(&nonce))),
        }
    }

    /// The answer back if the room is subscribed; else it is told so.
    fn for_room<T>(&self, room_id: RoomId, answer: Answer<T>) -> Option<Answer<T>> {
        if self.rooms.contains_key(&room_id) {
            return Some(answer);
        }
        tell(answer, Err(RequestError::new(RequestErrorKind::NotSubscribed)));
        None
    }

    fn snapshot(&self, room_id: RoomId) -> Option<Snapshot> {
        let room = self.rooms.get(&room_id)?;
        let messages = room.messages();
        let mut pending = self.pending(Some(room_id));
        // An own message whose event came before its reply stands among the messages already.
        pending.retain(|letter| !messages.iter().rev().any(|message| message.nonce.as_ref() == Some(&letter.nonce)));
        Some(Snapshot {
            messages,
            pending,
            has_older: room.timeline.has_older(),
            is_live: room.feed.is_live(),
            position: room.feed.place().and_then(|place| place.to_position()),
        })
    }

    fn pending(&self, lane: Option<RoomId>) -> Vec<PendingCommand> {
        let letters = self.outbox.letters().map(|(_, letter)| letter);
        letters
            .filter(|letter| lane.is_none() || letter.lane == lane)
            .map(|letter| PendingCommand {
                nonce: letter.nonce.clone(),
                op: letter.op.clone(),
                data: letter.data.clone(),
                room_id: letter.lane,
            })
            .collect()
    }

    fn withdraw(&mut self, nonce: &Nonce) -> bool {
        let id = self.outbox.letters().find(|(_, letter)| letter.nonce == *nonce).map(|(id, _)| id);
        let Some(id) = id.filter(|id| self.outbox.can_withdraw(*id)) else { return false };
        self.outbox.remove(id);
        self.journal_done(id);
        if let Some(waiter) = self.waiters.remove(&id) {
            tell(waiter, Err(RequestError::with_source(RequestErrorKind::Invalid, "withdrawn")));
        }
        true
    }

    async fn on_posts(&mut self, posts: Vec<Post>) {
        let limit = self.hello.borrow().as_ref().map_or(65_536, |hello| hello.limits.frame_bytes as usize);
        let mut added = Vec::new();
        for post in posts {
            let size = self.target.codec.encode(&post.letter.data).len() + FRAME_OVERHEAD;
            if size > limit {
                tell(post.queued, Err(RequestError::new(RequestErrorKind::TooLarge)));
                continue;
            }
            match self.outbox.add(post.letter) {
                Ok(id) => added.push((id, post.queued, post.answer)),
                Err(_) => tell(post.queued, Err(RequestError::new(RequestErrorKind::OutboxFull))),
            }
        }
        let written = self.write_journal(added.iter().map(|(id, ..)| *id).collect()).await;
        for (id, queued, answer) in added {
            match &written {
                Ok(()) => {
                    self.waiters.insert(id, answer);
                    tell(queued, Ok(()));
                }
                Err(reason) => {
                    self.outbox.remove(id);
                    tell(queued, Err(RequestError::with_source(RequestErrorKind::Storage, reason.clone())));
                }
            }
        }
    }

    /// Writes entries to the outbox file; they are on disk when it returns.
    async fn write_journal(&mut self, ids: Vec<EntryId>) -> Result<(), String> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let letters: Vec<_> = ids.into_iter().filter_map(|id| Some((id, self.outbox.letter(id)?.clone()))).collect();
        let written = spawn_blocking(move || {
            let written = journal.add(letters.iter().map(|(id, letter)| (*id, letter)));
            (journal, written)
        });
        let (journal, written) = written.await.map_err(|error| error.to_string())?;
        self.journal = Some(journal);
        written.map_err(|error| error.to_string())
    }

    /// Makes the outbox file small again when it is mostly done.
    pub(super) async fn compact(&mut self) {
        let waiting = self.outbox.len();
        if !self.journal.as_ref().is_some_and(|journal| journal.wants_rewrite(waiting)) {
            return;
        }
        let Some(mut journal) = self.journal.take() else { return };
        let letters: BTreeMap<_, _> = self.outbox.letters().map(|(id, letter)| (id, letter.clone())).collect();
        let rewritten = spawn_blocking(move || {
            let rewritten = journal.rewrite(&letters);
            (journal, rewritten)
        });
        match rewritten.await {
            Ok((journal, rewritten)) => {
                self.journal = Some(journal);
                if let Err(error) = rewritten {
                    tracing::warn!(%error, "the outbox file could not be made smaller");
                }
            }
            Err(error) => tracing::error!(%error, "the outbox file is lost"),
        }
    }
}

/// Operations of the connection itself.
fn is_reserved(op: &str) -> bool {
    matches!(op, "session.hello" | "session.ping" | "session.refresh" | "room.subscribe" | "room.unsubscribe")
}
