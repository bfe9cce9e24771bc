//! The bus of a single node.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::broadcast;

use super::{Bus, BusEvent};

/// Events that a listener may lag behind before it has to repair from the store.
const CAPACITY: usize = 65_536;

/// A bus inside of one process.
#[derive(Debug)]
pub(crate) struct InProcessBus {
    sender: broadcast::Sender<BusEvent>,
    sent: AtomicU64,
}

impl InProcessBus {
    /// A bus without listeners.
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(CAPACITY), sent: AtomicU64::new(0) }
    }
}

impl Default for InProcessBus {
    fn default() -> Self {
        Self::new()
    }
}

impl Bus for InProcessBus {
    fn publish(&self, event: BusEvent) {
        self.sent.fetch_add(1, Ordering::AcqRel);
        // An error says that nobody listens, which is no fault.
        drop(self.sender.send(event));
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    fn listen(&self) -> broadcast::Receiver<BusEvent> {
        self.sender.subscribe()
    }
}
