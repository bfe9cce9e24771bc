//! `room.subscribe` and `room.unsubscribe`.
//!
//! The listener is attached first, paused; then what was published before is waited for and the head is read,
//! then access is checked, then the reply goes out in order with events, and only then anything of the room.

use std::sync::Arc;

use parlour_protocol::{
    ErrorCode, ProtocolError, RoomId, UserId,
    close::CloseCode,
    event::UnsubscribeReason,
    frame::ReplyFrame,
    object::Empty,
    operation::{Position, RoomSubscribe, RoomUnsubscribe, SubscribeReply, Subscribed, Verdict},
};

use super::{
    Hub, Room, Seat, Subscription,
    catch_up::{Folded, Job, SOON},
    frames, lock,
    room::{Feed, Member},
};
use crate::{
    store::{LogRead, StoreError},
    ws::connection::{Connection, Lane},
};

/// Log entries held between reading them and sending the reply; rooms beyond it read after the reply.
const ENTRIES_BEFORE_REPLY: u64 = 2000;

/// One room of a subscribe on its way.
struct Ask {
    room: Arc<Room>,
    seat: Seat,
    since: Option<Position>,
    outcome: Outcome,
}

enum Outcome {
    Open,
    Failed(ProtocolError),
    Verdict { verdict: Verdict, epoch: String, seq: u64, folded: Option<Folded> },
}

impl Hub {
    /// Subscribes rooms and answers the command `id`, in order with what follows.
    pub(crate) async fn subscribe(self: &Arc<Self>, connection: &Arc<Connection>, id: u64, request: RoomSubscribe) {
        // One at a time: a later subscribe of a room replaces an earlier one.
        let turn = connection.subscribing.lock().await;
        let Some(session) = connection.session() else {
            let error = ProtocolError::new(ErrorCode::Unauthenticated, "say hello first");
            connection.reply_in_order(&ReplyFrame::<SubscribeReply> { id, result: Err(error) });
            return;
        };
        connection.set_echo(request.echo.unwrap_or(true));
        let mut answers = Vec::with_capacity(request.rooms.len());
        let mut asks = Vec::with_capacity(request.rooms.len());
        for wanted in request.rooms.iter() {
            // Nothing is kept of a room that the user may not read.
            if let Err(error) = (self.access.check)(wanted.room_id, session.user_id).await {
                self.detach(connection, wanted.room_id, None);
                answers.push(failed(wanted.room_id, error));
                continue;
            }
            let room = self.room(wanted.room_id);
            let Some(seat) = self.attach(connection, &room, session.user_id) else { return };
            asks.push(Ask { room, seat, since: wanted.since.clone(), outcome: Outcome::Open });
            answers.push(pending(wanted.room_id));
        }
        if self.bus.is_shared() {
            self.bus.followed().await;
        }
        self.settle().await;
        self.load(&mut asks).await;
        for ask in &mut asks {
            if let Outcome::Open = ask.outcome {
                // Marked before it is asked: a change that comes meanwhile puts it in doubt again.
                if let Some(member) = ask.room.lock().member(ask.seat) {
                    member.is_checked = true;
                }
                if let Err(error) = (self.access.check)(ask.room.id, session.user_id).await {
                    ask.outcome = Outcome::Failed(error);
                }
            }
        }
        let mut budget = ENTRIES_BEFORE_REPLY;
        for ask in &mut asks {
            if let Outcome::Open = ask.outcome {
                ask.outcome = self.decide(ask, &mut budget).await;
            }
        }
        for ask in &asks {
            if let Outcome::Failed(_) = ask.outcome {
                self.detach(connection, ask.room.id, Some(ask.seat));
            }
        }
        // In the order asked: those that were refused at once are answered already.
        let mut decided = asks.iter().map(Ask::answer);
        for answer in answers.iter_mut().filter(|answer| answer.error.is_none()) {
            if let Some(decided) = decided.next() {
                *answer = decided;
            }
        }
        drop(decided);
        // Written together with the pages that memory has.
        let reply = connection.encode(&ReplyFrame { id, result: Ok(SubscribeReply { rooms: answers }) });
        connection.send_later(Lane::Control, &reply);
        for ask in asks {
            self.begin(connection, ask);
        }
        connection.flush();
        drop(turn);
    }

    /// Ends subscriptions without a last frame and answers the command `id`.
    pub(crate) async fn unsubscribe(&self, connection: &Arc<Connection>, id: u64, request: RoomUnsubscribe) {
        let _turn = connection.subscribing.lock().await;
        for room_id in request.room_ids.iter() {
            self.detach(connection, *room_id, None);
        }
        connection.reply_in_order(&ReplyFrame { id, result: Ok(Empty {}) });
    }

