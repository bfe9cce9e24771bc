//! Changes of a message that is there: its body and parts, its pin, reactions, votes, its end.
//!
//! A room's changes are decided one after the other, each on what the one before left: two that meet never undo each
//! other, and none is refused for having lost a race.

use std::sync::Arc;

use parlour_protocol::{
    DurableEvent, FileId, MessageType, OptionId, Patch, RoomId, RowKey, Timestamp, UserId,
    event::{MessageDeleted, MessagePurged, MessageUpdated, PollVoted, ReactionChanged},
    limits::{EMOJI_PER_MESSAGE, REACTION_USER_IDS},
    object::{LinkPreview, Message, MessageChange, MessageDelta, PollTally, Reaction},
};

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    files,
    group::{Group, Stop, Writes, millis},
    read::shows_votes,
    row::{list_to_json, to_json, unsigned},
    statement::Rows,
};
use crate::store::{
    Append, AppendError, Appended, Mention, Purge, RoomChange, StoreError,
    db::{DbError, Tx, list},
};

/// A message in its new state, to be written.
pub(super) enum Change {
    /// Body, files, preview, pin.
    Amended(Arc<Message>),
    Reacted(Arc<Message>),
    Voted(Arc<Message>),
    Deleted {
        key: (RoomId, RowKey),
        rev: u32,
        at: Timestamp,
    },
}

/// A row of `mention`.
pub(super) struct MentionRow {
    pub(super) room_id: RoomId,
    pub(super) kind: i64,
    pub(super) target: Uuid,
    pub(super) row_key: RowKey,
    pub(super) author: Option<UserId>,
}

pub(super) static MENTIONS: Rows = Rows {
    names: "room_id, kind, target, tick, author",
    statement: "insert into mention (room_id, kind, target, tick, author) \
         select v.room_id, v.kind, v.target, v.tick, v.author from v where v.room_id is not null",
    for_one: None,
};

pub(super) static OWN_FOLLOWS: Rows = Rows {
    names: "room_id, user_id, tick, at",
    statement: "insert into thread_follow (room_id, user_id, tick, is_unfollowed, followed_at) \
         select v.room_id, v.user_id, v.tick, false, v.at from v where v.room_id is not null \
         on conflict (room_id, user_id, tick) do update set is_unfollowed = false, \
         followed_at = case when thread_follow.is_unfollowed then excluded.followed_at \
         else thread_follow.followed_at end",
    for_one: None,
};

pub(super) static AUTHOR_FOLLOWS: Rows = Rows {
    names: "room_id, user_id, tick, at",
    statement: "insert into thread_follow (room_id, user_id, tick, is_unfollowed, followed_at) \
         select v.room_id, v.user_id, v.tick, false, v.at from v where v.room_id is not null \
         on conflict (room_id, user_id, tick) do nothing",
    for_one: None,
};

impl MentionRow {
    /// The rows of a message.
    pub(super) fn all(message: &Message, mentions: &[Mention]) -> impl Iterator<Item = Self> {
        let (room_id, row_key, author) = (message.room_id, message.row_key, message.user_id);
        mentions.iter().map(move |mention| {
            let (kind, target) = match mention {
                Mention::User(user_id) => (0, user_id.uuid()),
                Mention::Role(role_id) => (1, role_id.uuid()),
                Mention::Everyone => (2, room_id.uuid()),
                Mention::Here => (3, room_id.uuid()),
            };
            Self { room_id, kind, target, row_key, author }
        })
    }
}

