//! Who is there: told to those who share a subscribed room, once each, when it changes.
//!
//! A hint: changes gather for a moment, a short absence is none, and crowds are spared. `status.get` always answers.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use parlour_protocol::{
    RoomId, Timestamp, UserEvent, UserId,
    event::StatusChanged,
    object::{PresenceStatus, Status, User},
};
use tokio::{
    sync::Notify,
    time::{self, Instant},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    bus::{Bus, BusEvent, NodePresence},
    directory::{
        members,
        statuses::{self, StoredStatus},
    },
    hub::Hub,
    store::{StoreError, db::Db},
};

/// How long changes gather: what changes twice meanwhile is told once.
const GATHER: Duration = Duration::from_millis(100);
/// How long somebody may be without a connection before they are told to be away.
const GRACE: Duration = Duration::from_secs(3);
/// Rooms with more listeners than these tell nobody who comes and goes.
const CROWD: usize = 250;
/// Others who are told of one change.
const RECIPIENTS: usize = 500;
/// Changes told in one round; further ones wait for the next.
const ROUND: usize = 4000;
/// What a round took is rested so many times over: a crowd that comes at once costs no more than a share of a core.
const REST: u32 = 10;
/// But not for longer.
const LONGEST_REST: Duration = Duration::from_secs(1);
/// Statuses read at once.
const PAGE: usize = 500;
/// How often a node tells the others everybody who is on it.
const TELL_ALL_EVERY: Duration = Duration::from_secs(10);
/// A node that has told nothing for this long is gone, and so is everybody on it.
const SILENT: Duration = Duration::from_secs(30);
/// Between tries when the database fails.
const RETRY: Duration = Duration::from_secs(5);

/// Presence on this node.
#[derive(Debug)]
pub(crate) struct Presence {
    db: Db,
    hub: Arc<Hub>,
    bus: Arc<dyn Bus>,
    /// Who was told to be there.
    present: Mutex<HashSet<UserId>>,
    /// Whose override or custom status has changed.
    changed: Mutex<HashSet<UserId>>,
    news: Notify,
    /// This node, to the others.
    node: Uuid,
    /// Who is on which other node, and when it last told.
    elsewhere: Mutex<HashMap<Uuid, (HashSet<UserId>, Instant)>>,
}

/// What the worker keeps between rounds.
#[derive(Default)]
struct Rounds {
    /// Without a connection, until when that is none of the others' concern.
    leaving: HashMap<UserId, Instant>,
    /// To be told: whose status changed, and whether by connection alone.
    due: HashMap<UserId, bool>,
    next_expiry: Option<Timestamp>,
    /// To be told to the other nodes.
    moves: Moves,
    told_all_at: Option<Instant>,
}

#[derive(Default)]
struct Moves {
    here: Vec<UserId>,
    gone: Vec<UserId>,
    changed: Vec<UserId>,
}

impl Presence {
    pub(crate) fn new(db: Db, hub: Arc<Hub>, bus: Arc<dyn Bus>) -> Self {
        Self {
            db,
            hub,
            bus,
            present: Mutex::default(),
            changed: Mutex::default(),
            news: Notify::new(),
            node: Uuid::new_v4(),
            elsewhere: Mutex::default(),
        }
    }

    fn is_elsewhere(&self, user_id: UserId) -> bool {
        lock(&self.elsewhere).values().any(|(here, _)| here.contains(&user_id))
    }

    /// Takes in what other nodes told; whose presence that concerns is told here.
    fn take_elsewhere(&self, rounds: &mut Rounds) {
        let now = Instant::now();
        let mut elsewhere = lock(&self.elsewhere);
        for told in self.hub.take_elsewhere() {
            if told.node == self.node {
                continue;
            }
            let (here, at) = elsewhere.entry(told.node).or_insert_with(|| (HashSet::new(), now));
            *at = now;
            rounds.due.extend(told.changed.iter().map(|user_id| (*user_id, false)));
            if told.is_whole {
                let all: HashSet<UserId> = told.here.iter().copied().collect();
                for user_id in here.symmetric_difference(&all) {
                    rounds.due.entry(*user_id).or_insert(true);
                }
                *here = all;
                continue;
            }
            for user_id in &told.here {
                if here.insert(*user_id) {
                    rounds.due.entry(*user_id).or_insert(true);
                }
            }
            for user_id in &told.gone {
                if here.remove(user_id) {
                    rounds.due.entry(*user_id).or_insert(true);
                }
            }
        }
        elsewhere.retain(|_, (here, at)| {
            let is_silent = now.duration_since(*at) > SILENT;
            if is_silent {
                for user_id in here.iter() {
                    rounds.due.entry(*user_id).or_insert(true);
                }
            }
            !is_silent
        });
    }

