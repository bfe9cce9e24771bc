//! A room's handle: what a program does in a room.

mod emoji;
mod files;
mod moderation;
mod pins;
mod polls;
mod requests;
mod roles;
mod schedule;
mod search;
mod settings;
mod threads;
mod webhooks;

use std::{sync::Arc, time::Duration};

use parlour_protocol::{
    RoomId, RowKey, Text, UserId,
    object::{Invite, Member, Message, Role, RoomView},
    operation::{
        InviteCreate, Limit, MembershipUpdate, MessageDelete, MessageGet, MessageGetReply, Position, ReactionAdd,
        ReactionRemove, ReactionReply, RevReply, RoleList, RoomGet, RoomLeave, RoomMembers, TypingStart,
    },
};

pub(crate) use self::requests::page_limit;
pub use self::{
    requests::{Edit, History, Send, Subscribe},
    roles::RoleChange,
    schedule::{Reschedule, Schedule},
    search::Search,
    settings::RoomChange,
};
use crate::{
    client::Client,
    command::{Command, PendingCommand},
    error::{RequestError, RequestErrorKind},
    event::RoomEvents,
};

/// What a client knows of a room at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// Own sends that are not among the messages yet, oldest first: they stand below them.
    pub pending: Vec<PendingCommand>,
    /// Whether there may be older messages on the server.
    pub has_older: bool,
    /// Whether nothing is known to be missing.
    pub is_live: bool,
    /// Where the room's log has been read to.
    pub position: Option<Position>,
}

impl Snapshot {
    /// The newest message that somebody wrote here.
    pub fn latest_of(&self, user_id: UserId) -> Option<&Arc<Message>> {
        self.messages.iter().rev().find(|message| message.user_id == Some(user_id) && message.r#type.is_markup())
    }

    /// The newest message that is not of this account.
    pub fn latest_but_of(&self, user_id: UserId) -> Option<&Arc<Message>> {
        self.messages.iter().rev().find(|message| message.user_id != Some(user_id) && message.r#type.is_markup())
    }
}

/// A room of a [`Client`].
#[derive(Debug, Clone)]
pub struct Room {
    client: Client,
    room_id: RoomId,
}

impl Room {
    pub(crate) fn new(client: Client, room_id: RoomId) -> Self {
        Self { client, room_id }
    }

    /// Which room it is.
    pub fn id(&self) -> RoomId {
        self.room_id
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Subscribes the room, for as long as the client lives: over reconnects too.
    pub fn subscribe(&self) -> Subscribe {
        Subscribe::new(self.clone())
    }

    /// Ends the subscription and forgets what was known of the room.
    ///
    /// # Errors
    /// When the client is closed.
    pub async fn unsubscribe(&self) -> Result<(), RequestError> {
        let room_id = self.room_id;
        self.client.ask(|answer| Command::Unsubscribe { room_id, answer }).await
    }

    /// Compares the room with the server now, instead of at the next ping. Nothing that is shown changes
    /// unless something was missing.
    ///
    /// # Errors
    /// When the room is not subscribed, or the client is closed.
    pub async fn catch_up(&self) -> Result<(), RequestError> {
        let room_id = self.room_id;
        self.client.ask(|answer| Command::Resubscribe { room_id, answer }).await
    }

    /// The room's events from now on.
    pub fn events(&self) -> RoomEvents {
        RoomEvents::new(self.room_id, self.client.events())
    }

    /// What is known of the room now.
    ///
    /// # Errors
    /// When the room is not subscribed, or the client is closed.
    pub async fn timeline(&self) -> Result<Snapshot, RequestError> {
        let room_id = self.room_id;
        self.client.ask(|answer| Command::Snapshot { room_id, answer }).await
    }

    /// A message of the timeline.
    ///
    /// # Errors
    /// When the room is not subscribed, or the client is closed.
    pub async fn message(&self, row_key: RowKey) -> Result<Option<Arc<Message>>, RequestError> {
        let room_id = self.room_id;
        self.client.ask(|answer| Command::Message { room_id, row_key, answer }).await
    }

    /// Reads older messages into the timeline; answers how many came.
    ///
    /// # Errors
    /// When the room is not subscribed, or as any request.
    pub async fn load_older(&self, limit: usize) -> Result<usize, RequestError> {
        let room_id = self.room_id;
        self.client.ask(|answer| Command::LoadOlder { room_id, limit, answer }).await
    }

    /// Sends a message.
    pub fn send(&self, text: impl Into<String>) -> Send {
        Send::new(self.clone(), text.into())
    }

    /// Edits a message.
    pub fn edit(&self, row_key: RowKey, text: impl Into<String>) -> Edit {
        Edit::new(self.clone(), row_key, text.into())
    }

    /// Deletes a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn delete(&self, row_key: RowKey) -> Result<RevReply, RequestError> {
        self.client.request(MessageDelete { room_id: self.room_id, row_key }).await
    }

    /// Adds a reaction.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn react(&self, row_key: RowKey, emoji: &str) -> Result<ReactionReply, RequestError> {
        self.client.request(ReactionAdd { room_id: self.room_id, row_key, emoji: Text::new(emoji)? }).await
    }

    /// Takes a reaction back.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn unreact(&self, row_key: RowKey, emoji: &str) -> Result<ReactionReply, RequestError> {
        self.client.request(ReactionRemove { room_id: self.room_id, row_key, emoji: Text::new(emoji)? }).await
    }

