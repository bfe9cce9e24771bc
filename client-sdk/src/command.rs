//! What handles ask of the driver.

use std::sync::Arc;

use parlour_protocol::{
    Nonce, RoomId, RowKey,
    object::Message,
    operation::{Class, Subscribed},
};
use serde_json::Value;
use tokio::{sync::oneshot, time::Instant};

use crate::{error::RequestError, feed::Place, outbox::Letter, outbox::Patience, room::Snapshot};

pub(crate) type Answer<T> = oneshot::Sender<Result<T, RequestError>>;

/// A read, or an idempotent change.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) op: &'static str,
    pub(crate) class: Class,
    pub(crate) data: Value,
    pub(crate) patience: Patience,
    pub(crate) deadline: Instant,
    pub(crate) answer: Answer<Value>,
}

/// A creating command for the outbox.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) letter: Letter,
    /// Told when it is in the outbox, and in its file.
    pub(crate) queued: Answer<()>,
    pub(crate) answer: Answer<Value>,
}

/// How a room is subscribed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscription {
    pub(crate) since: Option<Place>,
    /// Messages of the newest page that are read at first, and after too much was missed.
    pub(crate) history: usize,
    pub(crate) capacity: Option<usize>,
}

/// A command that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCommand {
    /// Its nonce.
    pub nonce: Nonce,
    /// The operation.
    pub op: String,
    /// Its data.
    pub data: Value,
    /// The room whose order it keeps.
    pub room_id: Option<RoomId>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Ask(Ask),
    Post(Post),
    Subscribe { room_id: RoomId, subscription: Subscription, answer: Answer<Subscribed> },
    Unsubscribe { room_id: RoomId, answer: Answer<()> },
    Resubscribe { room_id: RoomId, answer: Answer<()> },
    LoadOlder { room_id: RoomId, limit: usize, answer: Answer<usize> },
    Snapshot { room_id: RoomId, answer: Answer<Snapshot> },
    Message { room_id: RoomId, row_key: RowKey, answer: Answer<Option<Arc<Message>>> },
    Pending { answer: Answer<Vec<PendingCommand>> },
    Withdraw { nonce: Nonce, answer: Answer<bool> },
}
