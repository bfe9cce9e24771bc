//! What is relational: accounts, sessions, rooms, memberships, invites and folders, one file per noun.

pub(crate) mod account_changes;
pub(crate) mod accounts;
pub(crate) mod blocks;
pub(crate) mod categories;
pub(crate) mod departures;
pub(crate) mod direct_messages;
pub(crate) mod emoji;
pub(crate) mod files;
pub(crate) mod filters;
pub(crate) mod friends;
pub(crate) mod invites;
pub(crate) mod jobs;
pub(crate) mod marks;
pub(crate) mod members;
pub(crate) mod moderation;
pub(crate) mod nonces;
pub(crate) mod notifications;
pub(crate) mod push;
pub(crate) mod reactions;
pub(crate) mod room_changes;
pub(crate) mod rooms;
pub(crate) mod sessions;
pub(crate) mod statuses;
pub(crate) mod threads;
pub(crate) mod webhooks;