    /// Tells the others that one types; at most once a second.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn typing(&self) -> Result<(), RequestError> {
        self.client.request(TypingStart { room_id: self.room_id }).deadline(Duration::from_secs(3)).await.map(drop)
    }

    /// Pages of the room's history, apart from the timeline.
    pub fn history(&self) -> History {
        History::new(self.clone())
    }

    /// Messages by key; what is neither in `items` nor in `rest` is deleted.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn get_messages(&self, row_keys: Vec<RowKey>) -> Result<MessageGetReply, RequestError> {
        let row_keys = parlour_protocol::Set::new(row_keys)?;
        self.client.request(MessageGet { room_id: self.room_id, row_keys }).await
    }

    /// The room as its server has it now.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn view(&self) -> Result<RoomView, RequestError> {
        let view = self.client.request(RoomGet { room_id: Some(self.room_id) }).await?;
        view.0.ok_or_else(|| RequestError::new(RequestErrorKind::Malformed))
    }

    /// All members, by the time of their joining.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn members(&self) -> Result<Vec<Member>, RequestError> {
        let mut members = Vec::new();
        let mut cursor = None;
        loop {
            let limit = Some(Limit::new(1000)?);
            let list = RoomMembers { room_id: self.room_id, query: None, user_ids: None, cursor, limit };
            let page = self.client.request(list).await?;
            members.extend(page.items);
            if !page.has_more {
                return Ok(members);
            }
            cursor = Some(Text::new(page.next_cursor)?);
        }
    }

    /// The room's roles, highest first.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn roles(&self) -> Result<Vec<Role>, RequestError> {
        let room_ids = parlour_protocol::Set::new(vec![self.room_id])?;
        self.client.request(RoleList { room_ids }).await.map(|roles| roles.items)
    }

    /// Makes an invite that lives a week and takes any number of people; it replaces one's earlier one.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn create_invite(&self) -> Result<Invite, RequestError> {
        let create = InviteCreate { room_id: self.room_id, expires_in_ms: None, max_uses: None, nonce: None };
        self.client.request(create).await.map(|reply| reply.invite)
    }

    /// Leaves the room.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn leave(&self) -> Result<(), RequestError> {
        self.client.request(RoomLeave { room_id: self.room_id }).await.map(drop)
    }

    /// Moves the read marker to now.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn mark_read(&self) -> Result<(), RequestError> {
        let update = MembershipUpdate {
            room_id: self.room_id,
            user_id: None,
            nickname: parlour_protocol::Patch::Keep,
            notification_type: None,
            // The future counts as now, whatever this machine's clock says.
            last_read_at: Some(parlour_protocol::Timestamp::from_millis(LATEST_TIME)),
            category_id: parlour_protocol::Patch::Keep,
        };
        self.client.request(update).await.map(drop)
    }
}

/// The last millisecond of the year 9999.
const LATEST_TIME: i64 = 253_402_300_799_999;
