//! Bans, the moderation log and notes.

use std::{collections::HashMap, fmt, str::FromStr};

use parlour_protocol::{
    InvalidValue, LogEntryId, RoomId, Timestamp, UserId,
    object::{Ban, ModerationAction, ModerationLogEntry, Note, User},
};
use uuid::Uuid;

use super::{
    accounts,
    nonces::{self, FirstResult},
};
use crate::store::{
    StoreError,
    db::{Db, DbError},
};

/// A place in a list that begins with the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewestFirst {
    at: Timestamp,
    id: Uuid,
}

impl NewestFirst {
    pub(crate) fn of_ban(ban: &Ban) -> Self {
        Self { at: ban.created_at.unwrap_or(Timestamp::from_millis(0)), id: ban.user.user_id.uuid() }
    }

    pub(crate) fn of_entry(entry: &ModerationLogEntry) -> Self {
        Self { at: entry.created_at.unwrap_or(Timestamp::from_millis(0)), id: entry.id.uuid() }
    }

    pub(crate) fn of_note(note: &Note) -> Self {
        Self { at: note.created_at, id: note.id.uuid() }
    }

    /// Before everything.
    fn start() -> Self {
        Self { at: Timestamp::from_millis(i64::MAX), id: Uuid::max() }
    }
}

impl fmt::Display for NewestFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at.as_millis(), self.id)
    }
}

impl FromStr for NewestFirst {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (at, id) = text.split_once(' ').unwrap_or_default();
        let id: UserId = id.parse()?;
        Ok(Self { at: Timestamp::from_millis(at.parse().unwrap_or(0)), id: id.uuid() })
    }
}

fn most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A page of bans, newest first, of users whose name holds `query` in any case.
pub(crate) async fn bans(
    db: &Db,
    room_id: RoomId,
    query: Option<&str>,
    after: Option<NewestFirst>,
    limit: usize,
) -> Result<Vec<Ban>, StoreError> {
    // Names are compared here, since the databases do not agree on what the lower case of a letter is.
    let rows_wanted = if query.is_some() { i64::MAX } else { most(limit) };
    let after = after.unwrap_or(NewestFirst::start());
    let rows: Vec<(Uuid, Option<Uuid>, String, i64, String)> = db
        .read(
            "select b.user_id, b.banned_by_user_id, b.reason, b.created_at, a.name from ban b \
             join account a on a.user_id = b.user_id \
             where b.room_id = $1 and (b.created_at < $2 or (b.created_at = $2 and b.user_id < $3)) \
             order by b.created_at desc, b.user_id desc limit $4",
        )
        .bind(room_id)
        .bind(after.at)
        .bind(after.id)
        .bind(rows_wanted)
        .all()
        .await?;
    let wanted = query.map(str::to_lowercase);
    let matches = |name: &str| wanted.as_ref().is_none_or(|wanted| name.to_lowercase().contains(wanted));
    let rows: Vec<_> = rows.into_iter().filter(|(.., name)| matches(name)).take(limit).collect();
    let ids: Vec<_> = rows.iter().map(|row| UserId::from_uuid(row.0)).collect();
    let mut users: HashMap<UserId, User> =
        accounts::users(db, &ids).await?.into_iter().map(|user| (user.user_id, user)).collect();
    let bans = rows.into_iter().filter_map(|(user_id, by, reason, created_at, _)| {
        Some(Ban {
            room_id,
            user: users.remove(&UserId::from_uuid(user_id))?,
            banned_by_user_id: by.map(UserId::from_uuid),
            reason,
            created_at: Some(Timestamp::from_millis(created_at)),
        })
    });
    Ok(bans.collect())
}

/// What entries of the moderation log are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LogFilter {
    pub(crate) actor: Option<UserId>,
    pub(crate) target: Option<UserId>,
    pub(crate) action: Option<ModerationAction>,
}

#[derive(sqlx::FromRow)]
struct EntryRow {
    log_entry_id: Uuid,
    r#type: String,
    actor_user_id: Uuid,
    target_user_id: Uuid,
    duration_ms: Option<i64>,
    reason: String,
    created_at: i64,
}

