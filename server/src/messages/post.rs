//! The one way in which messages come to be: permit, append, tell.
//!
//! | step | when it fails |
//! | --- | --- |
//! | permit: membership, gate, body | refused, nothing stored; a repeat of a stored nonce still answers the first result |
//! | append: nonce, slowmode, reply target, mentions, follows, commit | refused, or outcome unknown |
//! | publish | done by the store with the commit; whoever misses it reads the store |
//! | tell the sender of the moved marker, and those who were mentioned | best effort |
//!
//! What a message's origin skips is a property of [`Origin`]. The lines that the server writes about a change of a
//! room are appended by the store together with that change.

use std::sync::Arc;

use parlour_protocol::{
    ConnectionId, DurableEvent, MessageType, Nonce, OptionId, ProtocolError, RoomId, RowKey, Timestamp, UserEvent,
    UserId,
    event::MembershipUpdated,
    object::{File, LinkPreview, Message, MessageAppUser, Poll, PollOption},
    operation::{AttachedFile, Format, PollInput},
};

use super::{
    body::{Body, Broadcasts},
    gate::{self, Refusal},
    mentions,
};
use crate::{
    app::AppState,
    bus::BusEvent,
    clock,
    error::append_error,
    files::attach,
    filter::{Shown, automod::Rejected},
    rooms::state::Access,
    store::{Append, AppendError, JobClaim, Mention, NewMessage, Origin, PendingAppend, RoomChange},
};

/// A message to be posted.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) room_id: RoomId,
    pub(crate) origin: Origin,
    pub(crate) author: Author,
    pub(crate) content: Content,
    /// Files of the message that is forwarded: copied for the target.
    pub(crate) files: Vec<File>,
    /// Uploads of the author.
    pub(crate) uploads: Vec<AttachedFile>,
    pub(crate) link_preview: Option<LinkPreview>,
    pub(crate) reply_row_key: Option<RowKey>,
    /// The stored form of the note that follows a copy: both pass the word filter together.
    pub(crate) note: Option<String>,
    pub(crate) nonce: Option<Nonce>,
    /// The job that it is posted for.
    pub(crate) job: Option<JobClaim>,
    /// The socket that caused it.
    pub(crate) cause: Option<ConnectionId>,
    /// The store's generation when the command was received.
    pub(crate) generation: u64,
}

/// Who writes.
#[derive(Debug)]
pub(crate) enum Author {
    Member(UserId),
    /// What a webhook's call shows as its sender.
    App(MessageAppUser),
}

/// What is written.
#[derive(Debug)]
pub(crate) enum Content {
    Body {
        source: String,
        format: Format,
    },
    /// The stored body of another message.
    Copy(String),
    Poll(PollInput),
}

impl Draft {
    pub(crate) fn new(room_id: RoomId, origin: Origin, author: Author, content: Content) -> Self {
        Self {
            room_id,
            origin,
            author,
            content,
            files: Vec::new(),
            uploads: Vec::new(),
            link_preview: None,
            reply_row_key: None,
            note: None,
            nonce: None,
            job: None,
            cause: None,
            generation: u64::MAX,
        }
    }
}

/// A message that has its place in the room's order.
#[derive(Debug)]
pub(crate) enum Placed {
    /// Waits for its commit.
    Pending { member: Option<Access>, mentions: Vec<Mention>, append: PendingAppend },
    /// Was stored before.
    Repeat(Box<Message>),
}

/// Posts a message and waits for its commit.
///
/// # Errors
/// Those of the gate, `not_found` for the message answered, `bad_request`, `unavailable`.
pub(crate) async fn post(state: &AppState, draft: Draft) -> Result<Message, ProtocolError> {
    place(state, draft).await?.outcome(state).await
}

/// Gives a message its place in the room's order.
///
/// # Errors
/// As [`post`], but for what the commit decides.
pub(crate) async fn place(state: &AppState, draft: Draft) -> Result<Placed, ProtocolError> {
    let (room_id, origin, cause, generation) = (draft.room_id, draft.origin, draft.cause, draft.generation);
    let job = draft.job;
    // What a repeat is found by, when the draft is refused today.
    let nonce = draft.nonce.clone();
    let repeat = match (&draft.author, &nonce) {
        (Author::Member(user_id), Some(nonce)) => Some((*user_id, nonce)),
        _ => None,
    };
    match permit(state, draft).await {
        Ok((member, message)) => {
            let now = clock::now_nanos();
            let mentions = message.mentions.clone();
            let append = Append { room_id, now, cause, generation, change: RoomChange::Send(Box::new(message)) };
            Ok(Placed::Pending { member, mentions, append: state.store.append(append).await })
        }
        Err(refusal) => {
            if let Some((user_id, nonce)) = repeat {
                let found = state.store.find_nonce(room_id, user_id, origin, nonce).await.map_err(append_error)?;
                if let Some(message) = found {
                    return Ok(Placed::Repeat(Box::new(message)));
                }
            }
            let rejected = Rejected::Message { origin, nonce: nonce.as_ref(), job };
            Err(Box::pin(refusal.settle(state, cause, rejected)).await)
        }
    }
}