impl Writes {
    /// Who answers follows the thread, and so does the author of its root.
    pub(super) fn follow(&mut self, (room_id, replier): (RoomId, UserId), root: &Message, at: i64) {
        self.own_follows.insert((room_id, replier, root.row_key), at);
        let author = root.user_id.filter(|author| *author != replier && root.r#type.counts_as_unread());
        if let Some(author) = author {
            self.author_follows.insert((room_id, author, root.row_key), at);
        }
    }
}

impl Group<'_> {
    pub(super) async fn change_of_message(&mut self, append: &Append) -> Result<Appended, Stop> {
        self.check_room(append.room_id)?;
        match &append.change {
            RoomChange::Edit { row_key, body, mentions, if_rev } => {
                self.edit(append, *row_key, body, mentions, *if_rev).await
            }
            RoomChange::Delete { row_key } => self.delete(append, *row_key).await,
            RoomChange::Purge(purge) => self.purge(append, purge).await,
            RoomChange::AddReaction { row_key, user_id, emoji } => {
                self.add_reaction(append, *row_key, *user_id, emoji).await
            }
            RoomChange::RemoveReaction { row_key, user_id, emoji } => {
                self.remove_reaction(append, *row_key, *user_id, emoji).await
            }
            RoomChange::Vote { row_key, user_id, option_id } => self.vote(append, *row_key, *user_id, *option_id).await,
            RoomChange::Pin { row_key, by } => self.pin(append, *row_key, *by),
            RoomChange::Unpin { row_key } => self.amend(append, *row_key, |message| {
                Ok(message.is_pinned.then(|| MessageDelta { is_pinned: Some(false), ..MessageDelta::default() }))
            }),
            RoomChange::RemoveFile { row_key, file_id } => {
                let appended = self.remove_file(append, *row_key, *file_id)?;
                files::release(&mut self.tx, append.room_id, *file_id).await?;
                Ok(appended)
            }
            RoomChange::SetPreview { row_key, body_rev, preview } => {
                self.set_preview(append, *row_key, *body_rev, preview)
            }
            RoomChange::RemovePreview { row_key } => self.amend(append, *row_key, |message| {
                Ok(message.link_preview.is_some().then(|| MessageDelta {
                    link_preview: Patch::Clear,
                    is_edited: (!message.is_edited).then_some(true),
                    ..MessageDelta::default()
                }))
            }),
            _ => Err(StoreError::Internal("not a change of a message".into()).into()),
        }
    }

    /// The one way in which a part of a message is changed: `decide` sees the present state and says what is
    /// different after it, nothing when that is so already.
    fn amend(
        &mut self,
        append: &Append,
        row_key: RowKey,
        decide: impl FnOnce(&Message) -> Result<Option<MessageDelta>, AppendError>,
    ) -> Result<Appended, Stop> {
        let message = self.live(append.room_id, row_key)?;
        let Some(mut delta) = decide(message)? else { return Ok(unchanged(message)) };
        delta.updated_at = Some(millis(append.now).max(message.created_at));
        message.rev += 1;
        if delta.message.is_some() || delta.mentions.is_some() {
            delta.body_rev = Some(message.rev);
        }
        message.apply(delta.clone());
        let (message, rev) = (Arc::new(message.clone()), message.rev);
        self.writes.changes.push(Change::Amended(Arc::clone(&message)));
        let changes = MessageChange::Delta(Box::new(delta));
        let event = DurableEvent::MessageUpdated(Box::new(MessageUpdated { row_key, rev, changes }));
        let entry = self.log(append, event, Some(row_key))?;
        Ok(Appended { entries: vec![entry], rev, message: Some(message) })
    }

    /// The message as the changes before this one left it.
    fn live(&mut self, room_id: RoomId, row_key: RowKey) -> Result<&mut Message, AppendError> {
        let stored = self.facts.messages.get_mut(&(room_id, row_key)).filter(|stored| !stored.is_deleted);
        stored.map(|stored| &mut stored.message).ok_or(AppendError::NotFound("message"))
    }

