//! Moderators' actions, bans, the log of both, and notes. The word filter's are in `filter`.

pub(crate) mod actions;
pub(crate) mod notes;
pub(crate) mod records;
