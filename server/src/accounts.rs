//! Accounts and log-ins.

pub(crate) mod caller;