    async fn edit(
        &mut self,
        append: &Append,
        row_key: RowKey,
        body: &str,
        mentions: &[Mention],
        if_rev: Option<u32>,
    ) -> Result<Appended, Stop> {
        let ids: Vec<String> = mentions.iter().map(ToString::to_string).collect();
        let mut old = Vec::new();
        let appended = self.amend(append, row_key, |message| {
            if if_rev.is_some_and(|rev| message.body_rev > rev) {
                return Err(AppendError::Conflict);
            }
            if message.message == body && message.mentions == ids {
                return Ok(None);
            }
            old.clone_from(&message.mentions);
            Ok(Some(MessageDelta {
                message: (message.message != body).then(|| body.to_owned()),
                mentions: (message.mentions != ids).then_some(ids),
                is_edited: (!message.is_edited).then_some(true),
                ..MessageDelta::default()
            }))
        })?;
        if let Some(message) = appended.message.as_ref().filter(|_| !appended.entries.is_empty()) {
            self.forget_mentions(append.room_id, row_key, &old).await?;
            self.writes.mentions.extend(MentionRow::all(message, mentions));
        }
        Ok(appended)
    }

    async fn delete(&mut self, append: &Append, row_key: RowKey) -> Result<Appended, Stop> {
        let rev = self.end_message(append, row_key).await?;
        let event = DurableEvent::MessageDeleted(Box::new(MessageDeleted { row_key, rev }));
        let entry = self.log(append, event, Some(row_key))?;
        Ok(Appended { entries: vec![entry], rev, message: None })
    }

    /// Ends those messages of a purge that are there still, in one entry.
    async fn purge(&mut self, append: &Append, purge: &Purge) -> Result<Appended, Stop> {
        let mut row_keys = Vec::with_capacity(purge.row_keys.len());
        for row_key in purge.row_keys.iter().copied() {
            if self.live(append.room_id, row_key).is_ok() {
                self.end_message(append, row_key).await?;
                row_keys.push(row_key);
            }
        }
        let mut entries = Vec::new();
        if !row_keys.is_empty() {
            let event = DurableEvent::MessagePurged(Box::new(MessagePurged { row_keys }));
            entries.push(self.log(append, event, None)?);
        }
        Ok(Appended { entries, rev: 0, message: None })
    }

    /// Ends a message and all that hangs on it; its last `rev`.
    async fn end_message(&mut self, append: &Append, row_key: RowKey) -> Result<u32, Stop> {
        let key = (append.room_id, row_key);
        let stored = self.facts.messages.get_mut(&key).filter(|stored| !stored.is_deleted);
        let stored = stored.ok_or(AppendError::NotFound("message"))?;
        stored.is_deleted = true;
        stored.message.rev += 1;
        let rev = stored.message.rev;
        let mentions = std::mem::take(&mut stored.message.mentions);
        let has_rows = !stored.message.reactions.is_empty() || stored.message.poll.is_some();
        let has_files = !stored.message.files.is_empty();
        self.forget_mentions(append.room_id, row_key, &mentions).await?;
        if has_files {
            files::release_all(&mut self.tx, append.room_id, row_key).await?;
        }
        if has_rows {
            for sql in [
                "delete from reaction where room_id = $1 and tick = $2",
                "delete from vote where room_id = $1 and tick = $2",
            ] {
                self.tx.query(sql).bind(append.room_id).bind(row_key).execute().await?;
            }
        }
        self.writes.changes.push(Change::Deleted { key, rev, at: millis(append.now) });
        Ok(rev)
    }

