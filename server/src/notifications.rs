//! Who is told of what when they do not look: events in an outbox, their recipients, the pushes to browsers.
//!
//! | step | where |
//! | --- | --- |
//! | what may have to be told is noted, in the commit of the message | `store/sql/group.rs`, [`Outbox`] |
//! | it is carried to whoever resolves it | [`Notifications`]: the database itself, or Azure Event Grid |
//! | its recipients are found, one delivery is noted for each of their browsers | `recipients.rs`, `content.rs` |
//! | deliveries are pushed until they arrive, end or are given up | `pushes.rs`, [`crate::push::sender`] |

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

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
