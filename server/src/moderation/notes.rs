//! `note.create`, `note.list`, `note.count`: what moderators keep about members, for each other.

use parlour_protocol::{
    ErrorCode, LogEntryId, Permissions, ProtocolError, RoomId, Timestamp, UserId,
    object::{Note, Page},
    operation::{CountReply, NoteCount, NoteCreate, NoteList, NoteReply},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        moderation::{self, CreateNoteError, NewestFirst},
        nonces::{self, FirstResult},
    },
    error::store_error,
    page::PageOf,
    rooms::hierarchy::{Rank, Target},
};

/// Makes a note about somebody below.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message.
pub(crate) async fn create(state: &AppState, caller: &Caller, data: NoteCreate) -> Result<NoteReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    check(state, caller, data.room_id, data.user_id).await?;
    let reply = NoteReply {
        note: Note {
            id: LogEntryId::new(),
            room_id: data.room_id,
            target_user_id: data.user_id,
            actor_user_id: caller.user_id,
            note: data.note.to_string(),
            created_at: Timestamp::now(),
        },
    };
    let result = FirstResult::of(caller.user_id, &data, &reply);
    match moderation::create_note(&state.db, &reply.note, result).await {
        Ok(()) => Ok(reply),
        Err(CreateNoteError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"))
        }
        Err(CreateNoteError::Store(error)) => Err(store_error(error)),
    }
}

/// The notes about somebody below.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message or for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: NoteList) -> Result<Page<Note>, ProtocolError> {
    check(state, caller, data.room_id, data.user_id).await?;
    let scope = format!("note.list {} {}", data.room_id, data.user_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let notes = moderation::notes(&state.db, data.room_id, data.user_id, page.after, page.to_read()).await;
    Ok(page.of(notes.map_err(store_error)?, NewestFirst::of_note))
}

/// How many notes there are about somebody below.
///
/// # Errors
/// `forbidden`, `bad_request` in a direct message.
pub(crate) async fn count(state: &AppState, caller: &Caller, data: NoteCount) -> Result<CountReply, ProtocolError> {
    check(state, caller, data.room_id, data.user_id).await?;
    let count = moderation::count_notes(&state.db, data.room_id, data.user_id).await.map_err(store_error)?;
    Ok(CountReply { count })
}

async fn check(state: &AppState, caller: &Caller, room_id: RoomId, user_id: UserId) -> Result<(), ProtocolError> {
    let access = state.rooms.access(room_id, caller.user_id).await?.require_room()?;
    let access = access.require(Permissions::KICK_MEMBERS)?;
    let target = Target::find(state, room_id, user_id).await?;
    Rank::of(&access).require_above(target.rank, "the member")
}