    /// Drops a message's rows of `mention`, those of its own batch included.
    async fn forget_mentions(&mut self, room_id: RoomId, row_key: RowKey, mentions: &[String]) -> Result<(), DbError> {
        self.writes.mentions.retain(|row| (row.room_id, row.row_key) != (room_id, row_key));
        let ids: Vec<Uuid> = mentions
            .iter()
            .map(|id| if id.starts_with('@') { room_id.uuid() } else { id.parse().unwrap_or_default() })
            .collect();
        if ids.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "delete from mention where room_id = $1 and kind in (0, 1, 2, 3) and target in {} and tick = $2",
            list(3, ids.len())
        );
        self.tx.query(AssertSqlSafe(sql)).bind(room_id).bind(row_key).bind_list(&ids).execute().await?;
        Ok(())
    }

    async fn add_reaction(
        &mut self,
        append: &Append,
        row_key: RowKey,
        user_id: UserId,
        emoji: &str,
    ) -> Result<Appended, Stop> {
        let room_id = append.room_id;
        let reactions = &self.live(room_id, row_key)?.reactions;
        if reactions.len() >= EMOJI_PER_MESSAGE && reactions.iter().all(|reaction| reaction.emoji != emoji) {
            return Err(AppendError::Unfit("the message has as many different emoji as it can have").into());
        }
        let seq = self.known.rooms.get(&room_id).map_or(0, |room| unsigned(room.seq) + 1);
        let added = self
            .tx
            .query(
                "insert into reaction (room_id, tick, emoji, user_id, seq, created_at) \
                 values ($1, $2, $3, $4, $5, $6) on conflict (room_id, tick, emoji, user_id) do nothing",
            )
            .bind(room_id)
            .bind(row_key)
            .bind(emoji)
            .bind(user_id)
            .bind(seq)
            .bind(millis(append.now))
            .execute()
            .await?;
        let message = self.live(room_id, row_key)?;
        if added == 0 {
            return Ok(unchanged(message));
        }
        let at = message.reactions.iter().position(|reaction| reaction.emoji == emoji).unwrap_or_else(|| {
            message.reactions.push(Reaction { emoji: emoji.to_owned(), count: 0, user_ids: Vec::new() });
            message.reactions.len() - 1
        });
        let reaction = &mut message.reactions[at];
        reaction.count += 1;
        if reaction.user_ids.len() < REACTION_USER_IDS {
            reaction.user_ids.push(user_id);
        }
        let reaction = reaction.clone();
        self.reacted(append, row_key, user_id, reaction, DurableEvent::ReactionAdded)
    }

    async fn remove_reaction(
        &mut self,
        append: &Append,
        row_key: RowKey,
        user_id: UserId,
        emoji: &str,
    ) -> Result<Appended, Stop> {
        let room_id = append.room_id;
        let message = self.live(room_id, row_key)?;
        let Some(at) = message.reactions.iter().position(|reaction| reaction.emoji == emoji) else {
            return Ok(unchanged(message));
        };
        let removed = self
            .tx
            .query("delete from reaction where room_id = $1 and tick = $2 and emoji = $3 and user_id = $4")
            .bind(room_id)
            .bind(row_key)
            .bind(emoji)
            .bind(user_id)
            .execute()
            .await?;
        let message = self.live(room_id, row_key)?;
        if removed == 0 {
            return Ok(unchanged(message));
        }
        let reaction = &mut message.reactions[at];
        reaction.count = reaction.count.saturating_sub(1);
        let shown = reaction.user_ids.len();
        reaction.user_ids.retain(|id| *id != user_id);
        let mut reaction = reaction.clone();
        if reaction.user_ids.len() < shown && usize::try_from(reaction.count).is_ok_and(|count| count >= shown) {
            // Somebody moves up.
            let rows: Vec<(Uuid,)> = self
                .tx
                .query(
                    "select user_id from reaction where room_id = $1 and tick = $2 and emoji = $3 order by seq limit $4",
                )
                .bind(room_id)
                .bind(row_key)
                .bind(emoji)
                .bind(REACTION_USER_IDS as u64)
                .all()
                .await?;
            reaction.user_ids = rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)).collect();
        }
        let reactions = &mut self.live(room_id, row_key)?.reactions;
        if reaction.count == 0 {
            reactions.remove(at);
        } else {
            reactions[at] = reaction.clone();
        }
        self.reacted(append, row_key, user_id, reaction, DurableEvent::ReactionRemoved)
    }

    fn reacted(
        &mut self,
        append: &Append,
        row_key: RowKey,
        user_id: UserId,
        reaction: Reaction,
        event: fn(Box<ReactionChanged>) -> DurableEvent,
    ) -> Result<Appended, Stop> {
        let message = self.live(append.room_id, row_key)?;
        message.rev += 1;
        let (message, rev) = (Arc::new(message.clone()), message.rev);
        self.writes.changes.push(Change::Reacted(Arc::clone(&message)));
        let Reaction { emoji, count, user_ids } = reaction;
        let event = event(Box::new(ReactionChanged { row_key, rev, emoji, user_id, count, user_ids }));
        let entry = self.log(append, event, Some(row_key))?;
        Ok(Appended { entries: vec![entry], rev, message: Some(message) })
    }

    async fn vote(
        &mut self,
        append: &Append,
        row_key: RowKey,
        user_id: UserId,
        option_id: Option<OptionId>,
    ) -> Result<Appended, Stop> {
        let room_id = append.room_id;
        let message = self.live(room_id, row_key)?;
        let poll = message.poll.as_ref().ok_or(AppendError::Unfit("the message has no poll"))?;
        if option_id.is_some_and(|id| poll.options.iter().all(|option| option.id != id)) {
            return Err(AppendError::Unfit("the poll has no such option").into());
        }
        let sql = "select option_id from vote where room_id = $1 and tick = $2 and user_id = $3";
        let before: Option<(Uuid,)> = self.tx.query(sql).bind(room_id).bind(row_key).bind(user_id).optional().await?;
        let before = before.map(|(option_id,)| OptionId::from_uuid(option_id));
        if before == option_id {
            let mut appended = unchanged(self.live(room_id, row_key)?);
            appended.message = self.with_votes(appended.message).await?;
            return Ok(appended);
        }
        let sql = match option_id {
            None => "delete from vote where room_id = $1 and tick = $2 and user_id = $3",
            Some(_) => {
                "insert into vote (room_id, tick, user_id, option_id) values ($1, $2, $3, $4) \
                 on conflict (room_id, tick, user_id) do update set option_id = excluded.option_id"
            }
        };
        let query = self.tx.query(sql).bind(room_id).bind(row_key).bind(user_id);
        let query = match option_id {
            Some(option_id) => query.bind(option_id.uuid()),
            None => query,
        };
        query.execute().await?;
        let message = self.live(room_id, row_key)?;
        message.rev += 1;
        let rev = message.rev;
        let options = &mut message.poll.as_mut().ok_or(AppendError::Unfit("the message has no poll"))?.options;
        for option in options.iter_mut() {
            if before == Some(option.id) {
                option.count = option.count.saturating_sub(1);
            }
            if option_id == Some(option.id) {
                option.count += 1;
            }
        }
        let options = options.iter().map(|option| PollTally { id: option.id, count: option.count }).collect();
        let message = Arc::new(message.clone());
        self.writes.changes.push(Change::Voted(Arc::clone(&message)));
        let event = DurableEvent::PollVoted(Box::new(PollVoted { row_key, rev, user_id, option_id, options }));
        let entry = self.log(append, event, Some(row_key))?;
        Ok(Appended { entries: vec![entry], rev, message: self.with_votes(Some(message)).await? })
    }

    /// The same message with who voted, as long as that is shown.
    async fn with_votes(&mut self, message: Option<Arc<Message>>) -> Result<Option<Arc<Message>>, DbError> {
        let Some(mut message) = message.filter(|message| message.poll.is_some()) else { return Ok(None) };
        let (room_id, row_key) = (message.room_id, message.row_key);
        if let Some(poll) = Arc::make_mut(&mut message).poll.as_mut().filter(|poll| shows_votes(poll)) {
            let sql = "select user_id, option_id from vote where room_id = $1 and tick = $2";
            let rows: Vec<(Uuid, Uuid)> = self.tx.query(sql).bind(room_id).bind(row_key).all().await?;
            let vote = |(user_id, option_id)| (UserId::from_uuid(user_id), OptionId::from_uuid(option_id));
            poll.votes = rows.into_iter().map(vote).collect();
        }
        Ok(Some(message))
    }

    fn pin(&mut self, append: &Append, row_key: RowKey, by: UserId) -> Result<Appended, Stop> {
        let mut appended = self.amend(append, row_key, |message| {
            Ok((!message.is_pinned).then(|| MessageDelta { is_pinned: Some(true), ..MessageDelta::default() }))
        })?;
        if !appended.entries.is_empty() {
            let line = self.line_about(append, MessageType::PinMessage, by, String::new(), Some(row_key))?;
            appended.entries.push(line);
        }
        Ok(appended)
    }

    fn remove_file(&mut self, append: &Append, row_key: RowKey, file_id: FileId) -> Result<Appended, Stop> {
        self.amend(append, row_key, |message| {
            if message.is_forward || message.files.is_empty() {
                return Err(AppendError::Unfit("the message has no files of its own"));
            }
            let files: Vec<_> = message.files.iter().filter(|file| file.file_id != file_id).cloned().collect();
            if files.len() == message.files.len() {
                return Err(AppendError::NotFound("file"));
            }
            Ok(Some(MessageDelta {
                files: Some(files),
                is_edited: (!message.is_edited).then_some(true),
                ..MessageDelta::default()
            }))
        })
    }

    fn set_preview(
        &mut self,
        append: &Append,
        row_key: RowKey,
        body_rev: u32,
        preview: &LinkPreview,
    ) -> Result<Appended, Stop> {
        self.amend(append, row_key, |message| {
            let is_new = message.body_rev == body_rev && message.link_preview.as_ref() != Some(preview);
            Ok(is_new.then(|| MessageDelta { link_preview: Patch::Set(preview.clone()), ..MessageDelta::default() }))
        })
    }
}

