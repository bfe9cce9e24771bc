//! `invite.create`, `invite.get`, `invite.mine`, `invite.list`, `invite.revoke`.

use parlour_protocol::{
    ErrorCode, InviteId, Maybe, Permissions, ProtocolError, Timestamp,
    limits::{INVITE_EXPIRES_IN_MS, INVITE_MAX_USES},
    object::{Empty, Invite, Page, RoomType},
    operation::{InviteCreate, InviteGet, InviteGetReply, InviteList, InviteMine, InviteReply, InviteRevoke},
};
use rand::RngExt;

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        invites::{self, CreateInviteError, InvitePosition},
        nonces::{self, FirstResult},
    },
    error::store_error,
    page::PageOf,
};

const EXPIRES_IN_MS: u64 = 604_800_000;
const ATTEMPTS: usize = 3;

/// Makes an invite in place of one's earlier one of the room.
///
/// # Errors
/// `forbidden`, `bad_request` when invites are paused, in a direct message, or for a value that is not allowed.
pub(crate) async fn create(
    state: &AppState,
    caller: &Caller,
    data: InviteCreate,
) -> Result<InviteReply, ProtocolError> {
    let expires_in_ms = data.expires_in_ms.unwrap_or(EXPIRES_IN_MS);
    if !INVITE_EXPIRES_IN_MS.contains(&expires_in_ms) {
        return Err(ProtocolError::bad_field("/expiresInMs", format!("must be one of {INVITE_EXPIRES_IN_MS:?}")));
    }
    let max_uses = data.max_uses.unwrap_or(0);
    if !INVITE_MAX_USES.contains(&max_uses) {
        return Err(ProtocolError::bad_field("/maxUses", format!("must be one of {INVITE_MAX_USES:?}")));
    }
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    let access = access.require(Permissions::MANAGE_INVITES)?;
    if access.room().is_invite_paused {
        return Err(ProtocolError::bad_request("invites of this room are paused"));
    }
    let now = Timestamp::now();
    for _ in 0..ATTEMPTS {
        let invite_id = random_code();
        let reply = InviteReply {
            invite: Invite {
                invite_id,
                room_id: data.room_id,
                user_id: caller.user_id,
                expires_at: i64::try_from(expires_in_ms).ok().filter(|ms| *ms > 0).map(|ms| now.plus_millis(ms)),
                max_uses,
                uses: 0,
                created_at: Some(now),
                url: url(invite_id),
            },
        };
        let result = FirstResult::of(caller.user_id, &data, &reply);
        match invites::replace(&state.db, &reply.invite, result).await {
            Ok(()) => return Ok(reply),
            Err(CreateInviteError::CodeTaken) => {}
            Err(CreateInviteError::Repeat) => {
                let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
                return first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"));
            }
            Err(CreateInviteError::Store(error)) => return Err(store_error(error)),
        }
    }
    Err(ProtocolError::new(ErrorCode::Unavailable, "no free invite code was found; try again"))
}

/// The page's address of an invite.
pub(crate) fn url(invite_id: InviteId) -> String {
    format!("/invite/{invite_id}")
}

fn random_code() -> InviteId {
    let mut random = rand::rng();
    let code: String =
        (0..8).map(|_| char::from(InviteId::ALPHABET[random.random_range(0..InviteId::ALPHABET.len())])).collect();
    code.parse().expect("eight letters and digits are an invite id")
}

/// An invite that can be used now.
///
/// # Errors
/// `not_found` alike for unknown, expired, exhausted and paused ones.
pub(super) async fn usable(state: &AppState, invite_id: InviteId) -> Result<Invite, ProtocolError> {
    let found = invites::find(&state.db, invite_id).await.map_err(store_error)?;
    let usable = found.filter(|found| {
        !found.is_paused && found.room_type == RoomType::Room && is_usable(&found.invite, Timestamp::now())
    });
    usable.map(|found| found.invite).ok_or_else(|| ProtocolError::not_found("no such invite"))
}

/// Whether an invite can be used at `now`.
fn is_usable(invite: &Invite, now: Timestamp) -> bool {
    let unexpired = invite.expires_at.is_none_or(|expires_at| expires_at > now);
    unexpired && (invite.max_uses == 0 || invite.uses < invite.max_uses)
}

/// What an invite leads to.
///
/// # Errors
/// `not_found` alike for unknown, expired, exhausted and paused ones.
pub(crate) async fn get(state: &AppState, caller: &Caller, data: InviteGet) -> Result<InviteGetReply, ProtocolError> {
    let invite = usable(state, data.invite_id).await?;
    let room = invites::room_of(&state.db, invite.room_id).await.map_err(store_error)?;
    let room = room.ok_or_else(|| ProtocolError::not_found("no such invite"))?;
    let is_member = state.rooms.access(invite.room_id, caller.user_id).await.is_ok();
    Ok(InviteGetReply { invite, room, is_member })
}

/// One's own invite of a room.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn mine(
    state: &AppState,
    caller: &Caller,
    data: InviteMine,
) -> Result<Maybe<InviteReply>, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    let invite = invites::of_member(&state.db, data.room_id, caller.user_id).await.map_err(store_error)?;
    let invite = invite.filter(|invite| is_usable(invite, Timestamp::now()));
    Ok(Maybe(invite.map(|invite| InviteReply { invite })))
}

/// All invites of a room.
///
/// # Errors
/// `forbidden`, `bad_request` for an unknown cursor.
pub(crate) async fn list(state: &AppState, caller: &Caller, data: InviteList) -> Result<Page<Invite>, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    access.require(Permissions::MANAGE_ROOM)?;
    let scope = format!("invite.list {}", data.room_id);
    let page = PageOf::new(scope, data.cursor.as_ref(), data.limit)?;
    let items = invites::page(&state.db, data.room_id, page.after, page.to_read()).await.map_err(store_error)?;
    Ok(page.of(items, InvitePosition::of))
}

/// Ends an invite: one's own, or any with ManageRoom.
///
/// # Errors
/// `not_found`, `forbidden`.
pub(crate) async fn revoke(state: &AppState, caller: &Caller, data: InviteRevoke) -> Result<Empty, ProtocolError> {
    let access = state.rooms.access(data.room_id, caller.user_id).await?.require_room()?;
    let found = invites::find(&state.db, data.invite_id).await.map_err(store_error)?;
    let invite = found.map(|found| found.invite).filter(|invite| invite.room_id == data.room_id);
    let invite = invite.ok_or_else(|| ProtocolError::not_found("no such invite"))?;
    if invite.user_id != caller.user_id {
        access.require(Permissions::MANAGE_ROOM)?;
    }
    invites::remove(&state.db, data.invite_id).await.map_err(store_error)?;
    Ok(Empty {})
}