    /// Takes a connection out of all rooms; nothing attaches it again.
    pub(super) fn leave_all(&self, connection: &Arc<Connection>) {
        let mut subscriptions = lock(&connection.subscriptions);
        subscriptions.closed = true;
        for subscription in std::mem::take(&mut subscriptions.list) {
            subscription.room.lock().remove(connection, subscription.seat, self.now());
        }
    }

    /// Ends a connection whose token counts no more: each of its rooms says so, and then the socket closes.
    pub(super) fn revoke(&self, connection: &Arc<Connection>) {
        let mut subscriptions = lock(&connection.subscriptions);
        subscriptions.closed = true;
        let mut last = Vec::with_capacity(subscriptions.list.len());
        for Subscription { room, seat, .. } in std::mem::take(&mut subscriptions.list) {
            if room.lock().remove(connection, seat, self.now()).is_some() {
                last.push(frames::unsubscribed(connection.codec(), room.id, seat.sub, UnsubscribeReason::Revoked));
            }
        }
        drop(subscriptions);
        connection.close_after(&last, CloseCode::Unauthenticated, "the session has ended");
    }

    /// Attaches a paused listener, in place of an earlier one; none when the connection is gone.
    fn attach(&self, connection: &Arc<Connection>, room: &Arc<Room>, user_id: UserId) -> Option<Seat> {
        let mut subscriptions = lock(&connection.subscriptions);
        if subscriptions.closed {
            return None;
        }
        subscriptions.last_sub += 1;
        let sub = subscriptions.last_sub;
        let place = subscriptions.list.binary_search_by_key(&room.id, |subscription| subscription.room.id);
        let mut state = room.lock();
        if let Ok(place) = place {
            state.remove(connection, subscriptions.list[place].seat, self.now());
        }
        let slot = state.members.insert(Member {
            connection: Arc::clone(connection),
            user_id,
            sub,
            feed: Feed::Paused { position: 0 },
            is_checked: false,
            was_slow: false,
            resynced_at: None,
            strikes: 0,
        });
        drop(state);
        let seat = Seat { slot, sub };
        let subscription = Subscription { room: Arc::clone(room), seat, told: 0 };
        match place {
            Ok(place) => subscriptions.list[place] = subscription,
            Err(place) => {
                if subscriptions.list.len() < 4 {
                    // Most connections have few rooms, and each byte counts by the ten thousand.
                    subscriptions.list.reserve_exact(1);
                }
                subscriptions.list.insert(place, subscription);
            }
        }
        connection.set_rooms(subscriptions.list.len());
        Some(seat)
    }

    /// Takes a listener off, if it still has the seat.
    fn detach(&self, connection: &Arc<Connection>, room_id: RoomId, seat: Option<Seat>) {
        let mut subscriptions = lock(&connection.subscriptions);
        let Ok(place) = subscriptions.list.binary_search_by_key(&room_id, |subscription| subscription.room.id) else {
            return;
        };
        if seat.is_some_and(|seat| seat != subscriptions.list[place].seat) {
            return;
        }
        let subscription = subscriptions.list.remove(place);
        connection.set_rooms(subscriptions.list.len());
        subscription.room.lock().remove(connection, subscription.seat, self.now());
    }

    /// Reads the heads of rooms that are new on this node.
    async fn load(&self, asks: &mut [Ask]) {
        let unknown: Vec<RoomId> =
            asks.iter().filter(|ask| ask.room.lock().log.is_none()).map(|ask| ask.room.id).collect();
        if unknown.is_empty() {
            return;
        }
        let failure = match self.store.heads(&unknown).await {
            Ok(heads) => {
                for (room_id, head) in heads {
                    if let Some(room) = self.find_room(room_id) {
                        room.lock().load(head.epoch, head.seq);
                    }
                }
                ProtocolError::no_access()
            }
            Err(error) => unavailable(&error),
        };
        for ask in asks {
            if ask.room.lock().log.is_none() {
                ask.outcome = Outcome::Failed(failure.clone());
            }
        }
    }

