//! `message.forward`: every target is a send of its own.

use futures_util::{StreamExt, stream};
use parlour_protocol::{
    ErrorCode, Nonce, ProtocolError, RoomId, Timestamp,
    message_type::MessageOperation,
    object::Message,
    operation::{Format, ForwardReply, ForwardResult, MessageForward},
};

use super::{
    body::{Body, Broadcasts},
    find_for,
    post::{self, Author, Content, Draft},
};
use crate::{accounts::caller::Caller, app::AppState, error::append_error, store::Origin};

/// Targets that are sent to at the same time.
const AT_ONCE: usize = 8;

/// What is forwarded, by whom.
struct Forward<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    source: Message,
    note: Option<Note>,
    nonce: Option<Nonce>,
    generation: u64,
}

/// What follows the copy: as given, and its stored form.
struct Note {
    source: String,
    format: Format,
    html: String,
}

/// Copies a message to rooms, each with a note after it if there is one; each room has its own outcome.
///
/// # Errors
/// `not_found`, `bad_request`, `forbidden`, all for the source's sake; `rate_limited`.
pub(crate) async fn forward(
    state: &AppState,
    caller: &Caller,
    data: MessageForward,
) -> Result<ForwardReply, ProtocolError> {
    let generation = state.store.generation();
    let more = u32::try_from(data.room_ids.len()).unwrap_or(u32::MAX).saturating_sub(1);
    state.rates.charge_command("message.forward", caller.user_id, more, Timestamp::now())?;
    let format = data.format.unwrap_or(Format::Text);
    let mut note = None;
    if let Some(text) = &data.message {
        let body = Body::render(text, format, Broadcasts::Text)?;
        let source = text.as_str().to_owned();
        note = (!body.is_blank()).then_some(Note { source, format, html: body.html });
    }
    let source = match find_source(state, caller, &data).await {
        Ok(source) => source,
        Err(rejection) => return first_results(state, caller, &data, rejection).await,
    };
    let forward = Forward { state, caller, source, note, nonce: data.nonce, generation };
    let results = stream::iter(data.room_ids.into_vec()).map(|room_id| forward.to(room_id)).buffered(AT_ONCE);
    Ok(ForwardReply { results: results.collect().await })
}

async fn find_source(state: &AppState, caller: &Caller, data: &MessageForward) -> Result<Message, ProtocolError> {
    let access = state.rooms.reader(data.room_id, caller.user_id).await?;
    find_for(state, &access, data.row_key, MessageOperation::Forward).await
}

impl Forward<'_> {
    async fn to(&self, room_id: RoomId) -> ForwardResult {
        let copy = Draft {
            files: self.source.files.clone(),
            link_preview: self.source.link_preview.clone(),
            note: self.note.as_ref().map(|note| note.html.clone()),
            ..self.draft(room_id, Origin::Forward, Content::Copy(self.source.message.clone()))
        };
        let mut result = ForwardResult { room_id, message: None, note: None, error: None };
        match post::post(self.state, copy).await {
            Ok(message) => result.message = Some(message),
            Err(error) => return ForwardResult { error: Some(error), ..result },
        }
        if let Some(note) = &self.note {
            let content = Content::Body { source: note.source.clone(), format: note.format };
            match post::post(self.state, self.draft(room_id, Origin::ForwardNote, content)).await {
                Ok(note) => result.note = Some(note),
                Err(error) => result.error = Some(error),
            }
        }
        result
    }

    /// The nonce of the command is the nonce of both: rooms and origins keep them apart.
    fn draft(&self, room_id: RoomId, origin: Origin, content: Content) -> Draft {
        Draft {
            nonce: self.nonce.clone(),
            cause: self.caller.connection_id,
            generation: self.generation,
            ..Draft::new(room_id, origin, Author::Member(self.caller.user_id), content)
        }
    }
}

/// A repeat answers its first results although the source has gone since.
async fn first_results(
    state: &AppState,
    caller: &Caller,
    data: &MessageForward,
    rejection: ProtocolError,
) -> Result<ForwardReply, ProtocolError> {
    let Some(nonce) = &data.nonce else { return Err(rejection) };
    let mut results = Vec::with_capacity(data.room_ids.len());
    let mut is_repeat = false;
    for room_id in data.room_ids.iter().copied() {
        let find = |origin| state.store.find_nonce(room_id, caller.user_id, origin, nonce);
        let result = match find(Origin::Forward).await.map_err(append_error) {
            Ok(Some(message)) => {
                let note = find(Origin::ForwardNote).await.ok().flatten();
                ForwardResult { room_id, message: Some(message), note, error: None }
            }
            Ok(None) => ForwardResult { room_id, message: None, note: None, error: Some(rejection.clone()) },
            Err(error) => ForwardResult { room_id, message: None, note: None, error: Some(error) },
        };
        let deleted = |error: &ProtocolError| error.code == ErrorCode::NotFound && error.row_key.is_some();
        is_repeat |= result.message.is_some() || result.error.as_ref().is_some_and(deleted);
        results.push(result);
    }
    if is_repeat { Ok(ForwardReply { results }) } else { Err(rejection) }
}
