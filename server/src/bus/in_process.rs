//! The bus of a single node.

use tokio::sync::broadcast;

use super::{Bus, BusEvent};

/// Events that a listener may lag behind before it has to repair from the store.
const CAPACITY: usize = 65_536;

/// A bus inside of one process.
#[derive(Debug)]
pub(crate) struct InProcessBus {
    sender: broadcast::Sender<BusEvent>,
}

impl InProcessBus {
    /// A bus without listeners.
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(CAPACITY) }
    }
}

impl Default for InProcessBus {
    fn default() -> Self {
        Self::new()
    }
}

impl Bus for InProcessBus {
    fn publish(&self, event: BusEvent) {
        // An error says that nobody listens, which is no fault.
        drop(self.sender.send(event));
    }

    fn listen(&self) -> broadcast::Receiver<BusEvent> {
        self.sender.subscribe()
    }
}