    /// Tells the other nodes who came and went here, and from time to time everybody.
    fn tell_nodes(&self, rounds: &mut Rounds) {
        let Moves { here, gone, changed } = std::mem::take(&mut rounds.moves);
        if !self.bus.is_shared() {
            return;
        }
        let is_whole = rounds.told_all_at.is_none_or(|at| at.elapsed() >= TELL_ALL_EVERY);
        if !is_whole && here.is_empty() && gone.is_empty() && changed.is_empty() {
            return;
        }
        let here = if is_whole {
            rounds.told_all_at = Some(Instant::now());
            lock(&self.present).iter().copied().collect()
        } else {
            here
        };
        let told = NodePresence { node: self.node, is_whole, here, gone, changed };
        self.bus.publish(BusEvent::Presence(Arc::new(told)));
    }

    /// The status that somebody has who has set this.
    pub(crate) fn status(&self, user_id: UserId, stored: StoredStatus) -> Status {
        let is_here =
            self.hub.is_connected(user_id) || lock(&self.present).contains(&user_id) || self.is_elsewhere(user_id);
        let by_connection = if is_here { PresenceStatus::Online } else { PresenceStatus::Offline };
        let status = stored.status.unwrap_or(by_connection);
        Status { user_id, status, message: stored.message, expires_at: stored.expires_at }
    }

    /// Tells of a changed override or custom status, soon.
    pub(crate) fn announce(&self, user_id: UserId) {
        lock(&self.changed).insert(user_id);
        self.news.notify_one();
    }

    /// Tells of a changed account those who are told of its presence.
    pub(crate) async fn announce_account(&self, user: &User) -> Result<(), StoreError> {
        let rooms = members::rooms_of(&self.db, &[user.user_id]).await?.remove(&user.user_id).unwrap_or_default();
        let recipients = self.recipients(user.user_id, &rooms);
        let event = UserEvent::UserUpdated(Box::new(parlour_protocol::event::UserUpdated { user: user.clone() }));
        self.bus.publish(BusEvent::Users { user_ids: recipients.into(), event: Arc::new(event) });
        Ok(())
    }

    /// The user, and those who listen to a room that the user is in.
    fn recipients(&self, user_id: UserId, rooms: &[RoomId]) -> Vec<UserId> {
        let mut recipients = self.hub.listeners(rooms, CROWD, RECIPIENTS);
        recipients.remove(&user_id);
        std::iter::once(user_id).chain(recipients).collect()
    }

