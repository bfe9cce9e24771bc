//! Files: uploads, and what messages, emoji, users and rooms hold.

use parlour_protocol::{FileId, RoomId, RowKey, Timestamp, UserId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::store::{
    StoreError,
    db::{Db, DbError, list},
};

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// To be attached to a message.
    File,
    /// An image of a user or a room, public.
    Image,
    /// A custom emoji.
    Emoji,
}

impl FileKind {
    const ALL: [Self; 3] = [Self::File, Self::Image, Self::Emoji];

    const fn as_str(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Image => "Image",
            Self::Emoji => "Emoji",
        }
    }
}

/// A file.
#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) file_id: FileId,
    pub(crate) kind: FileKind,
    pub(crate) room_id: Option<RoomId>,
    pub(crate) user_id: UserId,
    pub(crate) filename: String,
    pub(crate) mimetype: String,
    pub(crate) size: u64,
    pub(crate) has_thumbnail: bool,
    /// The message that holds it.
    pub(crate) row_key: Option<RowKey>,
    /// When it goes; none as long as something holds it.
    pub(crate) expires_at: Option<Timestamp>,
}

impl StoredFile {
    /// Whether it is an upload that something can still take.
    pub(crate) fn is_pending(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at > now)
    }

    /// Whether it is there to be fetched.
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expires_at| expires_at > now)
    }
}

#[derive(sqlx::FromRow)]
struct FileRow {
    file_id: Uuid,
    kind: String,
    room_id: Option<Uuid>,
    user_id: Uuid,
    filename: String,
    mimetype: String,
    size: i64,
    has_thumbnail: bool,
    tick: Option<i64>,
    expires_at: Option<i64>,
}

const COLUMNS: &str =
    "f.file_id, f.kind, f.room_id, f.user_id, f.filename, f.mimetype, f.size, f.has_thumbnail, f.tick, f.expires_at";

impl TryFrom<FileRow> for StoredFile {
    type Error = StoreError;

    fn try_from(row: FileRow) -> Result<Self, StoreError> {
        let kind = FileKind::ALL.into_iter().find(|kind| kind.as_str() == row.kind);
        Ok(Self {
            file_id: FileId::from_uuid(row.file_id),
            kind: kind.ok_or_else(|| StoreError::Internal(format!("a file of kind {}", row.kind).into()))?,
            room_id: row.room_id.map(RoomId::from_uuid),
            user_id: UserId::from_uuid(row.user_id),
            filename: row.filename,
            mimetype: row.mimetype,
            size: u64::try_from(row.size).unwrap_or(0),
            has_thumbnail: row.has_thumbnail,
            row_key: row.tick.map(RowKey::from_tick),
            expires_at: row.expires_at.map(Timestamp::from_millis),
        })
    }
}