/// A change that finds what it wants.
fn unchanged(message: &Message) -> Appended {
    Appended { entries: Vec::new(), rev: message.rev, message: Some(Arc::new(message.clone())) }
}

impl Change {
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<(), DbError> {
        match self {
            Self::Amended(message) => {
                tx.query(
                    "update message set rev = $3, body_rev = $4, body = $5, mentions = $6, files = $7, \
                     link_preview = $8, is_edited = $9, is_pinned = $10, updated_at = $11 \
                     where room_id = $1 and tick = $2",
                )
                .bind(message.room_id)
                .bind(message.row_key)
                .bind(message.rev)
                .bind(message.body_rev)
                .bind(&message.message)
                .bind(list_to_json(&message.mentions))
                .bind(list_to_json(&message.files))
                .bind(message.link_preview.as_ref().map(to_json))
                .bind(message.is_edited)
                .bind(message.is_pinned)
                .bind(message.updated_at)
                .execute()
                .await?;
            }
            Self::Reacted(message) => {
                tx.query("update message set rev = $3, reactions = $4 where room_id = $1 and tick = $2")
                    .bind(message.room_id)
                    .bind(message.row_key)
                    .bind(message.rev)
                    .bind(list_to_json(&message.reactions))
                    .execute()
                    .await?;
            }
            Self::Voted(message) => {
                tx.query("update message set rev = $3, poll = $4 where room_id = $1 and tick = $2")
                    .bind(message.room_id)
                    .bind(message.row_key)
                    .bind(message.rev)
                    .bind(message.poll.as_ref().map(to_json))
                    .execute()
                    .await?;
            }
            Self::Deleted { key: (room_id, row_key), rev, at } => {
                // The row stays, without content: its key and its nonce are never used again.
                tx.query(
                    "update message set rev = $3, deleted_at = $4, body = '', app_user = null, files = null, \
                     mentions = null, link_preview = null, poll = null, reactions = null, is_pinned = $5 \
                     where room_id = $1 and tick = $2",
                )
                .bind(*room_id)
                .bind(*row_key)
                .bind(*rev)
                .bind(*at)
                .bind(false)
                .execute()
                .await?;
            }
        }
        Ok(())
    }
}
