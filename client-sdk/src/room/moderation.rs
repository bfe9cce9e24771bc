//! Moderation, the audit log, notes and the word filter.

use std::time::Duration;

use parlour_protocol::{
    Int, Name, Set, Text, UserId,
    object::{Ban, Filter, FilterAction, ModerationAction, ModerationLogEntry, Note},
    operation::{
        FilterGet, FilterSet, FilterWordInput, ModerationBans, ModerationExecute, ModerationLog, ModerationUnban,
        NoteCreate, NoteList,
    },
};

use super::Room;
use crate::error::RequestError;

impl Room {
    /// Acts on a member: kick, ban, warn. A timeout has a length: see [`Room::time_out`].
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn moderate(
        &self,
        user_id: UserId,
        action: ModerationAction,
        reason: &str,
    ) -> Result<ModerationLogEntry, RequestError> {
        self.execute(user_id, action, None, reason).await
    }

    /// Lets a member write again only after a while.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn time_out(
        &self,
        user_id: UserId,
        length: Duration,
        reason: &str,
    ) -> Result<ModerationLogEntry, RequestError> {
        self.execute(user_id, ModerationAction::TimeoutUser, Some(length), reason).await
    }

    async fn execute(
        &self,
        user_id: UserId,
        action: ModerationAction,
        length: Option<Duration>,
        reason: &str,
    ) -> Result<ModerationLogEntry, RequestError> {
        let execute = ModerationExecute {
            room_id: self.room_id,
            user_id,
            r#type: action,
            reason: if reason.is_empty() { None } else { Some(Text::new(reason)?) },
            duration_ms: length.map(millis).map(Int::new).transpose()?,
            nonce: None,
        };
        self.client.request(execute).await.map(|reply| reply.entry)
    }

    /// Lets a banned user come back.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn unban(&self, user_id: UserId) -> Result<(), RequestError> {
        self.client.request(ModerationUnban { room_id: self.room_id, user_id }).await.map(drop)
    }

    /// Who is banned, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn bans(&self) -> Result<Vec<Ban>, RequestError> {
        let room_id = self.room_id;
        self.client.pages(|cursor, limit| ModerationBans { room_id, query: None, cursor, limit }).await
    }

    /// The newest entries of the audit log.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn moderation_log(&self, limit: usize) -> Result<Vec<ModerationLogEntry>, RequestError> {
        let log = ModerationLog {
            room_id: self.room_id,
            actor_user_id: None,
            target_user_id: None,
            r#type: None,
            cursor: None,
            limit: Some(super::page_limit(limit)?),
        };
        self.client.request(log).await.map(|page| page.items)
    }

    /// Notes something about a member, for other moderators.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn note(&self, user_id: UserId, note: &str) -> Result<Note, RequestError> {
        let create = NoteCreate { room_id: self.room_id, user_id, note: Name::new(note)?, nonce: None };
        self.client.request(create).await.map(|reply| reply.note)
    }

    /// The notes about a member, newest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn notes(&self, user_id: UserId) -> Result<Vec<Note>, RequestError> {
        let room_id = self.room_id;
        self.client.pages(|cursor, limit| NoteList { room_id, user_id, cursor, limit }).await
    }

    /// The word filter; none when none was set.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn filter(&self) -> Result<Option<Filter>, RequestError> {
        let reply = self.client.request(FilterGet { room_id: self.room_id }).await?;
        Ok(reply.0.map(|reply| reply.filter))
    }

    /// Refuses messages with one of these words in them.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_filter<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<Filter, RequestError> {
        let word = |word| Ok(FilterWordInput { word: Name::new(word)?, match_whole_word: None });
        let words = words.into_iter().map(word).collect::<Result<Vec<_>, RequestError>>()?;
        let (action, timeout_duration_ms) = (Some(FilterAction::Reject), None);
        let set = FilterSet { room_id: self.room_id, words: Set::new(words)?, action, timeout_duration_ms };
        self.client.request(set).await.map(|reply| reply.filter)
    }
}

fn millis(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
