//! What is compared in the background: heads against the store, and rooms that nobody needs any more.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parlour_protocol::RoomId;
use tokio::time;

use super::{Hub, Room, lock};
use crate::ws::connection::Connection;

/// How often the heads of subscribed rooms are compared with the store.
const HEADS_EVERY: Duration = Duration::from_secs(2);
/// Rooms in one query.
const HEADS_PER_QUERY: usize = 500;
/// After the bus lagged, the second look comes this much later.
const SECOND_LOOK: Duration = Duration::from_millis(100);
/// A room without listeners keeps its hot tail for this long.
const KEEP_EMPTY: Duration = Duration::from_secs(60);

/// Compares until shutdown.
pub(super) async fn run(hub: Arc<Hub>) {
    loop {
        let lagged = tokio::select! {
            () = hub.shutdown.cancelled() => return,
            () = hub.sweep_now.notified() => true,
            () = time::sleep(HEADS_EVERY) => false,
        };
        hub.compare_heads().await;
        if lagged {
            time::sleep(SECOND_LOOK).await;
            hub.compare_heads().await;
        }
        hub.evict();
    }
}

impl Hub {
    /// The heads of subscribed rooms that changed since the last answer, for `session.ping`.
    ///
    /// They are what the store showed within the last seconds, or newer.
    pub(crate) fn heads_for(&self, connection: &Connection) -> BTreeMap<RoomId, u64> {
        let mut subscriptions = lock(&connection.subscriptions);
        let mut heads = BTreeMap::new();
        for subscription in &mut subscriptions.list {
            let state = subscription.room.lock();
            let head = state.suspect.unwrap_or(0).max(state.head());
            if head != subscription.told {
                subscription.told = head;
                heads.insert(subscription.room.id, head);
            }
        }
        heads
    }

    /// Looks for entries that the bus never brought. A head is behind the store for as long as its event is
    /// on the way, so only one that is still behind at the next look is repaired.
    pub(super) async fn compare_heads(self: &Arc<Self>) {
        let rooms: Vec<Arc<Room>> = lock(&self.rooms).values().cloned().collect();
        let rooms: Vec<Arc<Room>> = rooms
            .into_iter()
            .filter(|room| {
                let state = room.lock();
                state.log.is_some() && !state.members.is_empty()
            })
            .collect();
        for chunk in rooms.chunks(HEADS_PER_QUERY) {
            let ids: Vec<RoomId> = chunk.iter().map(|room| room.id).collect();
            let heads = match self.store.heads(&ids).await {
                Ok(heads) => heads,
                Err(error) => {
                    tracing::warn!(%error, "heads could not be compared with the store");
                    return;
                }
            };
            for (room_id, head) in heads {
                let Some(room) = self.find_room(room_id) else { continue };
                let (is_lost, was_reset) = {
                    let mut state = room.lock();
                    let known = state.head();
                    let is_lost = state.suspect.is_some_and(|suspect| suspect > known);
                    state.suspect = (head.seq > known).then_some(head.seq);
                    (is_lost, state.log.as_ref().is_some_and(|log| log.epoch != head.epoch))
                };
                if was_reset {
                    tracing::warn!(room.id = %room_id, "the room's log starts anew; its listeners are told");
                    self.restart(&room, head.epoch, head.seq);
                } else if is_lost {
                    self.jump(&room, head.seq);
                }
            }
        }
    }

    /// Reads the heads of rooms that changed elsewhere, and repairs those that are behind.
    pub(crate) async fn look_at(self: &Arc<Self>, room_ids: &HashSet<RoomId>) {
        let rooms: Vec<Arc<Room>> = room_ids.iter().filter_map(|room_id| self.find_room(*room_id)).collect();
        let ids: Vec<RoomId> = rooms.iter().filter(|room| room.lock().log.is_some()).map(|room| room.id).collect();
        for ids in ids.chunks(HEADS_PER_QUERY) {
            match self.store.heads(ids).await {
                Ok(heads) => {
                    // What is on its way here comes by itself.
                    time::sleep(SECOND_LOOK).await;
                    for (room_id, head) in heads {
                        if let Some(room) = self.find_room(room_id) {
                            self.jump(&room, head.seq);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "rooms that changed elsewhere wait for the next sweep"),
            }
        }
    }

    /// Forgets rooms that have been without listeners for a while.
    pub(super) fn evict(&self) {
        let keep = self.context.pulse.ticks(KEEP_EMPTY);
        let now = self.now();
        lock(&self.rooms).retain(|_, room| {
            // Whoever attaches holds the room by then.
            let is_needed = Arc::strong_count(room) > 1 || {
                let state = room.lock();
                !state.members.is_empty() || now.wrapping_sub(state.empty_since) < keep
            };
            if !is_needed {
                self.metrics.rooms.dec();
                self.bus.unfollow(room.id);
            }
            is_needed
        });
    }
}
