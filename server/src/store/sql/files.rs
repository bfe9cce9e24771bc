//! Uploads that a message takes in the commit that makes it, and those that its end lets go of.

use std::collections::HashMap;

use parlour_protocol::{FileId, RoomId, RowKey, UserId, object::File};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::{
    AppendError,
    db::{DbError, Tx, list},
};

/// What decides whether a message can take an upload.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileFacts {
    room_id: Option<RoomId>,
    user_id: UserId,
    tick: Option<i64>,
    expires_at: Option<i64>,
}

/// An upload that a message has taken.
#[derive(Debug)]
pub(super) struct Attached {
    file_id: FileId,
    tick: i64,
    has_thumbnail: bool,
}

#[derive(sqlx::FromRow)]
struct FileRow {
    file_id: Uuid,
    room_id: Option<Uuid>,
    user_id: Uuid,
    tick: Option<i64>,
    expires_at: Option<i64>,
}

/// Reads uploads.
pub(super) async fn load(tx: &mut Tx, file_ids: &[FileId]) -> Result<HashMap<FileId, FileFacts>, DbError> {
    // Others may give an upload up meanwhile.
    let lock = if matches!(tx, Tx::Postgres(_)) { "for update" } else { "" };
    let mut facts = HashMap::with_capacity(file_ids.len());
    for file_ids in file_ids.chunks(256) {
        let sql = format!(
            "select file_id, room_id, user_id, tick, expires_at from file where kind = 'File' and file_id in {} {lock}",
            list(1, file_ids.len())
        );
        let rows: Vec<FileRow> = tx.query(AssertSqlSafe(sql)).bind_list(file_ids).all().await?;
        facts.extend(rows.into_iter().map(|row| {
            let file = FileFacts {
                room_id: row.room_id.map(RoomId::from_uuid),
                user_id: UserId::from_uuid(row.user_id),
                tick: row.tick,
                expires_at: row.expires_at,
            };
            (FileId::from_uuid(row.file_id), file)
        }));
    }
    Ok(facts)
}

/// Whether a message can take these uploads.
pub(super) fn check(
    facts: &HashMap<FileId, FileFacts>,
    (room_id, user_id): (RoomId, UserId),
    files: &[File],
    now: i64,
) -> Result<(), AppendError> {
    for file in files {
        let upload = facts.get(&file.file_id).filter(|file| file.room_id == Some(room_id) && file.user_id == user_id);
        let upload = upload.ok_or(AppendError::NotFound("upload"))?;
        if upload.tick.is_some() {
            return Err(AppendError::FileAttached);
        }
        if upload.expires_at.is_none_or(|expires_at| expires_at <= now) {
            return Err(AppendError::NotFound("upload"));
        }
    }
    Ok(())
}

/// Takes uploads for a message.
pub(super) fn take(facts: &mut HashMap<FileId, FileFacts>, files: &[File], tick: i64) -> Vec<Attached> {
    for file in files {
        if let Some(upload) = facts.get_mut(&file.file_id) {
            upload.tick = Some(tick);
        }
    }
    files.iter().map(|file| Attached { file_id: file.file_id, tick, has_thumbnail: file.has_thumbnail }).collect()
}

/// Writes what was taken.
pub(super) async fn write(tx: &mut Tx, attached: &[Attached]) -> Result<(), DbError> {
    for Attached { file_id, tick, has_thumbnail } in attached {
        tx.query("update file set tick = $2, has_thumbnail = $3, expires_at = null where file_id = $1")
            .bind(*file_id)
            .bind(*tick)
            .bind(*has_thumbnail)
            .execute()
            .await?;
    }
    Ok(())
}

/// Lets go of a file.
pub(super) async fn release(tx: &mut Tx, room_id: RoomId, file_id: FileId) -> Result<(), DbError> {
    let sql = "update file set tick = null, expires_at = 0 where file_id = $1 and room_id = $2";
    tx.query(sql).bind(file_id).bind(room_id).execute().await?;
    Ok(())
}

/// Lets go of all files of a message.
pub(super) async fn release_all(tx: &mut Tx, room_id: RoomId, row_key: RowKey) -> Result<(), DbError> {
    let sql = "update file set tick = null, expires_at = 0 where room_id = $1 and tick = $2";
    tx.query(sql).bind(room_id).bind(row_key).execute().await?;
    Ok(())
}
