//! `poll.vote`.

use parlour_protocol::{
    Patch, ProtocolError,
    object::Mine,
    operation::{PollVote, PollVoteReply},
};

use super::append;
use crate::{accounts::caller::Caller, app::AppState, store::RoomChange};

/// Votes in a poll, in place of one's earlier vote, or withdraws it. The same vote again stores nothing.
///
/// # Errors
/// `not_found`; `bad_request` for an unknown option, or when the message has no poll.
pub(crate) async fn vote(state: &AppState, caller: &Caller, data: PollVote) -> Result<PollVoteReply, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let option_id = match data.option_id {
        Patch::Set(option_id) => Some(option_id),
        Patch::Keep | Patch::Clear => None,
    };
    let change = RoomChange::Vote { row_key: data.row_key, user_id: caller.user_id, option_id };
    let appended = append(state, caller, data.room_id, change).await?;
    let poll = appended.message.and_then(|message| message.poll.clone());
    let poll = poll.ok_or_else(|| ProtocolError::not_found("no such poll"))?;
    let mine = option_id.map(|option_id| Mine { reactions: Vec::new(), option_id: Some(option_id) });
    Ok(PollVoteReply { poll, rev: appended.rev, mine })
}