/// Why no upload was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes uploads, all or none.
pub(crate) async fn create(
    db: &Db,
    files: &[StoredFile],
    now: Timestamp,
    result: Option<FirstResult>,
) -> Result<(), CreateError> {
    let fault = |error: DbError| CreateError::Store(error.into());
    let mut tx = db.begin().await.map_err(fault)?;
    nonces::remember(&mut tx, result).await.map_err(|error| match error {
        DbError::Unique => CreateError::Repeat,
        error => fault(error),
    })?;
    for file in files {
        tx.query(
            "insert into file (file_id, kind, room_id, user_id, filename, mimetype, size, has_thumbnail, created_at, \
             expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(file.file_id)
        .bind(file.kind.as_str())
        .bind(file.room_id)
        .bind(file.user_id)
        .bind(&file.filename)
        .bind(&file.mimetype)
        .bind(file.size)
        .bind(file.has_thumbnail)
        .bind(now)
        .bind(file.expires_at)
        .execute()
        .await
        .map_err(fault)?;
    }
    tx.commit().await.map_err(fault)
}

/// A file.
pub(crate) async fn find(db: &Db, file_id: Uuid) -> Result<Option<StoredFile>, StoreError> {
    let sql = format!("select {COLUMNS} from file f where f.file_id = $1");
    let row: Option<FileRow> = db.read(AssertSqlSafe(sql)).bind(file_id).optional().await?;
    row.map(StoredFile::try_from).transpose()
}

/// The files of a room with these ids, in no order.
pub(crate) async fn of_room(db: &Db, room_id: RoomId, file_ids: &[FileId]) -> Result<Vec<StoredFile>, StoreError> {
    let sql = format!("select {COLUMNS} from file f where f.room_id = $1 and f.file_id in {}", list(2, file_ids.len()));
    let rows: Vec<FileRow> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(file_ids).all().await?;
    rows.into_iter().map(StoredFile::try_from).collect()
}

/// Gives up uploads of a user, all or none: false when one of them is held by something now.
pub(crate) async fn discard(db: &Db, user_id: UserId, file_ids: &[FileId]) -> Result<bool, StoreError> {
    let mut tx = db.begin().await?;
    for file_id in file_ids {
        tx.query("update file set expires_at = 0 where file_id = $1 and user_id = $2 and expires_at > 0")
            .bind(*file_id)
            .bind(user_id)
            .execute()
            .await?;
    }
    let sql = format!("select count(*) from file where expires_at is null and file_id in {}", list(1, file_ids.len()));
    let (held,): (i64,) = tx.query(AssertSqlSafe(sql)).bind_list(file_ids).one().await?;
    if held > 0 {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

/// Files whose time has come, at most `limit`.
pub(crate) async fn expired(db: &Db, now: Timestamp, limit: u32) -> Result<Vec<StoredFile>, StoreError> {
    let sql = format!("select {COLUMNS} from file f where f.expires_at <= $1 order by f.expires_at limit $2");
    let rows: Vec<FileRow> = db.read(AssertSqlSafe(sql)).bind(now).bind(limit).all().await?;
    rows.into_iter().map(StoredFile::try_from).collect()
}

/// Whether a user or a room shows an image of ours.
pub(crate) async fn is_shown(db: &Db, image: &str, user_id: UserId) -> Result<bool, StoreError> {
    let sql = "select (select count(*) from account where user_id = $2 and image = $1) + \
        (select count(*) from room where image = $1 and deleted_at is null)";
    let (count,): (i64,) = db.read(sql).bind(image).bind(user_id).one().await?;
    Ok(count > 0)
}

/// Lets an upload live on.
pub(crate) async fn prolong(db: &Db, file_id: FileId, expires_at: Timestamp) -> Result<(), StoreError> {
    let sql = "update file set expires_at = $2 where file_id = $1 and expires_at > 0";
    db.write(sql).bind(file_id).bind(expires_at).execute().await?;
    Ok(())
}

/// Takes a file whose time has come away from everybody; false when something took it meanwhile.
pub(crate) async fn claim(db: &Db, file_id: FileId, now: Timestamp) -> Result<bool, StoreError> {
    let sql = "update file set expires_at = 0 where file_id = $1 and expires_at <= $2";
    Ok(db.write(sql).bind(file_id).bind(now).execute().await? > 0)
}

/// Forgets a file whose bytes are gone.
pub(crate) async fn forget(db: &Db, file_id: FileId) -> Result<(), StoreError> {
    db.write("delete from file where file_id = $1 and expires_at = 0").bind(file_id).execute().await?;
    Ok(())
}

/// Lets go of all files of a user, attached ones too. A room keeps its emoji, whoever brought them.
pub(crate) async fn release_user(db: &Db, user_id: UserId) -> Result<(), StoreError> {
    let sql = "update file set expires_at = 0, tick = null \
        where user_id = $1 and kind <> 'Emoji' and (expires_at is null or expires_at > 0)";
    db.write(sql).bind(user_id).execute().await?;
    Ok(())
}

/// Lets go of files of rooms that are deleted, at most `limit`; how many there were.
pub(crate) async fn release_deleted_rooms(db: &Db, limit: u32) -> Result<u64, StoreError> {
    let released = db
        .write(
            "update file set expires_at = 0, tick = null where file_id in ( \
               select f.file_id from room r join file f on f.room_id = r.room_id \
               where r.deleted_at is not null and (f.expires_at is null or f.expires_at > 0) limit $1)",
        )
        .bind(limit)
        .execute()
        .await?;
    Ok(released)
}