impl Placed {
    /// Waits for the commit.
    ///
    /// # Errors
    /// What the commit decided against, or `unavailable`.
    pub(crate) async fn outcome(self, state: &AppState) -> Result<Message, ProtocolError> {
        let (member, mentions, append) = match self {
            Self::Pending { member, mentions, append } => (member, mentions, append),
            Self::Repeat(message) => return Ok(*message),
        };
        let appended = append.await.map_err(append_error)?;
        let message = appended.message.ok_or_else(|| append_error(AppendError::NoAccess))?;
        let is_new = appended.entries.iter().any(|entry| matches!(*entry.event, DurableEvent::MessageCreated(_)));
        if let Some(access) = member.filter(|_| is_new) {
            tell_marker(state, &access, message.created_at);
        }
        if is_new {
            mentions::tell(state, &message, mentions);
            state.previews.consider(&message);
        }
        Ok(Arc::unwrap_or_clone(message))
    }
}

/// A member's access. What few sends have to wait for is boxed, here and below: the others do not carry its room.
async fn access_of(state: &AppState, room_id: RoomId, user_id: UserId) -> Result<Access, ProtocolError> {
    match state.rooms.known_access(room_id, user_id) {
        Some(access) => Ok(access),
        None => Box::pin(state.rooms.access(room_id, user_id)).await,
    }
}

/// What is decided on cached room state: membership, gate and body.
async fn permit(state: &AppState, draft: Draft) -> Result<(Option<Access>, NewMessage), Refusal> {
    let Draft {
        room_id,
        origin,
        author,
        content,
        mut files,
        uploads,
        link_preview,
        reply_row_key,
        note,
        nonce,
        job,
        ..
    } = draft;
    let (member, user_id, app_user) = match author {
        Author::Member(user_id) => (Some(access_of(state, room_id, user_id).await?), Some(user_id), None),
        Author::App(app_user) => (None, None, Some(app_user)),
    };
    if let Some(access) = member.as_ref().filter(|_| origin.is_gated()) {
        gate::check_send(access, Timestamp::now())?;
    }
    let message_type = match (&app_user, &content) {
        (Some(_), _) => MessageType::Webhook,
        (None, Content::Body { .. } | Content::Copy(_)) => MessageType::Message,
        (None, Content::Poll(_)) => MessageType::Poll,
    };
    let broadcasts = member.as_ref().map_or(Broadcasts::Allowed, gate::broadcasts_of);
    let (body, poll) = match content {
        Content::Body { source, format } => (Body::render(&source, format, broadcasts)?, None),
        Content::Copy(html) => (Body::copy(html, broadcasts), None),
        Content::Poll(poll) => (Body::default(), Some(new_poll(poll))),
    };
    if poll.is_none() && files.is_empty() && uploads.is_empty() && body.is_blank() {
        return Err(ProtocolError::bad_field("/message", "nothing is left to show").into());
    }
    if let Some(access) = member.as_ref().filter(|_| origin.is_gated()) {
        let asked = poll.iter().flat_map(|poll| {
            let labels = poll.options.iter().map(|option| Shown::Plain(&option.label));
            std::iter::once(Shown::Plain(&poll.question)).chain(labels)
        });
        let bodies = std::iter::once(&body.html).chain(&note).map(|html| Shown::Html(html));
        let texts: Vec<_> = bodies.chain(asked).collect();
        gate::check_words(access, &texts)?;
    }
    if let Some(access) = &member {
        if origin == Origin::Forward {
            files = Box::pin(attach::copies(state, access, &files)).await?;
        }
        if !uploads.is_empty() {
            files.extend(Box::pin(attach::uploads(state, access, &uploads)).await?);
        }
    }
    let message = NewMessage {
        message_type,
        user_id,
        app_user,
        origin,
        nonce,
        body: body.html,
        files,
        mentions: body.mentions,
        reply_row_key,
        link_preview,
        poll,
        is_forward: origin == Origin::Forward,
        slowmode_ms: member.as_ref().filter(|_| origin.is_slowed()).and_then(gate::slowmode_of),
        job,
    };
    Ok((member, message))
}

/// A poll that nobody has voted in.
fn new_poll(poll: PollInput) -> Poll {
    let options = poll.options.into_vec().into_iter().map(|option| PollOption {
        id: option.id.unwrap_or_else(OptionId::new),
        label: option.label.as_str().to_owned(),
        count: 0,
    });
    Poll { question: poll.question.as_str().to_owned(), options: options.collect(), votes: Default::default() }
}

/// An accepted send moved the sender's marker; their devices hear of it at most once a second.
fn tell_marker(state: &AppState, access: &Access, now: Timestamp) {
    if !access.member.tell_marker(now) {
        return;
    }
    let mut membership = access.member.membership.clone();
    let user_id = membership.user_id;
    membership.last_read_at = Some(now);
    membership.last_message_at = Some(now);
    let event = UserEvent::MembershipUpdated(Box::new(MembershipUpdated { membership }));
    state.bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
}