    /// Finds the verdict and the position to begin from, reading the log when memory does not reach.
    async fn decide(self: &Arc<Self>, ask: &Ask, budget: &mut u64) -> Outcome {
        let mut refreshed = false;
        loop {
            let (position, up_to, epoch) = {
                let mut state = ask.room.lock();
                let Some(log) = &state.log else { return Outcome::Failed(ProtocolError::no_access()) };
                let (head, epoch) = (log.head, log.epoch.clone());
                let verdict = match &ask.since {
                    None => Verdict::Live,
                    Some(since) if since.epoch.as_str() != epoch => Verdict::Reset,
                    Some(since) if seq_of(since) > head && refreshed => Verdict::Reset,
                    Some(since) if head.saturating_sub(seq_of(since)) > self.limits.max_catch_up => Verdict::Gap,
                    Some(_) => Verdict::Exact,
                };
                let position = match (&ask.since, verdict) {
                    (Some(since), Verdict::Exact) => seq_of(since),
                    _ => head,
                };
                let is_ahead = position > head;
                let in_reach = state.tail.covers(position, head) && state.tail.is_folded_after(position);
                let Some(member) = state.member(ask.seat) else {
                    return Outcome::Failed(ProtocolError::no_access());
                };
                if !is_ahead && (verdict != Verdict::Exact || in_reach || position == head || head - position > *budget)
                {
                    member.feed = if verdict == Verdict::Exact {
                        Feed::CatchingUp { position }
                    } else {
                        Feed::Paused { position }
                    };
                    return Outcome::Verdict { verdict, epoch, seq: head, folded: None };
                }
                (position, head, epoch)
            };
            if position > up_to {
                // Either the bus is late here, or the log was cut: the store knows.
                refreshed = true;
                if let Err(error) = self.refresh(&ask.room).await {
                    return Outcome::Failed(unavailable(&error));
                }
                continue;
            }
            *budget -= up_to - position;
            let read = self.read(&ask.room, position, up_to).await;
            let mut state = ask.room.lock();
            let Some(member) = state.member(ask.seat) else {
                return Outcome::Failed(ProtocolError::no_access());
            };
            return match read {
                Ok(LogRead::Entries { entries, seq }) => {
                    member.feed = Feed::CatchingUp { position };
                    let folded = Some(Folded { entries: entries.into(), up_to: seq });
                    Outcome::Verdict { verdict: Verdict::Exact, epoch, seq: up_to, folded }
                }
                Ok(LogRead::OutOfReach) => {
                    member.feed = Feed::Paused { position: up_to };
                    Outcome::Verdict { verdict: Verdict::Gap, epoch, seq: up_to, folded: None }
                }
                Err(error) => Outcome::Failed(unavailable(&error)),
            };
        }
    }

    async fn refresh(self: &Arc<Self>, room: &Room) -> Result<(), StoreError> {
        let heads = self.store.heads(&[room.id]).await?;
        if let Some((_, head)) = heads.first() {
            self.jump(room, head.seq);
        }
        Ok(())
    }

    /// Starts what the reply promised: at once from memory, else by the connection's catch-up task.
    fn begin(self: &Arc<Self>, connection: &Arc<Connection>, ask: Ask) {
        let Outcome::Verdict { folded, .. } = ask.outcome else { return };
        if folded.is_none() {
            let mut state = ask.room.lock();
            let Some(member) = state.member(ask.seat) else { return };
            let begun = match member.feed {
                Feed::Paused { position } => member.is_checked && self.go_live(&mut state, ask.seat, position),
                Feed::CatchingUp { .. } => self.catch_up_from_tail(&mut state, ask.seat),
                Feed::Behind { .. } | Feed::Live { .. } => false,
            };
            if begun {
                return;
            }
        }
        self.enqueue(connection, Job { room: ask.room, seat: ask.seat, folded });
    }

    /// A subscription has lost events, or its access is in doubt: it goes on by the catch-up task.
    pub(super) fn resync(self: &Arc<Self>, connection: &Arc<Connection>, room: Arc<Room>, seat: Seat, is_slow: bool) {
        if is_slow {
            connection.set_behind(true);
            let now = self.now();
            let soon = self.context.pulse.ticks(SOON);
            let is_hopeless = room.lock().member(seat).is_some_and(|member| {
                let is_soon = member.resynced_at.is_some_and(|then| now.wrapping_sub(then) <= soon);
                member.strikes = if is_soon { member.strikes.saturating_add(1) } else { 0 };
                member.strikes >= self.limits.strikes
            });
            if is_hopeless {
                connection.close(CloseCode::Behind, "behind again and again");
                return;
            }
        }
        self.enqueue(connection, Job { room, seat, folded: None });
    }
}

impl Ask {
    fn answer(&self) -> Subscribed {
        let room_id = self.room.id;
        match &self.outcome {
            Outcome::Open => failed(room_id, ProtocolError::new(ErrorCode::Internal, "not decided")),
            Outcome::Failed(error) => failed(room_id, error.clone()),
            Outcome::Verdict { verdict, epoch, seq, .. } => Subscribed {
                room_id,
                verdict: *verdict,
                sub: self.seat.sub.into(),
                epoch: epoch.clone(),
                seq: *seq,
                error: None,
            },
        }
    }
}

fn pending(room_id: RoomId) -> Subscribed {
    Subscribed { room_id, verdict: Verdict::Error, sub: 0, epoch: String::new(), seq: 0, error: None }
}

fn failed(room_id: RoomId, error: ProtocolError) -> Subscribed {
    Subscribed { error: Some(error), ..pending(room_id) }
}

fn seq_of(position: &Position) -> u64 {
    position.seq.unsigned()
}

fn unavailable(error: &StoreError) -> ProtocolError {
    tracing::warn!(%error, "a subscribe failed");
    ProtocolError::new(ErrorCode::Unavailable, "the store does not answer")
}
