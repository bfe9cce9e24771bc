//! Two nodes on one Postgres and one NATS, as users see them: links that break, services that restart, nodes that die.
//!
//! They need `scripts/with-postgres.sh scripts/with-nats.sh`, and are skipped without.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../acceptance/harness.rs"]
#[expect(dead_code, reason = "shared with the acceptance tests")]
mod harness;

mod access;
mod delivery;
mod faults;
mod nodes;
mod proxy;
