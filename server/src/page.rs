//! One page of a list: where it begins, how much it holds, and what comes after it.

use std::{fmt::Display, str::FromStr};

use parlour_protocol::{
    ProtocolError,
    limits::PAGE_DEFAULT,
    object::Page,
    operation::{Cursor, Limit},
};

use crate::cursor;

/// A page that was asked for, of a list that is ordered by `P`.
#[derive(Debug)]
pub(crate) struct PageOf<P> {
    scope: String,
    /// The position that it comes after; none at the start of the list.
    pub(crate) after: Option<P>,
    limit: usize,
}

impl<P: Display + FromStr> PageOf<P> {
    /// A page of the list that `scope` (operation and arguments) names.
    ///
    /// # Errors
    /// `bad_request` when the cursor is not one of this list.
    pub(crate) fn new(scope: String, cursor: Option<&Cursor>, limit: Option<Limit>) -> Result<Self, ProtocolError> {
        let after = cursor::decode(&scope, cursor.map(|cursor| cursor.as_str()))?;
        Ok(Self { scope, after, limit: page_size(limit) })
    }

    /// How many items to read: one more than it holds tells whether more follow.
    pub(crate) fn to_read(&self) -> usize {
        self.limit + 1
    }

    /// The page of what was read.
    pub(crate) fn of<T>(&self, mut items: Vec<T>, position: impl Fn(&T) -> P) -> Page<T> {
        let has_more = items.len() > self.limit;
        items.truncate(self.limit);
        let last = items.last().filter(|_| has_more);
        let next_cursor = last.map(|last| cursor::encode(&self.scope, &position(last))).unwrap_or_default();
        Page { items, next_cursor, has_more }
    }
}

/// The size of a page.
pub(crate) fn page_size(limit: Option<Limit>) -> usize {
    limit.map_or(PAGE_DEFAULT, |limit| usize::try_from(limit.get()).unwrap_or(PAGE_DEFAULT))
}
