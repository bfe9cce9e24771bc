//! Inbound webhooks and the senders that they show.

use parlour_protocol::{
    AppUserId, RoomId, Timestamp, UserId, WebhookId,
    object::{AppUser, Webhook},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::store::{
    StoreError,
    db::{Db, DbError, Tx, list},
};

/// A webhook with the hash of its token.
#[derive(Debug)]
pub(crate) struct StoredWebhook {
    pub(crate) webhook: Webhook,
    pub(crate) token_hash: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct WebhookRow {
    webhook_id: Uuid,
    room_id: Uuid,
    creator_id: Uuid,
    name: String,
    is_active: bool,
    app_user_id: Uuid,
    app_name: String,
    app_image: String,
    token_hash: Vec<u8>,
    created_at: i64,
    updated_at: i64,
}

const COLUMNS: &str = "webhook_id, room_id, creator_id, name, is_active, app_user_id, app_name, app_image, \
    token_hash, created_at, updated_at";

impl From<WebhookRow> for StoredWebhook {
    fn from(row: WebhookRow) -> Self {
        let app_user =
            AppUser { app_user_id: AppUserId::from_uuid(row.app_user_id), name: row.app_name, image: row.app_image };
        let webhook = Webhook {
            webhook_id: WebhookId::from_uuid(row.webhook_id),
            room_id: RoomId::from_uuid(row.room_id),
            creator_id: UserId::from_uuid(row.creator_id),
            name: row.name,
            app_user,
            is_active: row.is_active,
            created_at: Some(Timestamp::from_millis(row.created_at)),
            updated_at: Some(Timestamp::from_millis(row.updated_at)),
        };
        Self { webhook, token_hash: row.token_hash }
    }
}

/// Why a webhook was not made or not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    /// The room has as many as it can have.
    #[error("the room has as many webhooks as it can have")]
    Full,
    /// There is no such webhook in the room.
    #[error("no such webhook")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<DbError> for WebhookError {
    fn from(error: DbError) -> Self {
        Self::Store(error.into())
    }
}

async fn remember(tx: &mut Tx, result: Option<FirstResult>) -> Result<(), WebhookError> {
    nonces::remember(tx, result).await.map_err(|error| match error {
        DbError::Unique => WebhookError::Repeat,
        error => error.into(),
    })
}

/// Makes a webhook, unless the room has `most`.
pub(crate) async fn create(
    db: &Db,
    stored: &StoredWebhook,
    most: u32,
    result: Option<FirstResult>,
) -> Result<(), WebhookError> {
    let StoredWebhook { webhook, token_hash } = stored;
    let mut tx = db.begin().await?;
    remember(&mut tx, result).await?;
    // Counted in one transaction at a time.
    let lock = if db.is_sqlite() { "" } else { "for update" };
    let sql = format!("select name from room where room_id = $1 {lock}");
    tx.query(AssertSqlSafe(sql)).bind(webhook.room_id).optional::<(String,)>().await?;
    let (count,): (i64,) =
        tx.query("select count(*) from webhook where room_id = $1").bind(webhook.room_id).one().await?;
    if count >= i64::from(most) {
        return Err(WebhookError::Full);
    }
    tx.query(
        "insert into webhook (webhook_id, room_id, creator_id, name, is_active, app_user_id, app_name, app_image, \
         token_hash, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)",
    )
    .bind(webhook.webhook_id)
    .bind(webhook.room_id)
    .bind(webhook.creator_id)
    .bind(&webhook.name)
    .bind(webhook.is_active)
    .bind(webhook.app_user.app_user_id)
    .bind(&webhook.app_user.name)
    .bind(&webhook.app_user.image)
    .bind(token_hash.as_slice())
    .bind(webhook.created_at)
    .execute()
    .await?;
    Ok(tx.commit().await?)
}

/// A webhook by its id.
pub(crate) async fn find(db: &Db, webhook_id: WebhookId) -> Result<Option<StoredWebhook>, StoreError> {
    let sql = format!("select {COLUMNS} from webhook w where w.webhook_id = $1");
    let row: Option<WebhookRow> = db.read(AssertSqlSafe(sql)).bind(webhook_id).optional().await?;
    Ok(row.map(StoredWebhook::from))
}

/// The webhooks of a room, newest first.
pub(crate) async fn of_room(db: &Db, room_id: RoomId) -> Result<Vec<Webhook>, StoreError> {
    let sql =
        format!("select {COLUMNS} from webhook w where w.room_id = $1 order by w.created_at desc, w.webhook_id desc");
    let rows: Vec<WebhookRow> = db.read(AssertSqlSafe(sql)).bind(room_id).all().await?;
    Ok(rows.into_iter().map(|row| StoredWebhook::from(row).webhook).collect())
}

/// Changes a webhook's name or whether it accepts calls.
pub(crate) async fn update(
    db: &Db,
    room_id: RoomId,
    webhook_id: WebhookId,
    name: Option<&str>,
    is_active: Option<bool>,
) -> Result<Option<Webhook>, StoreError> {
    let sql = format!(
        "update webhook as w set name = coalesce($3, w.name), is_active = coalesce($4, w.is_active), updated_at = $5 \
         where w.webhook_id = $1 and w.room_id = $2 returning {COLUMNS}"
    );
    let row: Option<WebhookRow> = db
        .write(AssertSqlSafe(sql))
        .bind(webhook_id)
        .bind(room_id)
        .bind(name.map(str::to_owned))
        .bind(is_active)
        .bind(Timestamp::now())
        .optional()
        .await?;
    Ok(row.map(|row| StoredWebhook::from(row).webhook))
}

/// Gives a webhook another token.
pub(crate) async fn rotate(
    db: &Db,
    webhook: &Webhook,
    token_hash: &[u8],
    result: Option<FirstResult>,
) -> Result<(), WebhookError> {
    let mut tx = db.begin().await?;
    remember(&mut tx, result).await?;
    let rotated = tx
        .query("update webhook set token_hash = $3, updated_at = $4 where webhook_id = $1 and room_id = $2")
        .bind(webhook.webhook_id)
        .bind(webhook.room_id)
        .bind(token_hash)
        .bind(webhook.updated_at)
        .execute()
        .await?;
    if rotated == 0 {
        return Err(WebhookError::NotFound);
    }
    Ok(tx.commit().await?)
}

/// Ends a webhook; false when there is none.
pub(crate) async fn remove(db: &Db, room_id: RoomId, webhook_id: WebhookId) -> Result<bool, StoreError> {
    let sql = "delete from webhook where webhook_id = $1 and room_id = $2";
    Ok(db.write(sql).bind(webhook_id).bind(room_id).execute().await? > 0)
}

/// The senders of a room's webhooks.
pub(crate) async fn app_users(db: &Db, room_id: RoomId, ids: &[AppUserId]) -> Result<Vec<AppUser>, StoreError> {
    let sql = format!(
        "select app_user_id, app_name, app_image from webhook where room_id = $1 and app_user_id in {}",
        list(2, ids.len())
    );
    let rows: Vec<(Uuid, String, String)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(ids).all().await?;
    let app_user = |(id, name, image)| AppUser { app_user_id: AppUserId::from_uuid(id), name, image };
    Ok(rows.into_iter().map(app_user).collect())
}
