//! What a client tells its program, and the bounded streams that carry it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use parlour_protocol::{
    DurableEvent, Nonce, ProtocolError, RoomId, RowKey, UserEvent,
    event::{TypingStarted, UnsubscribeReason},
    object::{Message, User},
    operation::Verdict,
};
use serde_json::Value;
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};

use crate::error::ConnectErrorKind;

/// Something that happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A connection stands. User events are not replayed: re-read the lists that you show.
    Connected {
        /// Who is logged in.
        user: Arc<User>,
    },
    /// The connection is gone; the client connects again by itself.
    Disconnected {
        /// Why, for people.
        reason: Arc<str>,
        /// When it tries again.
        retry_in: Duration,
    },
    /// The client has stopped for good. This is the last event.
    Closed {
        /// Why; none when the program closed it.
        reason: Option<ConnectErrorKind>,
    },
    /// Something happened in a room that is subscribed.
    Room {
        /// The room.
        room_id: RoomId,
        /// What.
        event: RoomEvent,
    },
    /// Something happened to the account.
    User(Arc<UserEvent>),
    /// A creating command was answered for good.
    Settled {
        /// Its nonce.
        nonce: Nonce,
        /// The operation.
        op: Arc<str>,
        /// The room whose order it kept.
        room_id: Option<RoomId>,
        /// The reply's data, or why there is none.
        outcome: Result<Arc<Value>, Arc<ProtocolError>>,
    },
    /// This stream was read too slowly: so many events were dropped. Read the timelines again.
    Lagged(u64),
}

/// Something that happened in one room.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RoomEvent {
    /// The room is subscribed, or again after a connection was lost.
    Subscribed {
        /// Whether something was missed for good (`Gap`, `Reset`), or not.
        verdict: Verdict,
    },
    /// Everything up to the room's head has been told.
    CaughtUp,
    /// A message.
    Created {
        /// The message.
        message: Arc<Message>,
        /// Its place in the log, or the position it was read at.
        seq: u64,
    },
    /// A message is different.
    Changed {
        /// Its present state.
        message: Arc<Message>,
        /// The place in the log, or the position it was read at.
        seq: u64,
    },
    /// A message is gone.
    Deleted {
        /// Which.
        row_key: RowKey,
        /// The place in the log, or the position it was read at.
        seq: u64,
    },
    /// Settings, members, roles or emoji changed.
    Other {
        /// What happened.
        event: Arc<DurableEvent>,
        /// The place in the log.
        seq: u64,
    },
    /// Somebody types.
    Typing(Arc<TypingStarted>),
    /// Too much was missed: what was known of the room is discarded. The newest page follows as
    /// [`RoomEvent::Loaded`]; re-read what else you show of the room, with [`crate::Room::view`],
    /// [`crate::Room::members`] and [`crate::Room::roles`].
    Reset,
    /// A page of history was read into the timeline: show [`crate::Room::timeline`] anew.
    Loaded,
    /// The subscription has ended.
    Ended(Ending),
}

/// Why a subscription ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Ending {
    /// Access was lost, or the room is gone.
    Lost(UnsubscribeReason),
    /// The server refused the subscription.
    Refused(Arc<ProtocolError>),
    /// The program ended it.
    Unsubscribed,
}

/// All events, in order. The buffer is bounded; see [`ClientEvent::Lagged`].
#[derive(Debug)]
pub struct EventStream {
    inner: BroadcastStream<ClientEvent>,
}

impl EventStream {
    pub(crate) fn new(receiver: tokio::sync::broadcast::Receiver<ClientEvent>) -> Self {
        Self { inner: BroadcastStream::new(receiver) }
    }

    /// The next event; none when the client is closed.
    pub async fn next(&mut self) -> Option<ClientEvent> {
        StreamExt::next(self).await
    }
}

impl Stream for EventStream {
    type Item = ClientEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ClientEvent>> {
        Poll::Ready(match ready!(self.inner.poll_next_unpin(cx)) {
            Some(Ok(event)) => Some(event),
            Some(Err(BroadcastStreamRecvError::Lagged(count))) => Some(ClientEvent::Lagged(count)),
            None => None,
        })
    }
}

/// The events of one room, in order.
#[derive(Debug)]
pub struct RoomEvents {
    room_id: RoomId,
    inner: EventStream,
}

/// An event of one room, or the word that some were dropped.
#[derive(Debug, Clone)]
pub enum RoomItem {
    /// An event.
    Event(RoomEvent),
    /// The stream was read too slowly: so many events, of any room, were dropped.
    Lagged(u64),
}

impl RoomEvents {
    pub(crate) fn new(room_id: RoomId, inner: EventStream) -> Self {
        Self { room_id, inner }
    }

    /// The next event; none when the client is closed.
    pub async fn next(&mut self) -> Option<RoomItem> {
        StreamExt::next(self).await
    }
}

impl Stream for RoomEvents {
    type Item = RoomItem;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RoomItem>> {
        loop {
            match ready!(self.inner.poll_next_unpin(cx)) {
                Some(ClientEvent::Room { room_id, event }) if room_id == self.room_id => {
                    return Poll::Ready(Some(RoomItem::Event(event)));
                }
                Some(ClientEvent::Lagged(count)) => return Poll::Ready(Some(RoomItem::Lagged(count))),
                Some(_) => {}
                None => return Poll::Ready(None),
            }
        }
    }
}
