//! What goes out, and what its answers mean.

use std::sync::Arc;

use parlour_protocol::{
    Operation, ProtocolError, RoomId, RowKey, Set,
    frame::ReplyFrame,
    operation::{
        MessageGet, MessageGetReply, MessageList, MessageListReply, MessageReply, PingReply, ReactionReply,
        RoomSubscribe, RoomUnsubscribe, SubscribeReply, SubscribeRoom,
    },
};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    Driver,
    link::{Link, Page, Purpose, Up},
    resume::pack,
    rooms::{PageReply, tell},
};
use crate::{
    error::{RequestError, RequestErrorKind},
    event::ClientEvent,
    outbox::{EntryId, Fate},
    room::page_limit,
};

impl Driver {
    /// Sends what may be sent now: subscriptions first, then reads, the outbox, and requests.
    pub(super) fn pump(&mut self, now: Instant) {
        if !matches!(self.link, Link::Up(_)) {
            return;
        }
        self.pump_unsubscribed(now);
        self.pump_rooms(now);
        self.pump_outbox(now);
        self.pump_asks(now);
    }

    fn pump_unsubscribed(&mut self, now: Instant) {
        let rooms: Vec<_> = std::mem::take(&mut self.unsubscribed);
        let rooms: Vec<_> = rooms.into_iter().filter(|room_id| !self.rooms.contains_key(room_id)).collect();
        for chunk in rooms.chunks(500) {
            let Ok(room_ids) = Set::new(chunk.to_vec()) else { continue };
            self.send(RoomUnsubscribe::NAME, &RoomUnsubscribe { room_ids }, Purpose::Unsubscribe, now);
        }
    }

    fn pump_rooms(&mut self, now: Instant) {
        let busy = std::mem::take(&mut self.busy);
        let mut subscribe = Vec::new();
        for room_id in &busy {
            let Some(room) = self.rooms.get_mut(room_id) else { continue };
            if room.may_subscribe(now) {
                subscribe.push(SubscribeRoom { room_id: *room_id, since: room.asked() });
            }
        }
        self.send_subscriptions(subscribe, now);
        for room_id in busy {
            self.pump_reads(room_id, now);
        }
    }

    fn send_subscriptions(&mut self, rooms: Vec<SubscribeRoom>, now: Instant) {
        let Link::Up(up) = &self.link else { return };
        for frame in pack(rooms, self.options.echo, up.limits(), up.transport.codec()) {
            let room_ids = frame.rooms.iter().map(|room| room.room_id).collect();
            self.send(RoomSubscribe::NAME, &frame, Purpose::Subscribe(room_ids), now);
        }
    }

    fn pump_reads(&mut self, room_id: RoomId, now: Instant) {
        loop {
            let Some(room) = self.rooms.get_mut(&room_id) else { return };
            room.answer_exhausted();
            let Some((page, limit)) = room.next_read(now) else { return };
            if self.link.up().is_none_or(|up| up.budget(now) == 0) {
                // The room is looked at again with the next turn.
                self.busy.insert(room_id);
                return;
            }
            let read = room.begin_read(&page);
            let purpose = Purpose::Page { room_id, read, page: page.clone() };
            match page {
                Page::Newest => self.send(MessageList::NAME, &list(room_id, None, limit), purpose, now),
                Page::Older(cursor) => self.send(MessageList::NAME, &list(room_id, cursor, limit), purpose, now),
                Page::Again(row_keys) => {
                    let Ok(row_keys) = Set::new(row_keys) else { return };
                    self.send(MessageGet::NAME, &MessageGet { room_id, row_keys }, purpose, now);
                }
            }
        }
    }

    fn pump_outbox(&mut self, now: Instant) {
        let Some(budget) = self.link.up().map(|up| up.budget(now)) else { return };
        for id in self.outbox.take_ready(now, budget) {
            let (Some(letter), Some(up)) = (self.outbox.letter(id), self.link.up()) else { continue };
            if up.send(&letter.op, &letter.data, Purpose::Letter(id), now).is_err() {
                // The server's limit is lower than it was when this was queued.
                self.give_up(id, RequestErrorKind::TooLarge);
            }
        }
    }

