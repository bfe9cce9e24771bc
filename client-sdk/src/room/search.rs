//! Searching messages.

use parlour_protocol::{
    Int, List, Text,
    operation::{MessageSearch, MessageSearchReply, Offset, SearchFilter, SearchFilterType},
};

use super::{Room, page_limit};
use crate::{client::Client, error::RequestError};

/// What to search for: words, filters, or both. Filters of one type widen, of different types narrow.
#[derive(Debug, Clone, Default)]
pub struct Search {
    query: String,
    filters: Vec<(SearchFilterType, String)>,
    offset: usize,
}

impl Search {
    /// Messages with these words.
    pub fn text(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }

    /// Only those that a filter lets through.
    #[must_use]
    pub fn filter(mut self, filter: SearchFilterType, value: impl Into<String>) -> Self {
        self.filters.push((filter, value.into()));
        self
    }

    /// Without so many of the first.
    #[must_use]
    pub fn skip(mut self, messages: usize) -> Self {
        self.offset = messages;
        self
    }
}

impl Room {
    /// Searches the room's messages, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn search(&self, search: Search, limit: usize) -> Result<MessageSearchReply, RequestError> {
        let filter = |(r#type, value): (_, String)| Ok(SearchFilter { r#type, value: Text::new(value)? });
        let filters = search.filters.into_iter().map(filter).collect::<Result<Vec<_>, RequestError>>()?;
        let search = MessageSearch {
            room_id: self.room_id,
            query: if search.query.is_empty() { None } else { Some(Text::new(search.query)?) },
            filters: if filters.is_empty() { None } else { Some(List::new(filters)?) },
            order: None,
            time_zone: None,
            offset: offset(search.offset)?,
            limit: Some(page_limit(limit)?),
        };
        self.client.request(search).await
    }
}

impl Client {
    /// One's own messages, newest first, with their rooms.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn sent(
        &self,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<parlour_protocol::operation::SentMessage>, RequestError> {
        let sent = parlour_protocol::operation::MessageSent { offset: offset(skip)?, limit: Some(page_limit(limit)?) };
        self.request(sent).await.map(|page| page.items)
    }
}

fn offset(skip: usize) -> Result<Option<Offset>, RequestError> {
    Ok(if skip == 0 { None } else { Some(Int::new(i64::try_from(skip).unwrap_or(i64::MAX))?) })
}
