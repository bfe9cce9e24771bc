//! Accounts as others see them.

use std::collections::HashMap;

use parlour_protocol::{Timestamp, UserId, object::User};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::{
    StoreError,
    db::{Db, list},
};

#[derive(sqlx::FromRow)]
struct UserRow {
    user_id: Uuid,
    name: String,
    image: String,
    biography: String,
    is_deleted: bool,
    created_at: i64,
    updated_at: i64,
}

const USER_COLUMNS: &str = "user_id, name, image, biography, is_deleted, created_at, updated_at";

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            user_id: UserId::from_uuid(row.user_id),
            name: if row.is_deleted { "deleted user".to_owned() } else { row.name },
            image: row.image,
            biography: row.biography,
            is_deleted: row.is_deleted,
            created_at: Some(Timestamp::from_millis(row.created_at)),
            updated_at: Some(Timestamp::from_millis(row.updated_at)),
        }
    }
}

/// An account, deleted or not.
pub(crate) async fn user(db: &Db, user_id: UserId) -> Result<Option<User>, StoreError> {
    Ok(users(db, &[user_id]).await?.into_iter().next())
}

/// Accounts, deleted or not, in the order asked; unknown ones are left out.
pub(crate) async fn users(db: &Db, user_ids: &[UserId]) -> Result<Vec<User>, StoreError> {
    let sql = format!("select {USER_COLUMNS} from account where user_id in {}", list(1, user_ids.len()));
    let rows: Vec<UserRow> = db.read(AssertSqlSafe(sql)).bind_list(user_ids).all().await?;
    let mut found: HashMap<UserId, User> = rows.into_iter().map(User::from).map(|user| (user.user_id, user)).collect();
    Ok(user_ids.iter().filter_map(|user_id| found.remove(user_id)).collect())
}