/// A page of the moderation log, newest first.
pub(crate) async fn log(
    db: &Db,
    room_id: RoomId,
    filter: LogFilter,
    after: Option<NewestFirst>,
    limit: usize,
) -> Result<Vec<ModerationLogEntry>, StoreError> {
    let after = after.unwrap_or(NewestFirst::start());
    let nobody = UserId::from_uuid(Uuid::nil());
    let rows: Vec<EntryRow> = db
        .read(
            "select log_entry_id, type, actor_user_id, target_user_id, duration_ms, reason, created_at \
             from moderation_log where room_id = $1 \
             and (created_at < $2 or (created_at = $2 and log_entry_id < $3)) \
             and ($4 or actor_user_id = $5) and ($6 or target_user_id = $7) and ($8 or type = $9) \
             order by created_at desc, log_entry_id desc limit $10",
        )
        .bind(room_id)
        .bind(after.at)
        .bind(after.id)
        .bind(filter.actor.is_none())
        .bind(filter.actor.unwrap_or(nobody))
        .bind(filter.target.is_none())
        .bind(filter.target.unwrap_or(nobody))
        .bind(filter.action.is_none())
        .bind(filter.action.map_or("", |action| action.as_str()))
        .bind(most(limit))
        .all()
        .await?;
    let entries = rows.into_iter().filter_map(|row| {
        Some(ModerationLogEntry {
            id: LogEntryId::from_uuid(row.log_entry_id),
            room_id,
            r#type: row.r#type.parse().ok()?,
            actor_user_id: UserId::from_uuid(row.actor_user_id),
            target_user_id: UserId::from_uuid(row.target_user_id),
            duration_ms: row.duration_ms.and_then(|duration| u64::try_from(duration).ok()),
            reason: row.reason,
            created_at: Some(Timestamp::from_millis(row.created_at)),
        })
    });
    Ok(entries.collect())
}

/// Why no note was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateNoteError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a note.
pub(crate) async fn create_note(db: &Db, note: &Note, result: Option<FirstResult>) -> Result<(), CreateNoteError> {
    let fault = |error: DbError| CreateNoteError::Store(error.into());
    let mut tx = db.begin().await.map_err(fault)?;
    nonces::remember(&mut tx, result).await.map_err(|error| match error {
        DbError::Unique => CreateNoteError::Repeat,
        error => fault(error),
    })?;
    tx.query(
        "insert into moderation_note (note_id, room_id, target_user_id, actor_user_id, note, created_at) \
         values ($1, $2, $3, $4, $5, $6)",
    )
    .bind(note.id)
    .bind(note.room_id)
    .bind(note.target_user_id)
    .bind(note.actor_user_id)
    .bind(&note.note)
    .bind(note.created_at)
    .execute()
    .await
    .map_err(fault)?;
    tx.commit().await.map_err(fault)
}

/// A page of the notes about a user, newest first.
pub(crate) async fn notes(
    db: &Db,
    room_id: RoomId,
    user_id: UserId,
    after: Option<NewestFirst>,
    limit: usize,
) -> Result<Vec<Note>, StoreError> {
    let after = after.unwrap_or(NewestFirst::start());
    let rows: Vec<(Uuid, Uuid, String, i64)> = db
        .read(
            "select note_id, actor_user_id, note, created_at from moderation_note \
             where room_id = $1 and target_user_id = $2 \
             and (created_at < $3 or (created_at = $3 and note_id < $4)) \
             order by created_at desc, note_id desc limit $5",
        )
        .bind(room_id)
        .bind(user_id)
        .bind(after.at)
        .bind(after.id)
        .bind(most(limit))
        .all()
        .await?;
    let notes = rows.into_iter().map(|(id, actor, note, created_at)| Note {
        id: LogEntryId::from_uuid(id),
        room_id,
        target_user_id: user_id,
        actor_user_id: UserId::from_uuid(actor),
        note,
        created_at: Timestamp::from_millis(created_at),
    });
    Ok(notes.collect())
}

/// How many notes there are about a user.
pub(crate) async fn count_notes(db: &Db, room_id: RoomId, user_id: UserId) -> Result<u64, StoreError> {
    let sql = "select count(*) from moderation_note where room_id = $1 and target_user_id = $2";
    let (count,): (i64,) = db.read(sql).bind(room_id).bind(user_id).one().await?;
    Ok(u64::try_from(count).unwrap_or(0))
}
