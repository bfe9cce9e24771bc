//! `thread.follow`, `thread.unfollow`, `thread.followed`.

use parlour_protocol::{
    ProtocolError, RowKey,
    object::{Empty, ThreadSummary},
    operation::{ThreadFollow, ThreadFollowed, ThreadFollowedReply, ThreadUnfollow},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{marks, threads},
    error::store_error,
};

/// Repliers that a summary names.
const REPLIERS: usize = 10;

/// Follows the thread of a message.
///
/// # Errors
/// `not_found`.
pub(crate) async fn follow(state: &AppState, caller: &Caller, data: ThreadFollow) -> Result<Empty, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    super::find(state, data.room_id, data.row_key).await?;
    let root = (data.room_id, data.row_key);
    threads::decide(&state.db, caller.user_id, root, false).await.map_err(store_error)?;
    Ok(Empty {})
}

/// Follows a thread no longer, also when its root is deleted. The decision is remembered.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn unfollow(state: &AppState, caller: &Caller, data: ThreadUnfollow) -> Result<Empty, ProtocolError> {
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let root = (data.room_id, data.row_key);
    threads::decide(&state.db, caller.user_id, root, true).await.map_err(store_error)?;
    Ok(Empty {})
}

/// The threads that one follows in a room.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn followed(
    state: &AppState,
    caller: &Caller,
    data: ThreadFollowed,
) -> Result<ThreadFollowedReply, ProtocolError> {
    let room_id = data.room_id;
    state.rooms.reader(room_id, caller.user_id).await?;
    let row_keys = threads::followed(&state.db, caller.user_id, room_id).await.map_err(store_error)?;
    if row_keys.is_empty() {
        return Ok(ThreadFollowedReply { row_keys, items: Vec::new() });
    }
    let mut roots = state.store.get(room_id, &row_keys).await.map_err(store_error)?;
    marks::fill(&state.db, caller.user_id, &mut roots).await.map_err(store_error)?;
    let repliers = threads::repliers(&state.db, room_id, &row_keys).await.map_err(store_error)?;
    let summary = |root: parlour_protocol::object::Message| {
        let of_root: Vec<_> = repliers.iter().filter(|replier| replier.root == root.row_key).collect();
        let latest = of_root.first().map(|replier| replier.latest);
        ThreadSummary {
            reply_count: root.reply_count,
            last_reply_row_key: latest,
            last_reply_at: latest.map(RowKey::created_at),
            user_ids: of_root.iter().take(REPLIERS).map(|replier| replier.user_id).collect(),
            root,
        }
    };
    Ok(ThreadFollowedReply { items: roots.into_iter().map(summary).collect(), row_keys })
}
