//! Inbound webhooks: their management, and the calls that post messages.

pub(crate) mod call;
mod embed;

use parlour_protocol::{
    AppUserId, ErrorCode, Permissions, ProtocolError, RoomId, Secret, Timestamp, WebhookId,
    object::{AppUser, Empty, Items, Webhook},
    operation::{
        AppUserGet, WebhookCreate, WebhookDelete, WebhookList, WebhookReply, WebhookRotate, WebhookSecretReply,
        WebhookUpdate,
    },
};

use crate::{
    accounts::{caller::Caller, tokens},
    app::AppState,
    directory::{
        nonces::{self, FirstResult},
        webhooks::{self, StoredWebhook, WebhookError},
    },
    error::store_error,
};

async fn permit(state: &AppState, caller: &Caller, room_id: RoomId) -> Result<(), ProtocolError> {
    let access = state.rooms.access(room_id, caller.user_id).await?;
    access.require_room()?.require(Permissions::MANAGE_WEBHOOKS).map(drop)
}

fn not_found() -> ProtocolError {
    ProtocolError::not_found("no such webhook")
}

fn refusal<T>(error: WebhookError, first: Option<T>) -> Result<T, ProtocolError> {
    match error {
        WebhookError::Repeat => {
            first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"))
        }
        WebhookError::Full => Err(ProtocolError::bad_request("the room has as many webhooks as it can have")),
        WebhookError::NotFound => Err(not_found()),
        WebhookError::Store(error) => Err(store_error(error)),
    }
}

/// The reply that shows a token, this once.
fn with_secret(state: &AppState, webhook: Webhook, token: Secret) -> WebhookSecretReply {
    let server = state.config.public_url.as_deref().unwrap_or_default();
    let url = format!("{server}/v1/webhooks/{}/{}", webhook.webhook_id, token.expose());
    WebhookSecretReply { webhook, token: Some(token), url: Some(Secret::new(url)) }
}

/// Makes a webhook.
///
/// # Errors
/// `bad_request` when the room has as many as it can have.
pub(crate) async fn create(
    state: &AppState,
    caller: &Caller,
    data: WebhookCreate,
) -> Result<WebhookSecretReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    permit(state, caller, data.room_id).await?;
    let name = data.name.as_ref().map_or("Webhook", |name| name.as_str()).to_owned();
    let now = Some(Timestamp::now());
    let webhook = Webhook {
        webhook_id: WebhookId::new(),
        room_id: data.room_id,
        creator_id: caller.user_id,
        app_user: AppUser { app_user_id: AppUserId::new(), name: name.clone(), image: String::new() },
        name,
        is_active: true,
        created_at: now,
        updated_at: now,
    };
    let token = tokens::new_token();
    // What is remembered has no token.
    let remembered = WebhookSecretReply { webhook: webhook.clone(), token: None, url: None };
    let result = FirstResult::of(caller.user_id, &data, &remembered);
    let stored = StoredWebhook { webhook, token_hash: tokens::hash(token.expose()).to_vec() };
    match webhooks::create(&state.db, &stored, state.limits.webhooks_per_room, result).await {
        Ok(()) => Ok(with_secret(state, stored.webhook, token)),
        Err(error) => refusal(error, nonces::first_result(&state.db, caller.user_id, &data).await?),
    }
}

/// The webhooks of a room, newest first.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    data: WebhookList,
) -> Result<Items<Webhook>, ProtocolError> {
    permit(state, caller, data.room_id).await?;
    Ok(Items { items: webhooks::of_room(&state.db, data.room_id).await.map_err(store_error)? })
}

/// Changes a webhook; the sender that it shows stays.
///
/// # Errors
/// `not_found`.
pub(crate) async fn update(
    state: &AppState,
    caller: &Caller,
    data: WebhookUpdate,
) -> Result<WebhookReply, ProtocolError> {
    permit(state, caller, data.room_id).await?;
    let name = data.name.as_ref().map(|name| name.as_str());
    let updated = webhooks::update(&state.db, data.room_id, data.webhook_id, name, data.is_active).await;
    let webhook = updated.map_err(store_error)?.ok_or_else(not_found)?;
    Ok(WebhookReply { webhook })
}

/// Gives a webhook another token; the old one is dead at once.
///
/// # Errors
/// `not_found`.
pub(crate) async fn rotate(
    state: &AppState,
    caller: &Caller,
    data: WebhookRotate,
) -> Result<WebhookSecretReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    permit(state, caller, data.room_id).await?;
    let found = webhooks::find(&state.db, data.webhook_id).await.map_err(store_error)?;
    let found = found.filter(|found| found.webhook.room_id == data.room_id).ok_or_else(not_found)?;
    let webhook = Webhook { updated_at: Some(Timestamp::now()), ..found.webhook };
    let token = tokens::new_token();
    let remembered = WebhookSecretReply { webhook: webhook.clone(), token: None, url: None };
    let result = FirstResult::of(caller.user_id, &data, &remembered);
    match webhooks::rotate(&state.db, &webhook, &tokens::hash(token.expose()), result).await {
        Ok(()) => Ok(with_secret(state, webhook, token)),
        Err(error) => refusal(error, nonces::first_result(&state.db, caller.user_id, &data).await?),
    }
}

/// Ends a webhook; its messages stay.
///
/// # Errors
/// `not_found`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: WebhookDelete) -> Result<Empty, ProtocolError> {
    permit(state, caller, data.room_id).await?;
    let removed = webhooks::remove(&state.db, data.room_id, data.webhook_id).await.map_err(store_error)?;
    if removed { Ok(Empty {}) } else { Err(not_found()) }
}

/// The senders of a room's webhooks.
///
/// # Errors
/// `forbidden`.
pub(crate) async fn app_users(
    state: &AppState,
    caller: &Caller,
    data: AppUserGet,
) -> Result<Items<AppUser>, ProtocolError> {
    state.rooms.access(data.room_id, caller.user_id).await?;
    let items = webhooks::app_users(&state.db, data.room_id, &data.app_user_ids).await.map_err(store_error)?;
    Ok(Items { items })
}
