//! Following what other nodes change of rooms, also when the bus is away; and holding delivery when neither tells.

use std::{collections::HashSet, sync::Arc, time::Duration};

use parlour_protocol::RoomId;
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;

use super::state::RoomStates;
use crate::{
    bus::{Bus, Link},
    directory::room_changes::{self, RoomChanged},
    hub::Hub,
    store::db::{Db, DbError},
};

/// Between two looks: a change reaches every node within a second.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long the database may take to answer one.
const LOOK_DEADLINE: Duration = Duration::from_secs(1);
/// A node that has heard of the others neither from the store nor from the bus for this long delivers nothing until it
/// has.
const DEAF: Duration = Duration::from_secs(3);

/// What follows the feed.
pub(crate) struct Follower {
    pub(crate) db: Db,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) rooms: Arc<RoomStates>,
    pub(crate) hub: Arc<Hub>,
}

impl Follower {
    /// Takes in changes behind `position` until shutdown.
    pub(crate) async fn run(self, mut position: i64, shutdown: CancellationToken) {
        let mut heard_at = Instant::now();
        let mut is_failing = false;
        while shutdown.run_until_cancelled(time::sleep(LOOK_EVERY)).await.is_some() {
            let looked = match time::timeout(LOOK_DEADLINE, room_changes::after(&self.db, position)).await {
                Ok(looked) => looked,
                Err(_) => Err(DbError::Store(crate::store::StoreError::Unavailable("no answer in time".into()))),
            };
            match looked {
                Ok(changes) => {
                    self.take_in(&changes).await;
                    position = changes.last().map_or(position, |change| change.seq);
                    (heard_at, is_failing) = (Instant::now(), false);
                }
                Err(error) => {
                    if !is_failing {
                        tracing::warn!(%error, "changes of rooms cannot be read");
                    }
                    is_failing = true;
                    if self.bus.is_shared() && self.bus.link() == Link::Up {
                        heard_at = Instant::now();
                    }
                }
            }
            if self.bus.is_shared() {
                self.hub.hold(heard_at.elapsed() > DEAF);
            }
        }
    }

    async fn take_in(&self, changes: &[RoomChanged]) {
        let mut whole: HashSet<RoomId> = HashSet::new();
        for change in changes {
            match change.user_id {
                Some(user_id) => self.rooms.forget_member(change.room_id, user_id),
                None => {
                    if whole.insert(change.room_id) {
                        self.rooms.forget_room(change.room_id);
                    }
                }
            }
        }
        if !whole.is_empty() {
            self.hub.look_at(&whole).await;
        }
    }
}
