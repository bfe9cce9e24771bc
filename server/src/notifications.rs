//! Who is told of what when they do not look: events in an outbox, their recipients, the pushes to browsers.
//!
//! | step | where |
//! | --- | --- |
//! | what may have to be told is noted, in the commit of the message | `store/sql/group.rs`, [`Outbox`] |
//! | it is carried to whoever resolves it | [`Notifications`] |
//! | its recipients are found, one delivery is noted for each of their browsers | `recipients.rs`, `content.rs` |
//! | deliveries are pushed until they arrive, end or are given up | `worker.rs`, [`crate::push::sender`] |

mod content;
pub(crate) mod metrics;
pub(crate) mod recipients;
#[cfg(test)]
mod tests;
pub(crate) mod worker;

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use parlour_protocol::{RoomId, RowKey, Timestamp, UserId};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    directory::notifications::{self, Delivery, NewDelivery},
    store::db::Db,
};

/// What writers of events and the worker share.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    is_wanted: AtomicBool,
    /// How often it was wanted.
    wishes: AtomicU64,
    news: Notify,
}

impl Outbox {
    /// Whether events are to be noted: nobody pays for them as long as nobody can be told.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Has events noted from now on.
    pub(crate) fn wanted(&self) {
        self.wishes.fetch_add(1, Ordering::AcqRel);
        self.is_wanted.store(true, Ordering::Release);
    }

    /// Has events noted no more, unless that is wished since `wishes`.
    pub(crate) fn unwanted_since(&self, wishes: u64) {
        self.is_wanted.store(false, Ordering::Release);
        if self.wishes() != wishes {
            self.is_wanted.store(true, Ordering::Release);
        }
    }

    /// How often it was wanted so far.
    pub(crate) fn wishes(&self) -> u64 {
        self.wishes.load(Ordering::Acquire)
    }

    /// Tells the worker of a commit.
    pub(crate) fn wake(&self) {
        self.news.notify_one();
    }

    /// Waits for a commit.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }
}

/// Something that somebody may have to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notification {
    pub(crate) id: Uuid,
    pub(crate) subject: Subject,
    pub(crate) created_at: Timestamp,
    /// How often it was tried to carry it.
    pub(crate) tries: u32,
}

/// What it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A message, to whom it concerns.
    Message { room_id: RoomId, row_key: RowKey },
    /// What somebody asked to be reminded of.
    Reminder { user_id: UserId, room_id: RoomId, text: String },
    /// Somebody asks to be a friend.
    FriendRequest { user_id: UserId, sender_id: UserId },
}

/// What became of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carried {
    /// Its recipients are found.
    Resolved(Vec<NewDelivery>),
    /// Another try is needed.
    Failed(String),
}

/// The seam to what carries notifications to where their recipients are found: durable, at least once.
#[async_trait]
pub(crate) trait Notifications: Debug + Send + Sync {
    /// Carries notifications; what became of each.
    async fn carry(&self, notifications: &[Notification], now: Timestamp) -> Vec<Carried>;
}

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PushOutcome {
    Arrived,
    /// The address has ended.
    Ended,
    Refused {
        reason: String,
        /// How long the service wants to be left alone.
        retry_after: Option<Duration>,
    },
}

/// The seam to push services.
#[async_trait]
pub(crate) trait PushSender: Debug + Send + Sync {
    /// Pushes once, within a deadline.
    async fn push(&self, delivery: &Delivery) -> PushOutcome;
}

/// Tells somebody, who may have a push address, that another asks to be their friend. Best effort.
pub(crate) async fn tell_friend_request(db: &Db, outbox: &Outbox, user_id: UserId, sender_id: UserId) {
    if !outbox.is_wanted() {
        return;
    }
    let subject = Subject::FriendRequest { user_id, sender_id };
    let notification = Notification { id: Uuid::now_v7(), subject, created_at: Timestamp::now(), tries: 0 };
    let noted = async {
        let mut tx = db.begin().await?;
        notifications::note(&mut tx, &notification).await?;
        tx.commit().await
    };
    match noted.await {
        Ok(()) => outbox.wake(),
        Err(error) => tracing::warn!(%error, "a friend request is not notified"),
    }
}
