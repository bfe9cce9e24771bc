//! What is left of a deleted account goes: files, jobs, friendships, blocks, rooms. Its messages stay, and so do direct messages:
//! the others keep theirs.
//!
//! The account is deleted first, from whatever process; this runs where rooms are written, finds what is left, and
//! begins again after a crash.

use std::{sync::Arc, time::Duration};

use parlour_protocol::{
    ProtocolError, RoomId, UserEvent, UserId,
    event::{FriendChange, FriendChanged, LeaveReason, RemoveReason},
};
use tokio::{sync::Notify, time};
use tokio_util::sync::CancellationToken;

use crate::{
    app::AppState,
    bus::BusEvent,
    clock,
    directory::{accounts, departures, files, friends, jobs, members},
    error::{append_error, store_error},
    rooms::tell_removed,
    store::{Append, RoomChange},
};

/// Between tries when the store fails.
const RETRY: Duration = Duration::from_secs(5);

/// Clears up after deleted accounts, at start and whenever `ended` tells of one, until shutdown.
pub(crate) async fn run(state: Arc<AppState>, ended: Arc<Notify>, shutdown: CancellationToken) {
    loop {
        let swept = tokio::select! {
            () = shutdown.cancelled() => return,
            swept = sweep(&state) => swept,
        };
        let wait = async {
            match swept {
                Ok(()) => ended.notified().await,
                Err(error) => {
                    tracing::warn!(%error, "deleted accounts are still in their rooms");
                    time::sleep(RETRY).await;
                }
            }
        };
        if shutdown.run_until_cancelled(wait).await.is_none() {
            return;
        }
    }
}

async fn sweep(state: &AppState) -> Result<(), ProtocolError> {
    while let Some(user_id) = departures::next(&state.db).await.map_err(store_error)? {
        depart(state, user_id).await?;
    }
    Ok(())
}

async fn depart(state: &AppState, user_id: UserId) -> Result<(), ProtocolError> {
    let user = accounts::user(&state.db, user_id).await.map_err(store_error)?;
    let Some(user) = user else { return Ok(()) };
    state.presence.announce_account(&user).await.map_err(store_error)?;
    files::release_user(&state.db, user_id).await.map_err(store_error)?;
    state.files.released();
    jobs::forget(&state.db, user_id).await.map_err(store_error)?;
    let friends = forget(state, user_id).await?;
    for friend in friends {
        let change = FriendChanged { change: FriendChange::Removed, user: user.clone() };
        let event = Arc::new(UserEvent::FriendChanged(Box::new(change)));
        state.bus.publish(BusEvent::User { user_id: friend, event });
    }
    for (room_id, is_owner) in departures::rooms(&state.db, user_id).await.map_err(store_error)? {
        let told = if is_owner { members::ids(&state.db, room_id).await.map_err(store_error)? } else { Vec::new() };
        let change = if is_owner {
            RoomChange::DeleteRoom { by: user_id }
        } else {
            let line = format!("{} left", user.name);
            RoomChange::Leave { user_id, reason: LeaveReason::Left, by: None, line }
        };
        append(state, room_id, change).await?;
        for member in told {
            tell_removed(state, member, room_id, RemoveReason::Deleted);
        }
    }
    Ok(())
}

async fn forget(state: &AppState, user_id: UserId) -> Result<Vec<UserId>, ProtocolError> {
    let fault = |error: crate::store::db::DbError| store_error(error.into());
    let mut tx = state.db.begin().await.map_err(fault)?;
    let friends = friends::forget(&mut tx, user_id).await.map_err(fault)?;
    tx.commit().await.map_err(fault)?;
    Ok(friends)
}

async fn append(state: &AppState, room_id: RoomId, change: RoomChange) -> Result<(), ProtocolError> {
    let generation = state.store.generation();
    let append = Append { room_id, now: clock::now_nanos(), cause: None, generation, change };
    let appended = state.store.append(append).await.await.map_err(append_error)?;
    for entry in &appended.entries {
        state.rooms.apply(room_id, &entry.event);
    }
    Ok(())
}
