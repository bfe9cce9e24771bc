//! Invites.

use std::{fmt, str::FromStr};

use parlour_protocol::{
    InvalidValue, InviteId, RoomId, Timestamp, UserId,
    object::{Invite, InviteRoom, RoomType},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::nonces::{self, FirstResult};
use crate::{
    rooms::invites::url,
    store::{
        StoreError,
        db::{Db, DbError},
    },
};

#[derive(sqlx::FromRow)]
struct InviteRow {
    invite_id: String,
    room_id: Uuid,
    user_id: Uuid,
    expires_at: Option<i64>,
    max_uses: i64,
    uses: i64,
    created_at: i64,
}

const INVITE_COLUMNS: &str = "i.invite_id, i.room_id, i.user_id, i.expires_at, i.max_uses, i.uses, i.created_at";

impl TryFrom<InviteRow> for Invite {
    type Error = StoreError;

    fn try_from(row: InviteRow) -> Result<Self, StoreError> {
        let invite_id: InviteId =
            row.invite_id.parse().map_err(|error| StoreError::Internal(format!("an invite id {error}").into()))?;
        Ok(Self {
            invite_id,
            room_id: RoomId::from_uuid(row.room_id),
            user_id: UserId::from_uuid(row.user_id),
            expires_at: row.expires_at.map(Timestamp::from_millis),
            max_uses: u32::try_from(row.max_uses).unwrap_or(0),
            uses: u32::try_from(row.uses).unwrap_or(0),
            created_at: Some(Timestamp::from_millis(row.created_at)),
            url: url(invite_id),
        })
    }
}

/// An invite with what of its room decides whether it can be used.
#[derive(Debug)]
pub(crate) struct FoundInvite {
    pub(crate) invite: Invite,
    pub(crate) is_paused: bool,
    pub(crate) room_type: RoomType,
}

/// The invite of a code, usable or not.
pub(crate) async fn find(db: &Db, invite_id: InviteId) -> Result<Option<FoundInvite>, StoreError> {
    let sql = format!("select {INVITE_COLUMNS} from invite i where i.invite_id = $1");
    let Some(row) = db.read(AssertSqlSafe(sql)).bind(invite_id).optional::<InviteRow>().await? else {
        return Ok(None);
    };
    let invite = Invite::try_from(row)?;
    let sql = "select is_invite_paused, type from room where room_id = $1 and deleted_at is null";
    let room = db.read(sql).bind(invite.room_id).optional::<(bool, String)>().await?;
    Ok(room.map(|(is_paused, room_type)| FoundInvite {
        invite,
        is_paused,
        room_type: room_type.parse().unwrap_or(RoomType::Room),
    }))
}

/// What an invite tells of its room.
pub(crate) async fn room_of(db: &Db, room_id: RoomId) -> Result<Option<InviteRoom>, StoreError> {
    let sql = "select r.name, r.topic, r.image, (select count(*) from member m where m.room_id = r.room_id) \
        from room r where r.room_id = $1 and r.deleted_at is null";
    let row = db.read(sql).bind(room_id).optional::<(String, String, String, i64)>().await?;
    Ok(row.map(|(name, topic, image, members)| InviteRoom {
        room_id,
        name,
        topic,
        image,
        member_count: u64::try_from(members).unwrap_or(0),
    }))
}

/// A member's invite of a room, usable or not.
pub(crate) async fn of_member(db: &Db, room_id: RoomId, user_id: UserId) -> Result<Option<Invite>, StoreError> {
    let sql = format!("select {INVITE_COLUMNS} from invite i where i.room_id = $1 and i.user_id = $2");
    let row = db.read(AssertSqlSafe(sql)).bind(room_id).bind(user_id).optional::<InviteRow>().await?;
    row.map(Invite::try_from).transpose()
}

/// An invite's place in the list of a room's invites, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvitePosition {
    created_at: Timestamp,
    invite_id: InviteId,
}

impl InvitePosition {
    pub(crate) fn of(invite: &Invite) -> Self {
        Self { created_at: invite.created_at.unwrap_or(Timestamp::from_millis(0)), invite_id: invite.invite_id }
    }
}

impl fmt::Display for InvitePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.created_at.as_millis(), self.invite_id)
    }
}

impl FromStr for InvitePosition {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (created_at, invite_id) = text.split_once(' ').unwrap_or_default();
        let created_at = Timestamp::from_millis(created_at.parse().unwrap_or(0));
        Ok(Self { created_at, invite_id: invite_id.parse()? })
    }
}

/// A page of a room's invites, newest first.
pub(crate) async fn page(
    db: &Db,
    room_id: RoomId,
    after: Option<InvitePosition>,
    limit: usize,
) -> Result<Vec<Invite>, StoreError> {
    let sql = format!(
        "select {INVITE_COLUMNS} from invite i where i.room_id = $1 \
         and ($2 or i.created_at < $3 or (i.created_at = $3 and i.invite_id < $4)) \
         order by i.created_at desc, i.invite_id desc limit $5"
    );
    let rows: Vec<InviteRow> = db
        .read(AssertSqlSafe(sql))
        .bind(room_id)
        .bind(after.is_none())
        .bind(after.map_or(Timestamp::from_millis(0), |after| after.created_at))
        .bind(after.map(|after| after.invite_id.to_string()).unwrap_or_default())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all()
        .await?;
    rows.into_iter().map(Invite::try_from).collect()
}

/// Why no invite was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateInviteError {
    /// The code is in use.
    #[error("the code is in use")]
    CodeTaken,
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes an invite in place of its maker's earlier one of the room.
pub(crate) async fn replace(db: &Db, invite: &Invite, result: Option<FirstResult>) -> Result<(), CreateInviteError> {
    let fault = |error: DbError| CreateInviteError::Store(error.into());
    let mut tx = db.begin().await.map_err(fault)?;
    nonces::remember(&mut tx, result).await.map_err(|error| match error {
        DbError::Unique => CreateInviteError::Repeat,
        error => fault(error),
    })?;
    tx.query("delete from invite where room_id = $1 and user_id = $2")
        .bind(invite.room_id)
        .bind(invite.user_id)
        .execute()
        .await
        .map_err(fault)?;
    tx.query(
        "insert into invite (invite_id, room_id, user_id, expires_at, max_uses, uses, created_at) \
         values ($1, $2, $3, $4, $5, 0, $6)",
    )
    .bind(invite.invite_id)
    .bind(invite.room_id)
    .bind(invite.user_id)
    .bind(invite.expires_at)
    .bind(invite.max_uses)
    .bind(invite.created_at)
    .execute()
    .await
    .map_err(|error| match error {
        DbError::Unique => CreateInviteError::CodeTaken,
        error => fault(error),
    })?;
    tx.commit().await.map_err(fault)
}

/// Ends an invite.
pub(crate) async fn remove(db: &Db, invite_id: InviteId) -> Result<(), StoreError> {
    db.write("delete from invite where invite_id = $1").bind(invite_id).execute().await?;
    Ok(())
}
