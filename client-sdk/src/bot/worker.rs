//! One room of a bot: its messages, one at a time, none twice, none left out.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use parlour_protocol::{RowKey, object::Message};
use tokio::sync::mpsc;

use super::{Bot, progress::Progress};
use crate::{
    backoff::Backoff,
    error::{RequestError, RequestErrorKind},
    room::Room,
};

/// Messages that wait for a room's handler; when more come, they are read from the server instead.
const QUEUE: usize = 64;
/// How long the room's first subscription may take.
const SUBSCRIBE: Duration = Duration::from_secs(60);

/// The bot's end of a room's task. The task ends when this is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    queue: mpsc::Sender<Option<Arc<Message>>>,
    missed: Arc<AtomicBool>,
}

struct Work {
    bot: Arc<Bot>,
    room: Room,
    progress: Progress,
    last: RowKey,
    queue: mpsc::Receiver<Option<Arc<Message>>>,
    missed: Arc<AtomicBool>,
}

impl Worker {
    pub(super) fn new(
        bot: Arc<Bot>,
        room: Room,
        progress: Progress,
        last: RowKey,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let missed = Arc::new(AtomicBool::new(false));
        let work = Work { bot, room, progress, last, queue, missed: Arc::clone(&missed) };
        (Self { queue: sender, missed }, work.run())
    }

    /// A message has come.
    pub(super) fn give(&self, message: Arc<Message>) {
        if self.queue.try_send(Some(message)).is_err() {
            self.missed.store(true, Ordering::SeqCst);
        }
    }

    /// Messages may have been missed.
    pub(super) fn look_again(&self) {
        self.missed.store(true, Ordering::SeqCst);
        // A full queue wakes the task as well.
        if self.queue.try_send(None).is_err() {
            tracing::trace!("the room's task is at work");
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.queue.is_closed()
    }
}

impl Work {
    async fn run(mut self) {
        let mut backoff = Backoff::default();
        while let Err(error) = self.enter().await {
            if is_final(&error) || self.queue.is_closed() {
                tracing::warn!(room.id = %self.room.id(), %error, "the bot is not in this room");
                return;
            }
            tokio::time::sleep(backoff.next(rand::random())).await;
        }
        backoff.reset();
        while let Some(message) = self.queue.recv().await {
            while self.missed.swap(false, Ordering::SeqCst) {
                if let Err(error) = self.catch_up().await {
                    tracing::warn!(room.id = %self.room.id(), %error, "missed messages could not be read");
                    if is_final(&error) || self.queue.is_closed() {
                        return;
                    }
                    self.missed.store(true, Ordering::SeqCst);
                    tokio::time::sleep(backoff.next(rand::random())).await;
                }
            }
            backoff.reset();
            if let Some(message) = message {
                self.take(message).await;
            }
        }
    }

    /// Subscribes, then reads what came before that. The beginning is remembered first, so that a crash
    /// before the first answer loses nothing.
    async fn enter(&mut self) -> Result<(), RequestError> {
        self.progress.set(self.room.id(), self.last);
        self.progress.flush().await;
        self.room.subscribe().history(0).keep(100).deadline(SUBSCRIBE).await?;
        self.catch_up().await
    }

    /// Handles what is newer than the last message that was handled, up to the backlog.
    async fn catch_up(&mut self) -> Result<(), RequestError> {
        if self.bot.backlog == 0 {
            return Ok(());
        }
        let page = self.room.history().limit(self.bot.backlog).await?;
        let is_news = |message: &Message| message.row_key < self.last;
        let news: Vec<_> = page.items.into_iter().filter(is_news).collect();
        for message in news.into_iter().rev() {
            self.take(Arc::new(message)).await;
        }
        Ok(())
    }

    async fn take(&mut self, message: Arc<Message>) {
        // A smaller key is a newer message.
        if message.row_key >= self.last {
            return;
        }
        let chosen = self.bot.choose(&self.room, &message);
        let is_handled = chosen.is_some();
        if let Some((handler, call)) = chosen {
            // A panic of one handler is its own: the bot goes on.
            match AssertUnwindSafe(async move { handler(call).await }).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(room.id = %self.room.id(), ?error, "a handler failed"),
                Err(_) => tracing::error!(room.id = %self.room.id(), "a handler panicked"),
            }
        }
        self.last = message.row_key;
        self.progress.set(self.room.id(), message.row_key);
        if is_handled {
            self.progress.flush().await;
        }
    }
}

/// Whether asking again would be answered alike.
fn is_final(error: &RequestError) -> bool {
    match error.kind() {
        RequestErrorKind::DeadlinePassed => false,
        RequestErrorKind::Rejected(code) => !code.is_retryable(),
        _ => true,
    }
}
