//! `schedule.list`, `schedule.mine`, `schedule.count`.

use std::collections::HashMap;

use parlour_protocol::{
    ProtocolError, RoomId, Timestamp,
    object::{Job, Page, Room, RoomType},
    operation::{CountReply, JobInRoom, ScheduleCount, ScheduleList, ScheduleMine},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        jobs::{self, JobPosition, StoredJob},
        rooms,
    },
    error::store_error,
    page::PageOf,
};

/// One's own jobs of a room that are not done, the next first.
///
/// # Errors
/// `forbidden`, `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: ScheduleList) -> Result<Page<Job>, ProtocolError> {
    let scope = format!("schedule.list {} {}", data.room_id, caller.user_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    state.rooms.access(data.room_id, caller.user_id).await?;
    let items = jobs::page(&state.db, caller.user_id, Some(data.room_id), page.after, page.to_read()).await;
    Ok(page.of(readable(&items.map_err(store_error)?), JobPosition::of))
}

/// The same over all rooms. Of a room that one is not in any more no more is told than which it is.
///
/// # Errors
/// `bad_request` for an unknown cursor.
pub(crate) async fn mine(
    state: &AppState,
    caller: &Caller,
    data: ScheduleMine,
) -> Result<Page<JobInRoom>, ProtocolError> {
    let scope = format!("schedule.mine {}", caller.user_id);
    let page: PageOf<JobPosition> = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let items = jobs::page(&state.db, caller.user_id, None, page.after, page.to_read()).await.map_err(store_error)?;
    let Page { items, next_cursor, has_more } = page.of(readable(&items), JobPosition::of);
    let mut room_ids: Vec<RoomId> = items.iter().map(|job| job.room_id).collect();
    room_ids.sort_unstable();
    room_ids.dedup();
    let views = rooms::views(&state.db, caller.user_id, &room_ids).await.map_err(store_error)?;
    let rooms: HashMap<RoomId, Room> = views.into_iter().map(|view| (view.room.room_id, view.room)).collect();
    let with_room = |job: Job| {
        let room = rooms.get(&job.room_id).cloned().unwrap_or_else(|| unknown_room(job.room_id));
        JobInRoom { job, room }
    };
    Ok(Page { items: items.into_iter().map(with_room).collect(), next_cursor, has_more })
}

/// How many jobs one has that are not done.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn count(state: &AppState, caller: &Caller, _: ScheduleCount) -> Result<CountReply, ProtocolError> {
    let count = jobs::count_of(&state.db, caller.user_id).await.map_err(store_error)?;
    Ok(CountReply { count })
}

/// A job that cannot be read does not keep the others from being shown.
fn readable(stored: &[StoredJob]) -> Vec<Job> {
    let now = Timestamp::now();
    let job = |stored: &StoredJob| stored.job(now).inspect_err(|error| tracing::error!(%error, "a job is left out"));
    stored.iter().filter_map(|stored| job(stored).ok()).collect()
}

fn unknown_room(room_id: RoomId) -> Room {
    Room {
        room_id,
        r#type: RoomType::Room,
        name: String::new(),
        topic: String::new(),
        image: String::new(),
        user_id: None,
        is_read_only: false,
        is_invite_paused: false,
        slowmode_ms: None,
        max_file_size_bytes: None,
        allowed_mime_categories: Vec::new(),
        created_at: None,
        updated_at: None,
        last_activity_at: None,
    }
}
