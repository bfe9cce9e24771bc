//! Word filters of rooms.

use parlour_protocol::{
    RoomId, Timestamp,
    object::{Filter, FilterAction, FilterWord},
};

use super::room_changes;
use crate::store::{StoreError, db::Db};

/// A room's filter.
pub(crate) async fn find(db: &Db, room_id: RoomId) -> Result<Option<Filter>, StoreError> {
    let sql = "select words, action, timeout_duration_ms, updated_at from room_filter where room_id = $1";
    let row: Option<(String, String, Option<i64>, i64)> = db.read(sql).bind(room_id).optional().await?;
    let Some((words, action, timeout_duration_ms, updated_at)) = row else { return Ok(None) };
    let words: Vec<FilterWord> = serde_json::from_str(&words)
        .map_err(|error| StoreError::Internal(format!("unreadable filter: {error}").into()))?;
    Ok(Some(Filter {
        room_id,
        action: action.parse().unwrap_or(FilterAction::Reject),
        words,
        timeout_duration_ms: timeout_duration_ms.and_then(|duration| u64::try_from(duration).ok()),
        updated_at: Some(Timestamp::from_millis(updated_at)),
    }))
}

/// Puts a filter in place of the room's earlier one.
pub(crate) async fn replace(db: &Db, filter: &Filter) -> Result<(), StoreError> {
    let sql = "insert into room_filter (room_id, words, action, timeout_duration_ms, updated_at) \
        values ($1, $2, $3, $4, $5) on conflict (room_id) do update set words = excluded.words, \
        action = excluded.action, timeout_duration_ms = excluded.timeout_duration_ms, updated_at = excluded.updated_at";
    let mut tx = db.begin().await?;
    tx.query(sql)
        .bind(filter.room_id)
        .bind(serde_json::to_string(&filter.words).expect("objects of the protocol encode"))
        .bind(filter.action.as_str())
        .bind(filter.timeout_duration_ms)
        .bind(filter.updated_at)
        .execute()
        .await?;
    room_changes::record(&mut tx, filter.room_id, None).await?;
    tx.commit().await?;
    Ok(())
}
