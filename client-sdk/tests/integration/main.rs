//! The client against a scripted server that misbehaves. Time is paused: nothing here waits for real.
//!
//! - `reconnect`: lost, refused, frozen and closed connections, and what is resumed after them
//! - `outbox`: sends whose outcome is not known, order, restarts
//! - `rooms`: holes, gaps, lost access, history, echo
//! - `bot`: answers, once each, over reconnects and restarts
//! - `requests`: reads and changes, events, codecs

#![expect(clippy::unwrap_used, reason = "tests")]

mod bot;
mod harness;
mod outbox;
mod reconnect;
mod requests;
mod rooms;
