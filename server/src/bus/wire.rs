//! Events as nodes tell them to each other: a list of items, each a length, a kind and what belongs to it.
//!
//! What is an event of the protocol travels as its JSON frame. Ids are their sixteen bytes; no cause is zeros.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use parlour_protocol::{
    ConnectionId, Event, RoomId, SessionId, UserId, codec::Codec, event::DurableFrame, frame::ServerFrame,
};
use uuid::Uuid;

use super::{BusEvent, NodePresence};

const ROOM: u8 = 1;
const EPHEMERAL: u8 = 2;
const USERS: u8 = 3;
const SESSION_ENDED: u8 = 4;
const USER_ENDED: u8 = 5;
const MISSED: u8 = 6;
const PRESENCE: u8 = 7;

/// Adds an event to a message.
pub(super) fn push(message: &mut Vec<u8>, event: &BusEvent) {
    let begin = message.len();
    message.extend_from_slice(&[0; 4]);
    match event {
        BusEvent::Room { room_id, seq, event, cause } => {
            message.push(ROOM);
            message.extend_from_slice(cause.map_or(Uuid::nil(), ConnectionId::uuid).as_bytes());
            let frame = DurableFrame { room_id: *room_id, seq: *seq, event };
            message.extend_from_slice(&Codec::Json.encode(&frame));
        }
        BusEvent::Ephemeral { room_id, event, cause } => {
            message.push(EPHEMERAL);
            message.extend_from_slice(cause.uuid().as_bytes());
            let frame = Event::Ephemeral { room_id: *room_id, event: (**event).clone() };
            message.extend_from_slice(&Codec::Json.encode(&frame));
        }
        BusEvent::User { user_id, event } => push_users(message, &[*user_id], event),
        BusEvent::Users { user_ids, event } => push_users(message, user_ids, event),
        BusEvent::SessionEnded { session_id } => {
            message.push(SESSION_ENDED);
            message.extend_from_slice(session_id.uuid().as_bytes());
        }
        BusEvent::UserEnded { user_id } => {
            message.push(USER_ENDED);
            message.extend_from_slice(user_id.uuid().as_bytes());
        }
        BusEvent::Missed => message.push(MISSED),
        BusEvent::Presence(told) => {
            message.push(PRESENCE);
            message.extend_from_slice(told.node.as_bytes());
            message.push(told.is_whole.into());
            for user_ids in [&told.here, &told.gone, &told.changed] {
                push_ids(message, user_ids);
            }
        }
    }
    let len = u32::try_from(message.len() - begin - 4).unwrap_or(0);
    message[begin..begin + 4].copy_from_slice(&len.to_le_bytes());
}

fn push_users(message: &mut Vec<u8>, user_ids: &[UserId], event: &parlour_protocol::UserEvent) {
    message.push(USERS);
    push_ids(message, user_ids);
    message.extend_from_slice(&Codec::Json.encode(&Event::User(event.clone())));
}

fn push_ids(message: &mut Vec<u8>, user_ids: &[UserId]) {
    message.extend_from_slice(&u32::try_from(user_ids.len()).unwrap_or(0).to_le_bytes());
    for user_id in user_ids {
        message.extend_from_slice(user_id.uuid().as_bytes());
    }
}

/// The events of a message. None stands for one that cannot be read: it is of another version.
pub(super) fn events(mut message: Bytes) -> Vec<Option<BusEvent>> {
    let mut events = Vec::with_capacity(1);
    while message.has_remaining() {
        let len = message.try_get_u32_le().map_or(usize::MAX, |len| usize::try_from(len).unwrap_or(usize::MAX));
        if len > message.remaining() {
            events.push(None);
            break;
        }
        events.push(event(message.split_to(len)));
    }
    events
}

fn event(mut item: Bytes) -> Option<BusEvent> {
    let kind = item.try_get_u8().ok()?;
    Some(match kind {
        ROOM | EPHEMERAL => {
            let cause = uuid(&mut item)?;
            let cause = (!cause.is_nil()).then_some(ConnectionId::from_uuid(cause));
            match frame(&item)? {
                Event::Durable { room_id, seq, event } => {
                    BusEvent::Room { room_id, seq, event: Arc::new(event), cause }
                }
                Event::Ephemeral { room_id, event } => {
                    BusEvent::Ephemeral { room_id, event: Arc::new(event), cause: cause? }
                }
                Event::Control { .. } | Event::User(_) => return None,
            }
        }
        USERS => {
            let user_ids = ids(&mut item)?;
            let Event::User(event) = frame(&item)? else { return None };
            BusEvent::Users { user_ids: user_ids.into(), event: Arc::new(event) }
        }
        SESSION_ENDED => BusEvent::SessionEnded { session_id: SessionId::from_uuid(uuid(&mut item)?) },
        USER_ENDED => BusEvent::UserEnded { user_id: UserId::from_uuid(uuid(&mut item)?) },
        MISSED => BusEvent::Missed,
        PRESENCE => BusEvent::Presence(Arc::new(NodePresence {
            node: uuid(&mut item)?,
            is_whole: item.try_get_u8().ok()? != 0,
            here: ids(&mut item)?,
            gone: ids(&mut item)?,
            changed: ids(&mut item)?,
        })),
        _ => return None,
    })
}

fn ids(item: &mut Bytes) -> Option<Vec<UserId>> {
    let count = usize::try_from(item.try_get_u32_le().ok()?).ok()?;
    if count > item.remaining() / 16 {
        return None;
    }
    (0..count).map(|_| uuid(item).map(UserId::from_uuid)).collect()
}

fn uuid(item: &mut Bytes) -> Option<Uuid> {
    Some(Uuid::from_u128(item.try_get_u128().ok()?))
}

fn frame(bytes: &[u8]) -> Option<Event> {
    match Codec::Json.decode_server_frame(bytes) {
        Ok(ServerFrame::Event(event)) => event,
        Ok(ServerFrame::Reply(_)) | Err(_) => None,
    }
}

/// The room whose listeners an event is for; none when it is for all nodes.
pub(super) fn room_of(event: &BusEvent) -> Option<RoomId> {
    match event {
        BusEvent::Room { room_id, .. } | BusEvent::Ephemeral { room_id, .. } => Some(*room_id),
        BusEvent::User { .. }
        | BusEvent::Users { .. }
        | BusEvent::SessionEnded { .. }
        | BusEvent::UserEnded { .. }
        | BusEvent::Presence(_)
        | BusEvent::Missed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_none_and_nothing_panics() {
        let mut message = Vec::new();
        push(&mut message, &BusEvent::Missed);
        push(&mut message, &BusEvent::UserEnded { user_id: UserId::new() });
        let whole = Bytes::from(message);
        assert!(events(whole.clone()).iter().all(Option::is_some));
        for len in 0..whole.len() {
            drop(events(whole.slice(..len)));
        }
        for kind in 0..=u8::MAX {
            for len in [1_u8, 17, 30] {
                let mut message = vec![len, 0, 0, 0, kind];
                message.resize(usize::from(len) + 4, 0xff);
                drop(events(message.into()));
            }
        }
    }
}