    fn pump_asks(&mut self, now: Instant) {
        let Some(budget) = self.link.up().map(|up| up.budget(now)) else { return };
        for id in self.asks.take_ready(now, budget) {
            let (Some(ask), Some(up)) = (self.asks.get(id), self.link.up()) else { continue };
            if up.send(ask.op, &ask.data, Purpose::Ask(id), now).is_err() {
                self.asks.refuse(id, RequestErrorKind::TooLarge);
            }
        }
    }

    fn send<T: serde::Serialize>(&mut self, op: &str, data: &T, purpose: Purpose, now: Instant) {
        let refused = self.link.up().and_then(|up: &mut Up| up.send(op, data, purpose, now).err());
        if let Some(purpose) = refused {
            tracing::warn!(op, "the server's frame limit has no room for this command");
            self.unanswered(purpose, now);
        }
    }

    fn give_up(&mut self, id: EntryId, kind: RequestErrorKind) {
        self.outbox.remove(id);
        self.journal_done(id);
        if let Some(waiter) = self.waiters.remove(&id) {
            tell(waiter, Err(RequestError::new(kind)));
        }
    }

    pub(super) fn journal_done(&mut self, id: EntryId) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.done(id)
        {
            tracing::warn!(%error, "the outbox file cannot be written: a restart repeats what is done");
        }
    }

    /// A command was not answered in time.
    pub(super) fn unanswered(&mut self, purpose: Purpose, now: Instant) {
        let moment = self.moment();
        match purpose {
            Purpose::Letter(id) => self.outbox.unanswered(id, now, moment.unit),
            Purpose::Ask(id) => self.asks.requeue(id),
            Purpose::Subscribe(room_ids) => {
                for room_id in room_ids {
                    self.in_room(room_id, |room, moment, _| room.unanswered(moment));
                }
            }
            Purpose::Page { room_id, read, page } => {
                self.in_room(room_id, |room, moment, _| room.read_failed(read, &page, None, moment));
            }
            Purpose::Late(_) | Purpose::Ping | Purpose::Refresh | Purpose::Unsubscribe => {}
        }
    }

    pub(super) fn on_reply(&mut self, reply: ReplyFrame<Value>, now: Instant) {
        let ReplyFrame { id, result } = reply;
        let Some(purpose) = self.link.up().and_then(|up| up.landed(id)) else { return };
        match purpose {
            Purpose::Ping => self.on_ping(result),
            Purpose::Refresh => {
                if let Err(error) = result {
                    tracing::warn!(%error, "the new token was refused");
                }
            }
            Purpose::Unsubscribe => {}
            Purpose::Subscribe(room_ids) => self.on_subscribed(&room_ids, result),
            Purpose::Letter(id) => self.on_letter(id, result, now),
            // A later try is under way: only what settles the matter counts.
            Purpose::Late(id) if result.as_ref().err().is_none_or(|error| !error.code.is_retryable()) => {
                self.on_letter(id, result, now);
            }
            Purpose::Late(_) => {}
            Purpose::Ask(id) => self.on_ask(id, result, now),
            Purpose::Page { room_id, read, page } => {
                self.in_room(room_id, |room, moment, told| match parse_page(&page, result) {
                    Ok(reply) => room.read_answered(read, &page, reply, moment, told),
                    Err(error) => room.read_failed(read, &page, Some(&error), moment),
                });
            }
        }
    }

    fn on_ping(&mut self, result: Result<Value, ProtocolError>) {
        let Some(reply) = result.ok().and_then(|data| serde_json::from_value::<PingReply>(data).ok()) else { return };
        let room_ids: Vec<_> = self.rooms.keys().copied().collect();
        for room_id in room_ids {
            let head = reply.heads.get(&room_id).copied();
            self.in_room(room_id, |room, moment, _| room.pinged(head, moment));
        }
    }

    fn on_subscribed(&mut self, room_ids: &[RoomId], result: Result<Value, ProtocolError>) {
        let reply = result.and_then(parse::<SubscribeReply>);
        for room_id in room_ids {
            let answer = match &reply {
                Ok(reply) => reply.rooms.iter().find(|room| room.room_id == *room_id).ok_or(None),
                Err(error) => Err(Some(error)),
            };
            self.in_room(*room_id, |room, moment, told| match answer {
                Ok(answer) => room.subscribed(answer, moment, told),
                Err(Some(error)) => room.refused(error, moment, told),
                Err(None) => room.unanswered(moment),
            });
        }
    }

    fn on_letter(&mut self, id: EntryId, result: Result<Value, ProtocolError>, now: Instant) {
        let Some(letter) = self.outbox.letter(id).cloned() else { return };
        let unit = self.moment().unit;
        if self.outbox.answered(id, result.as_ref().err(), now, unit) == Fate::Kept {
            return;
        }
        self.journal_done(id);
        if let (Some(room_id), Ok(data)) = (letter.lane, &result)
            && let Ok(MessageReply { message }) = serde_json::from_value(data.clone())
        {
            let echo = self.options.echo;
            self.in_room(room_id, |room, _, told| room.own_message(message, echo, told));
        }
        self.emit(ClientEvent::Settled {
            nonce: letter.nonce,
            op: letter.op.into(),
            room_id: letter.lane,
            outcome: result.as_ref().map(|data| Arc::new(data.clone())).map_err(|error| Arc::new(error.clone())),
        });
        if let Some(waiter) = self.waiters.remove(&id) {
            tell(waiter, result.map_err(RequestError::from));
        }
    }

    fn on_ask(&mut self, id: u64, result: Result<Value, ProtocolError>, now: Instant) {
        if let (Ok(data), Some(ask), false) = (&result, self.asks.get(id), self.options.echo)
            && let Some(is_added) = [("reaction.add", true), ("reaction.remove", false)]
                .iter()
                .find_map(|(op, is_added)| (ask.op == *op).then_some(*is_added))
            && let (Some(room_id), Some(row_key)) = (id_of::<RoomId>(&ask.data, "roomId"), id_of(&ask.data, "rowKey"))
            && let Ok(reply) = serde_json::from_value::<ReactionReply>(data.clone())
        {
            let row_key: RowKey = row_key;
            self.in_room(room_id, |room, _, told| room.own_reaction(row_key, &reply, is_added, told));
        }
        let unit = self.moment().unit;
        self.asks.answered(id, result, now, unit);
    }
}

fn id_of<T: std::str::FromStr>(data: &Value, field: &str) -> Option<T> {
    data[field].as_str()?.parse().ok()
}

fn list(room_id: RoomId, cursor: Option<RowKey>, limit: usize) -> MessageList {
    MessageList {
        room_id,
        order: None,
        cursor,
        include_cursor: None,
        around: None,
        is_pinned: None,
        limit: page_limit(limit).ok(),
    }
}

fn parse<T: serde::de::DeserializeOwned>(data: Value) -> Result<T, ProtocolError> {
    // Not of the protocol: as good as no answer.
    serde_json::from_value(data)
        .map_err(|error| ProtocolError::new(parlour_protocol::ErrorCode::Internal, error.to_string()))
}

fn parse_page(page: &Page, result: Result<Value, ProtocolError>) -> Result<PageReply, ProtocolError> {
    match page {
        Page::Newest | Page::Older(_) => result.and_then(parse::<MessageListReply>).map(PageReply::from),
        Page::Again(_) => result.and_then(parse::<MessageGetReply>).map(|reply| PageReply {
            as_of: reply.as_of,
            items: reply.items,
            older: None,
            rest: reply.rest,
        }),
    }
}
