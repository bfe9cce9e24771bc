//! `room.create`.

use parlour_protocol::{
    ErrorCode, Permissions, ProtocolError, RoleId, RoomId, Timestamp,
    event::AddReason,
    object::{Head, Membership, MimeCategory, NotificationType, Role, Room, RoomType, RoomView},
    operation::RoomCreate,
};

use super::tell_added;
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        nonces::{self, FirstResult},
        rooms::{self, CreateRoomError, NewRoom},
    },
    error::store_error,
};

/// Makes a room with its owner and `@everyone`.
///
/// # Errors
/// `bad_request` over `roomsPerUser`.
pub(crate) async fn create(state: &AppState, caller: &Caller, data: RoomCreate) -> Result<RoomView, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let joined = rooms::count_of(&state.db, caller.user_id).await.map_err(store_error)?;
    check_rooms_per_user(state, joined)?;
    let view = new_view(caller, &data);
    let everyone = everyone_role(&view.room);
    let result = FirstResult::of(caller.user_id, &data, &view);
    match rooms::create(&state.db, NewRoom { view: &view, everyone: &everyone, result }).await {
        Ok(()) => {}
        Err(CreateRoomError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            return first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"));
        }
        Err(CreateRoomError::Store(error)) => return Err(store_error(error)),
    }
    tell_added(state, caller.user_id, view.clone(), AddReason::Created);
    Ok(view)
}

/// # Errors
/// `bad_request` when one room more would be too many.
pub(crate) fn check_rooms_per_user(state: &AppState, joined: u64) -> Result<(), ProtocolError> {
    let most = state.limits.rooms_per_user;
    if joined >= u64::from(most) {
        return Err(ProtocolError::bad_request(format!("you are in {joined} rooms already, {most} at most")));
    }
    Ok(())
}

fn new_view(caller: &Caller, data: &RoomCreate) -> RoomView {
    let now = Timestamp::now();
    let room_id = RoomId::new();
    RoomView {
        room: Room {
            room_id,
            r#type: RoomType::Room,
            name: data.name.to_string(),
            topic: data.topic.as_ref().map(ToString::to_string).unwrap_or_default(),
            image: data.image.as_ref().map(ToString::to_string).unwrap_or_default(),
            user_id: Some(caller.user_id),
            is_read_only: data.is_read_only.unwrap_or_default(),
            is_invite_paused: false,
            slowmode_ms: data.slowmode_ms.map(|slowmode| slowmode.unsigned()),
            max_file_size_bytes: None,
            allowed_mime_categories: MimeCategory::ALL.to_vec(),
            created_at: Some(now),
            updated_at: Some(now),
            last_activity_at: Some(now),
        },
        membership: Membership {
            room_id,
            user_id: caller.user_id,
            nickname: String::new(),
            notification_type: Some(NotificationType::DirectMessage),
            last_read_at: None,
            last_message_at: None,
            unread_count: 0,
            mention_count: 0,
            timeout_until: None,
            is_hidden: false,
            category_id: None,
            created_at: Some(now),
        },
        permissions: Permissions::ALL,
        is_room_owner: true,
        top_role_position: -1,
        head: Some(Head { epoch: new_epoch(), seq: 0 }),
        participants: Vec::new(),
        participant_count: 0,
    }
}

fn everyone_role(room: &Room) -> Role {
    Role {
        role_id: RoleId::new(),
        room_id: room.room_id,
        name: "@everyone".to_owned(),
        color: String::new(),
        position: 0,
        permissions: Permissions::EVERYONE,
        is_everyone: true,
        created_at: room.created_at,
        updated_at: room.created_at,
    }
}

/// An epoch that no log had before.
pub(crate) fn new_epoch() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}
