//! Personal folders of rooms.

use parlour_protocol::{CategoryId, UserId, object::Category};
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::store::{
    StoreError,
    db::{Db, DbError},
};

type CategoryRow = (Uuid, String, i64);

fn category((category_id, name, position): CategoryRow) -> Category {
    Category { category_id: CategoryId::from_uuid(category_id), name, position: u32::try_from(position).unwrap_or(0) }
}

/// A user's folders, by position and name.
pub(crate) async fn list(db: &Db, user_id: UserId) -> Result<Vec<Category>, StoreError> {
    let sql = "select category_id, name, position from category where user_id = $1 order by position, name";
    let rows: Vec<CategoryRow> = db.read(sql).bind(user_id).all().await?;
    Ok(rows.into_iter().map(category).collect())
}

/// Whether a folder is the user's.
pub(crate) async fn exists(db: &Db, user_id: UserId, category_id: CategoryId) -> Result<bool, StoreError> {
    let sql = "select count(*) from category where category_id = $1 and user_id = $2";
    let (count,) = db.read(sql).bind(category_id).bind(user_id).one::<(i64,)>().await?;
    Ok(count > 0)
}

/// Why no folder was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateCategoryError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a folder.
pub(crate) async fn create(
    db: &Db,
    user_id: UserId,
    category: &Category,
    result: Option<FirstResult>,
) -> Result<(), CreateCategoryError> {
    let fault = |error: DbError| CreateCategoryError::Store(error.into());
    let mut tx = db.begin().await.map_err(fault)?;
    nonces::remember(&mut tx, result).await.map_err(|error| match error {
        DbError::Unique => CreateCategoryError::Repeat,
        error => fault(error),
    })?;
    tx.query("insert into category (category_id, user_id, name, position) values ($1, $2, $3, $4)")
        .bind(category.category_id)
        .bind(user_id)
        .bind(&category.name)
        .bind(category.position)
        .execute()
        .await
        .map_err(fault)?;
    tx.commit().await.map_err(fault)
}

/// Renames a folder; none when it is not the user's.
pub(crate) async fn rename(
    db: &Db,
    user_id: UserId,
    category_id: CategoryId,
    name: &str,
) -> Result<Option<Category>, StoreError> {
    let sql = "update category set name = $3 where category_id = $1 and user_id = $2 \
        returning category_id, name, position";
    let row: Option<CategoryRow> = db.write(sql).bind(category_id).bind(user_id).bind(name).optional().await?;
    Ok(row.map(category))
}

/// Ends a folder, its rooms becoming uncategorised; whether it was the user's.
pub(crate) async fn remove(db: &Db, user_id: UserId, category_id: CategoryId) -> Result<bool, StoreError> {
    let mut tx = db.begin().await?;
    let removed = tx
        .query("delete from category where category_id = $1 and user_id = $2")
        .bind(category_id)
        .bind(user_id)
        .execute()
        .await?;
    if removed == 0 {
        return Ok(false);
    }
    tx.query("update member set category_id = null where user_id = $1 and category_id = $2")
        .bind(user_id)
        .bind(category_id)
        .execute()
        .await?;
    tx.commit().await?;
    Ok(true)
}

/// Puts folders into a new order; nothing is moved when one of them is not the user's.
pub(crate) async fn reorder(db: &Db, user_id: UserId, category_ids: &[CategoryId]) -> Result<bool, StoreError> {
    let mut tx = db.begin().await?;
    for (position, category_id) in (0u32..).zip(category_ids) {
        let moved = tx
            .query("update category set position = $3 where category_id = $1 and user_id = $2")
            .bind(*category_id)
            .bind(user_id)
            .bind(position)
            .execute()
            .await?;
        if moved == 0 {
            return Ok(false);
        }
    }
    tx.commit().await?;
    Ok(true)
}
