//! Moderators' actions, bans, the log of both, and notes. The word filter's are in `filter`.

pub(crate) mod actions;
pub(crate) mod notes;
pub(crate) mod records;

use parlour_protocol::{
    ProtocolError,
    object::Page,
    operation::{Cursor, Limit},
};

use crate::{cursor, directory::moderation::NewestFirst, messages::read::page_size};

/// Where a page begins and how much it holds.
struct PageOf {
    scope: String,
    after: Option<NewestFirst>,
    limit: usize,
}

impl PageOf {
    fn new(scope: String, cursor: Option<&Cursor>, limit: Option<Limit>) -> Result<Self, ProtocolError> {
        let after = cursor::decode(&scope, cursor.map(|cursor| cursor.as_str()))?;
        Ok(Self { scope, after, limit: page_size(limit) })
    }

    /// The page of items, of which one more than the limit was read.
    fn of<T>(self, mut items: Vec<T>, position: impl Fn(&T) -> NewestFirst) -> Page<T> {
        let has_more = items.len() > self.limit;
        items.truncate(self.limit);
        let last = items.last().filter(|_| has_more);
        let next_cursor = last.map(|last| cursor::encode(&self.scope, &position(last))).unwrap_or_default();
        Page { items, next_cursor, has_more }
    }
}
