//! Acceptance: the real binary, spoken to in raw JSON as the protocol describes it, without the crates of
//! this workspace. A test's name says what a client can rely on; `bl_0NN_` keeps a public bug report of the
//! field from happening here, `s_0NN_` is a scenario of the acceptance list.
//!
//! | module | what is held to |
//! | --- | --- |
//! | `accounts` | register, log in, refresh, passwords, sessions, the cookie |
//! | `provider` | tokens of an identity provider |
//! | `connection` | hello, frames, close codes, both encodings, limits of connections and rates |
//! | `rooms` | rooms, their settings, leaving and deleting |
//! | `invites` | making, using and losing invites |
//! | `membership` | settings of a member, unread counts, categories, members |
//! | `messages` | send, nonce, edit, delete, bodies |
//! | `reading` | lists, cursors, around, get, threads |
//! | `files` | uploads, their addresses, attaching, discarding, deleting |
//! | `azure_files` | the same in a container of Azure's storage |
//! | `gate` | who may write when: read-only, slowmode |
//! | `reactions`, `polls`, `pins` | what is done with a message that is there |
//! | `threads`, `forwards` | replies, who follows, copies in other rooms |
//! | `mentions` | who is mentioned, unread and mention counts, the read marker |
//! | `subscribe` | verdicts, catch-up, folding, echo, falling behind, losing access |
//! | `friends` | requests, answers, the list, who is told |
//! | `blocks` | what a block ends and hides |
//! | `direct_messages` | one room for each set of people, hiding, adding, blocks |
//! | `presence` | statuses, who is told of them, deleted accounts |
//! | `endings` | 4413, 1001, expired tokens, sockets that say nothing |
//! | `roles` | rights, the hierarchy, what a lost right ends |
//! | `moderation` | kicks, timeouts, bans, warnings, the log, notes |
//! | `word_filter` | what it finds and what follows |
//! | `permission_matrix` | who may do what, in one table |
//! | `emoji` | custom emoji |
//! | `webhooks` | who manages them, what callers get |
//! | `search` | words, filters, rights, own messages |
//! | `previews` | what links show, and what is never fetched |
//! | `schedule` | scheduled messages and reminders: at their time, once, or not at all |
//! | `worked` | the worked exchanges of the protocol's annex |
//! | `durability` | a killed server comes back with everything it acknowledged |

#![expect(clippy::unwrap_used, reason = "tests")]

mod accounts;
mod azure_files;
mod blocks;
mod connection;
mod direct_messages;
mod durability;
mod emoji;
mod endings;
mod files;
mod forwards;
mod friends;
mod gate;
mod harness;
mod invites;
mod membership;
mod mentions;
mod messages;
mod moderation;
mod notifications;
mod permission_matrix;
mod pins;
mod polls;
mod presence;
mod previews;
mod provider;
mod reactions;
mod reading;
mod roles;
mod rooms;
mod schedule;
mod search;
#[cfg(feature = "service-bus")]
mod service_bus;
mod subscribe;
mod threads;
mod webhooks;
mod word_filter;
mod worked;
