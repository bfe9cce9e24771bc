//! A running bot: its rooms, and what is handled in each.

use std::{collections::HashMap, sync::Arc};

use parlour_protocol::{RoomId, RowKey, Timestamp, UserEvent, operation::DmList};
use tokio::task::JoinSet;

use super::{Bot, LAST_CALL, progress::Progress, worker::Worker};
use crate::event::{ClientEvent, RoomEvent};

/// The place in any room of what is written at a time of the server's clock.
pub(super) fn key_at(time: Timestamp) -> RowKey {
    RowKey::from_tick(time.as_millis().saturating_mul(1_000_000))
}

/// A running bot.
pub(super) struct Shift {
    pub(super) bot: Arc<Bot>,
    pub(super) progress: Progress,
    /// Where rooms are begun that nothing is remembered of.
    pub(super) begun: RowKey,
    pub(super) workers: HashMap<RoomId, Worker>,
    pub(super) tasks: JoinSet<RoomId>,
}

impl Shift {
    /// Whether the rooms are to be listed again.
    pub(super) fn on_event(&mut self, event: ClientEvent) -> bool {
        match event {
            ClientEvent::Room { room_id, event: RoomEvent::Created { message, .. } } => {
                if let Some(worker) = self.workers.get(&room_id) {
                    worker.give(message);
                }
            }
            ClientEvent::Room { room_id, event: RoomEvent::Reset } => {
                self.workers.get(&room_id).into_iter().for_each(Worker::look_again);
            }
            ClientEvent::Room { room_id, event: RoomEvent::Ended(_) } => {
                self.workers.remove(&room_id);
            }
            ClientEvent::Lagged(_) => self.workers.values().for_each(Worker::look_again),
            ClientEvent::User(event) => match &*event {
                UserEvent::RoomAdded(added) => {
                    // Everything since it joined is for it.
                    self.enter(added.view.room.room_id, added.view.membership.created_at.map(key_at));
                }
                UserEvent::UserBehind(_) => return true,
                _ => {}
            },
            _ => {}
        }
        false
    }

    pub(super) async fn enter_all_rooms(&mut self) -> Result<(), crate::RequestError> {
        let rooms = self.bot.client.rooms().await?;
        for view in rooms {
            self.enter(view.room.room_id, None);
        }
        let direct = DmList { cursor: None, limit: crate::room::page_limit(1000).ok() };
        match self.bot.client.request(direct).await {
            Ok(page) => page.items.iter().for_each(|view| self.enter(view.room.room_id, None)),
            Err(error) => tracing::debug!(%error, "no direct messages"),
        }
        Ok(())
    }

    fn enter(&mut self, room_id: RoomId, since: Option<RowKey>) {
        if self.workers.contains_key(&room_id) {
            return;
        }
        let last = self.progress.get(room_id).or(since).unwrap_or(self.begun);
        let room = self.bot.client.room(room_id);
        let (worker, work) = Worker::new(Arc::clone(&self.bot), room, self.progress.clone(), last);
        self.tasks.spawn(async move {
            work.await;
            room_id
        });
        self.workers.insert(room_id, worker);
    }

    pub(super) fn on_finished(&mut self, finished: Result<RoomId, tokio::task::JoinError>) {
        match finished {
            Ok(room_id) => {
                // Unless it has been entered again meanwhile.
                if self.workers.get(&room_id).is_some_and(Worker::is_finished) {
                    self.workers.remove(&room_id);
                }
            }
            Err(error) => tracing::error!(%error, "a room's task failed"),
        }
    }

    pub(super) async fn end(mut self) {
        self.workers.clear();
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_CALL, rest).await.is_err() {
            tracing::warn!("handlers were still at work and are ended");
        }
        self.progress.flush().await;
    }
}
