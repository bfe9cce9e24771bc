//! The delivery task: takes all that the bus holds, applies it in order, then writes.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parlour_protocol::{ConnectionId, DurableEvent, RoomId, UserEvent, object::Empty};
use tokio::{
    sync::broadcast::{
        self,
        error::{RecvError, TryRecvError},
    },
    time::{self, Instant},
};

use super::{
    Hub, Seat, lock,
    room::{Applied, Room, RoomState, Turn},
};
use crate::{bus::BusEvent, ws::connection::Connection};

/// Longest wait for the delivery of what happened before a subscribe.
const SETTLE_DEADLINE: Duration = Duration::from_secs(1);
/// How long entries of a room wait for one that they overtook on their way from several nodes.
const HOLE_PATIENCE: Duration = Duration::from_millis(100);
/// Bus events applied before what they caused is written.
const TURN_EVENTS: usize = 1024;
/// Deliveries a second in one turn's rooms above which a flush window holds.
const BUSY_DELIVERIES: u64 = 20_000;

/// Delivers until shutdown.
pub(super) async fn run(hub: Arc<Hub>, mut bus: broadcast::Receiver<BusEvent>) {
    let mut load = Load::new();
    let mut held = hub.held.subscribe();
    loop {
        if *held.borrow_and_update() {
            tokio::select! {
                () = hub.shutdown.cancelled() => return,
                // An error says that the hub is gone.
                outcome = held.wait_for(|held| !held) => if outcome.is_err() { return },
            }
            hub.missed();
        }
        let first = tokio::select! {
            () = hub.shutdown.cancelled() => return,
            event = bus.recv() => event,
        };
        let event = match first {
            Ok(event) => event,
            Err(RecvError::Lagged(missed)) => {
                hub.lagged(missed);
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        if load.is_busy() && !hub.limits.flush_window.is_zero() {
            time::sleep(hub.limits.flush_window).await;
        }
        let deliveries = hub.turn(event, &mut bus);
        load.count(deliveries);
        // A turn is long; whatever it woke gets to run before the next.
        tokio::task::yield_now().await;
    }
}

/// Deliveries of the last second.
struct Load {
    since: Instant,
    count: u64,
    last: u64,
}

impl Load {
    fn new() -> Self {
        Self { since: Instant::now(), count: 0, last: 0 }
    }

    fn count(&mut self, deliveries: u64) {
        self.count += deliveries;
        if self.since.elapsed().as_millis() >= 1000 {
            (self.last, self.count, self.since) = (self.count, 0, Instant::now());
        }
    }

    fn is_busy(&self) -> bool {
        self.last.max(self.count) > BUSY_DELIVERIES
    }
}

impl Hub {
    /// One turn; how many deliveries it made.
    fn turn(self: &Arc<Self>, first: BusEvent, bus: &mut broadcast::Receiver<BusEvent>) -> u64 {
        let mut turn = Turn::default();
        let mut touched: Vec<Arc<Room>> = Vec::new();
        let mut applied = 1;
        self.apply(first, &mut touched, &mut turn);
        for _ in 1..TURN_EVENTS {
            match bus.try_recv() {
                Ok(event) => {
                    applied += 1;
                    self.apply(event, &mut touched, &mut turn);
                }
                Err(TryRecvError::Lagged(missed)) => self.lagged(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        for room in touched {
            room.lock().flush(&mut turn);
        }
        self.count_applied(applied);
        self.metrics.turns.inc();
        let deliveries = turn.deliveries;
        self.finish_turn(turn);
        deliveries
    }

    /// Does what a turn left to be done without any room's lock.
    pub(super) fn finish_turn(self: &Arc<Self>, turn: Turn) {
        for connection in &turn.later {
            connection.flush();
        }
        self.metrics.deliveries.inc_by(turn.deliveries);
        if turn.overflows > 0 {
            self.metrics.count_behind("slow_socket", turn.overflows);
        }
        for (connection, seat, room_id) in turn.ended {
            self.forget_seat(&connection, seat, room_id);
        }
        for lost in turn.lost {
            if let Some(room) = self.find_room(lost.room_id) {
                self.resync(&lost.connection, room, lost.seat, lost.is_slow);
            }
        }
    }

    fn apply(self: &Arc<Self>, event: BusEvent, touched: &mut Vec<Arc<Room>>, turn: &mut Turn) {
        match event {
            BusEvent::Room { room_id, seq, event, cause } => {
                (self.access.apply)(room_id, seq, &event);
                let Some(room) = self.find_room(room_id) else { return };
                let mut state = room.lock();
                let is_first = !state.is_pending();
                match self.take_in(&mut state, seq, &event, cause, turn) {
                    Applied::Old => return,
                    Applied::Hole => {
                        if self.bus.is_shared() {
                            state.keep_early(seq, event, cause);
                        }
                        drop(state);
                        self.repair(room);
                        return;
                    }
                    Applied::Pending => self.take_in_early(&mut state, turn),
                }
                drop(state);
                if is_first {
                    touched.push(room);
                }
            }
            BusEvent::Ephemeral { room_id, event, cause } => {
                if let Some(room) = self.find_room(room_id) {
                    room.lock().hint(cause, &event);
                }
            }
            BusEvent::User { user_id, event } => self.users.send(user_id, &event),
            BusEvent::Users { user_ids, event } => self.users.send_many(&user_ids, &event, turn),
            BusEvent::SessionEnded { session_id } => self.end_session(session_id),
            BusEvent::UserEnded { user_id } => self.end_user(user_id),
            BusEvent::Presence(told) => self.users.note_elsewhere(told),
            BusEvent::Missed => self.missed(),
        }
    }

    /// Applies one entry to its room.
    fn take_in(
        &self,
        state: &mut RoomState,
        seq: u64,
        event: &Arc<DurableEvent>,
        cause: Option<ConnectionId>,
        turn: &mut Turn,
    ) -> Applied {
        let touches_access = RoomState::touches_access(event) && state.is_next(seq);
        if touches_access {
            // What came before still reaches those who lose their access now.
            state.flush(turn);
            state.end_access(event, self.now(), turn);
        }
        let applied = state.append(seq, event, cause);
        if applied != Applied::Pending {
            return applied;
        }
        if state.is_full() {
            state.flush(turn);
        }
        if touches_access {
            state.flush(turn);
            state.end_room(event, self.now(), turn);
        }
        Applied::Pending
    }

    /// Applies the entries that waited for the one before.
    fn take_in_early(&self, state: &mut RoomState, turn: &mut Turn) {
        while let Some((seq, event, cause)) = state.next_early() {
            self.take_in(state, seq, &event, cause, turn);
        }
    }

    fn count_applied(&self, events: u64) {
        self.applied.fetch_add(events, Ordering::AcqRel);
        self.has_applied.notify_waiters();
    }

    /// Waits until what was published before now is applied: who has the answer to a command finds what it did.
    pub(super) async fn settle(&self) {
        let sent = self.bus.sent();
        let all_applied = async {
            loop {
                let mut grown = pin!(self.has_applied.notified());
                grown.as_mut().enable();
                if self.applied.load(Ordering::Acquire) >= sent {
                    return;
                }
                grown.await;
            }
        };
        if time::timeout(SETTLE_DEADLINE, all_applied).await.is_err() {
            tracing::warn!("delivery is late; what it has not applied yet comes as live events");
        }
    }

    /// The bus dropped events before this task took them: nobody knows which.
    fn lagged(&self, missed: u64) {
        tracing::warn!(missed, "delivery lags behind the bus; repairing from the store");
        self.metrics.bus_lag.inc_by(missed);
        self.count_applied(missed);
        self.missed();
    }

    /// Something was lost on its way here: rooms are read, and devices told to read what is theirs.
    fn missed(&self) {
        self.users.send_to_all(&UserEvent::UserBehind(Box::new(Empty {})));
        self.sweep_now.notify_one();
    }

    /// Reads the store's head of a room that misses entries, and lets its listeners catch up.
    pub(super) fn repair(self: &Arc<Self>, room: Arc<Room>) {
        if std::mem::replace(&mut room.lock().repairing, true) {
            return;
        }
        let hub = Arc::clone(self);
        self.tasks.spawn(async move {
            let room_id = room.id;
            if hub.bus.is_shared() {
                // Entries of several nodes overtake each other; what is missing is mostly on its way.
                time::sleep(HOLE_PATIENCE).await;
                if !room.lock().has_hole() {
                    room.lock().repairing = false;
                    return;
                }
            }
            match hub.store.heads(&[room_id]).await {
                Ok(heads) => {
                    let head = heads.first().map_or(0, |(_, head)| head.seq);
                    hub.jump(&room, head);
                }
                Err(error) => tracing::warn!(room.id = %room_id, %error, "a hole stays until the next sweep"),
            }
            room.lock().repairing = false;
        });
    }

    /// Moves a room on to what the store has.
    pub(super) fn jump(self: &Arc<Self>, room: &Room, head: u64) {
        let mut turn = Turn::default();
        let mut state = room.lock();
        if head <= state.head() {
            return;
        }
        tracing::debug!(room.id = %room.id, from = state.head(), head, "log entries were missed");
        (self.access.forget)(room.id);
        state.jump(head, &mut turn);
        self.take_in_early(&mut state, &mut turn);
        state.flush(&mut turn);
        drop(state);
        self.metrics.count_behind("bus", turn.lost.len() as u64);
        self.finish_turn(turn);
    }

    /// A room's log starts anew: its listeners read anew.
    pub(super) fn restart(&self, room: &Room, epoch: String, head: u64) {
        (self.access.forget)(room.id);
        let mut state = room.lock();
        let seats = state.restart(epoch, head);
        drop(state);
        for (seat, position) in seats {
            self.give_up(room, seat, position);
        }
    }

    /// Takes a subscription that has ended off its connection's list.
    pub(super) fn forget_seat(&self, connection: &Connection, seat: Seat, room_id: RoomId) {
        let mut subscriptions = lock(&connection.subscriptions);
        subscriptions.list.retain(|subscription| subscription.room.id != room_id || subscription.seat != seat);
        connection.set_rooms(subscriptions.list.len());
    }
}