    /// Tells of changes until shutdown.
    pub(crate) async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let mut rounds = Rounds { next_expiry: Some(Timestamp::from_millis(0)), ..Rounds::default() };
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = self.hub.moved() => {}
                () = self.news.notified() => {}
                () = time::sleep_until(rounds.wake_at()) => {}
                () = time::sleep(TELL_ALL_EVERY), if self.bus.is_shared() => {}
            }
            if shutdown.run_until_cancelled(time::sleep(GATHER)).await.is_none() {
                return;
            }
            let began = Instant::now();
            let outcome = self.round(&mut rounds).await;
            let rest = (began.elapsed() * REST).min(LONGEST_REST);
            if let Err(error) = outcome {
                tracing::warn!(%error, "presence is told late");
                self.news.notify_one();
                if shutdown.run_until_cancelled(time::sleep(RETRY)).await.is_none() {
                    return;
                }
            }
            if shutdown.run_until_cancelled(time::sleep(rest)).await.is_none() {
                return;
            }
        }
    }

    async fn round(&self, rounds: &mut Rounds) -> Result<(), StoreError> {
        for user_id in self.hub.take_moved() {
            self.take_move(rounds, user_id);
        }
        let now = Instant::now();
        let gone: Vec<UserId> =
            rounds.leaving.iter().filter(|(_, until)| **until <= now).map(|(user_id, _)| *user_id).collect();
        for user_id in gone {
            rounds.leaving.remove(&user_id);
            lock(&self.present).remove(&user_id);
            rounds.moves.gone.push(user_id);
            rounds.due.entry(user_id).or_insert(true);
        }
        let changed = std::mem::take(&mut *lock(&self.changed));
        let has_changed = !changed.is_empty();
        rounds.moves.changed.extend(&changed);
        rounds.due.extend(changed.into_iter().map(|user_id| (user_id, false)));
        let now = Timestamp::now();
        if rounds.next_expiry.is_some_and(|next| next <= now) {
            let expired = statuses::expire(&self.db, now).await?;
            rounds.moves.changed.extend(&expired);
            rounds.due.extend(expired.into_iter().map(|user_id| (user_id, false)));
            rounds.next_expiry = statuses::next_expiry(&self.db).await?;
        } else if has_changed {
            rounds.next_expiry = statuses::next_expiry(&self.db).await?;
        }
        self.take_elsewhere(rounds);
        self.tell_nodes(rounds);
        self.tell(rounds).await
    }

    fn take_move(&self, rounds: &mut Rounds, user_id: UserId) {
        if self.hub.is_connected(user_id) {
            rounds.leaving.remove(&user_id);
            if lock(&self.present).insert(user_id) {
                rounds.moves.here.push(user_id);
                rounds.due.entry(user_id).or_insert(true);
            }
        } else if lock(&self.present).contains(&user_id) {
            rounds.leaving.entry(user_id).or_insert_with(|| Instant::now() + GRACE);
        }
    }

    /// Tells what is due, as much as one round may. Those of one room are told together, so that who is told of many
    /// reads them at once.
    async fn tell(&self, rounds: &mut Rounds) -> Result<(), StoreError> {
        let round: Vec<(UserId, bool)> =
            rounds.due.iter().take(ROUND).map(|(user_id, by_connection)| (*user_id, *by_connection)).collect();
        let mut changes = Vec::with_capacity(round.len());
        for page in round.chunks(PAGE) {
            let user_ids: Vec<UserId> = page.iter().map(|(user_id, _)| *user_id).collect();
            let mut stored = statuses::of(&self.db, &user_ids, Timestamp::now()).await?;
            let mut rooms = members::rooms_of(&self.db, &user_ids).await?;
            for (user_id, by_connection) in page {
                let stored = stored.remove(user_id).unwrap_or_default();
                // Under an override nobody sees who comes and goes.
                if !(*by_connection && stored.status.is_some()) {
                    changes.push((rooms.remove(user_id).unwrap_or_default(), *user_id, stored));
                }
            }
        }
        changes.sort_unstable_by_key(|(rooms, ..)| rooms.first().copied());
        for (rooms, user_id, stored) in changes {
            let recipients = self.recipients(user_id, &rooms);
            let status = self.status(user_id, stored);
            let event = Arc::new(UserEvent::StatusChanged(Box::new(StatusChanged { status })));
            // Every node tells its own.
            self.bus.publish_here(BusEvent::Users { user_ids: recipients.into(), event });
        }
        for (user_id, _) in round {
            rounds.due.remove(&user_id);
        }
        if rounds.due.is_empty() {
            rounds.due.shrink_to_fit();
        } else {
            self.news.notify_one();
        }
        Ok(())
    }
}

impl Rounds {
    /// When something is due by time alone.
    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        let expiry = self.next_expiry.map(|next| now + next.since(Timestamp::now()));
        // An hour stands for never: the timer is set anew with each change.
        let never = now + Duration::from_secs(3600);
        self.leaving.values().copied().chain(expiry).fold(never, Instant::min)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
