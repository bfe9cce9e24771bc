//! The Parlour client.
#![warn(missing_docs)]

mod backoff;
mod feed;
mod outbox;
mod pace;
pub mod timeline;

#[cfg(any(test, feature = "test-util"))]
pub mod test_util;
