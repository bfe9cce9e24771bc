//! Personal folders of rooms: `category.*`.

use parlour_protocol::{
    CategoryId, ErrorCode, ProtocolError,
    object::{Category, Empty, Items},
    operation::{CategoryCreate, CategoryDelete, CategoryList, CategoryReorder, CategoryReply, CategoryUpdate},
};

use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::{
        categories::{self, CreateCategoryError},
        nonces::{self, FirstResult},
    },
    error::store_error,
};

/// Makes a folder, placed last.
///
/// # Errors
/// `bad_request` over the limit.
pub(crate) async fn create(
    state: &AppState,
    caller: &Caller,
    data: CategoryCreate,
) -> Result<CategoryReply, ProtocolError> {
    if let Some(first) = nonces::first_result(&state.db, caller.user_id, &data).await? {
        return Ok(first);
    }
    let existing = categories::list(&state.db, caller.user_id).await.map_err(store_error)?;
    let most = state.limits.categories;
    if existing.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
        return Err(ProtocolError::bad_request(format!("you have {most} categories already")));
    }
    let position = existing.last().map_or(0, |last| last.position + 1);
    let category = Category { category_id: CategoryId::new(), name: data.name.to_string(), position };
    let reply = CategoryReply { category };
    let result = FirstResult::of(caller.user_id, &data, &reply);
    match categories::create(&state.db, caller.user_id, &reply.category, result).await {
        Ok(()) => Ok(reply),
        Err(CreateCategoryError::Repeat) => {
            let first = nonces::first_result(&state.db, caller.user_id, &data).await?;
            first.ok_or_else(|| ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"))
        }
        Err(CreateCategoryError::Store(error)) => Err(store_error(error)),
    }
}

/// One's folders, by position and name.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn list(state: &AppState, caller: &Caller, _: CategoryList) -> Result<Items<Category>, ProtocolError> {
    let items = categories::list(&state.db, caller.user_id).await.map_err(store_error)?;
    Ok(Items { items })
}

/// Renames a folder.
///
/// # Errors
/// `not_found`.
pub(crate) async fn update(
    state: &AppState,
    caller: &Caller,
    data: CategoryUpdate,
) -> Result<CategoryReply, ProtocolError> {
    let renamed = categories::rename(&state.db, caller.user_id, data.category_id, &data.name).await;
    let category = renamed.map_err(store_error)?.ok_or_else(|| ProtocolError::not_found("no such category"))?;
    Ok(CategoryReply { category })
}

/// Ends a folder; its rooms become uncategorised.
///
/// # Errors
/// `not_found`.
pub(crate) async fn delete(state: &AppState, caller: &Caller, data: CategoryDelete) -> Result<Empty, ProtocolError> {
    let removed = categories::remove(&state.db, caller.user_id, data.category_id).await.map_err(store_error)?;
    if !removed {
        return Err(ProtocolError::not_found("no such category"));
    }
    Ok(Empty {})
}

/// Puts folders into a new order; with a foreign one among them nothing is moved.
///
/// # Errors
/// `not_found`.
pub(crate) async fn reorder(
    state: &AppState,
    caller: &Caller,
    data: CategoryReorder,
) -> Result<Items<Category>, ProtocolError> {
    let moved = categories::reorder(&state.db, caller.user_id, &data.category_ids).await.map_err(store_error)?;
    if !moved {
        return Err(ProtocolError::not_found("no such category"));
    }
    list(state, caller, CategoryList {}).await
}
