//! Rooms as they are stored, and as one member sees them.

use std::{collections::HashMap, fmt, str::FromStr, sync::Arc};

use parlour_protocol::{
    InvalidValue, Permissions, RoleId, RoomId, Timestamp, UserId,
    object::{Head, Membership, MimeCategory, Role, Room, RoomType, RoomView},
    operation::RoomOrder,
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    filters,
    members::{MEMBERSHIP_COLUMNS, MembershipRow},
    nonces::{self, FirstResult},
};
use crate::{
    filter::WordFilter,
    rooms::state::RoomSettings,
    store::{
        StoreError,
        db::{Db, DbError, list},
    },
};

#[derive(sqlx::FromRow)]
struct RoomRow {
    room_id: Uuid,
    r#type: String,
    name: String,
    topic: String,
    image: String,
    owner_id: Option<Uuid>,
    is_read_only: bool,
    is_invite_paused: bool,
    slowmode_ms: Option<i64>,
    max_file_size_bytes: Option<i64>,
    allowed_mime_categories: String,
    room_created_at: i64,
    updated_at: i64,
    epoch: String,
    seq: i64,
    active_tick: i64,
}

const ROOM_COLUMNS: &str = "r.room_id, r.type, r.name, r.topic, r.image, r.user_id as owner_id, r.is_read_only, \
    r.is_invite_paused, r.slowmode_ms, r.max_file_size_bytes, r.allowed_mime_categories, \
    r.created_at as room_created_at, r.updated_at, h.epoch, h.seq, h.active_tick";

impl RoomRow {
    fn head(&self) -> Head {
        Head { epoch: self.epoch.clone(), seq: u64::try_from(self.seq).unwrap_or(0) }
    }

    fn into_room(self) -> Room {
        Room {
            room_id: RoomId::from_uuid(self.room_id),
            r#type: self.r#type.parse().unwrap_or(RoomType::Room),
            name: self.name,
            topic: self.topic,
            image: self.image,
            user_id: self.owner_id.map(UserId::from_uuid),
            is_read_only: self.is_read_only,
            is_invite_paused: self.is_invite_paused,
            slowmode_ms: self.slowmode_ms.and_then(|value| u64::try_from(value).ok()),
            max_file_size_bytes: self.max_file_size_bytes.and_then(|value| u64::try_from(value).ok()),
            allowed_mime_categories: serde_json::from_str::<Vec<MimeCategory>>(&self.allowed_mime_categories)
                .unwrap_or_else(|_| MimeCategory::ALL.to_vec()),
            created_at: Some(Timestamp::from_millis(self.room_created_at)),
            updated_at: Some(Timestamp::from_millis(self.updated_at)),
            last_activity_at: Some(Timestamp::from_millis(self.active_tick / 1_000_000)),
        }
    }
}

#[derive(sqlx::FromRow)]
struct RoleRow {
    role_id: Uuid,
    room_id: Uuid,
    name: String,
    color: String,
    position: i64,
    permissions: i64,
    is_everyone: bool,
    created_at: i64,
    updated_at: i64,
}

const ROLE_COLUMNS: &str = "role_id, room_id, name, color, position, permissions, is_everyone, created_at, updated_at";

impl From<RoleRow> for Role {
    fn from(row: RoleRow) -> Self {
        Self {
            role_id: RoleId::from_uuid(row.role_id),
            room_id: RoomId::from_uuid(row.room_id),
            name: row.name,
            color: row.color,
            position: u32::try_from(row.position).unwrap_or(0),
            permissions: Permissions::from_bits(u64::try_from(row.permissions).unwrap_or(0)),
            is_everyone: row.is_everyone,
            created_at: Some(Timestamp::from_millis(row.created_at)),
            updated_at: Some(Timestamp::from_millis(row.updated_at)),
        }
    }
}

/// A room's settings and roles; none when it is unknown or deleted.
pub(crate) async fn settings(db: &Db, room_id: RoomId) -> Result<Option<RoomSettings>, StoreError> {
    let sql = format!(
        "select {ROOM_COLUMNS} from room r join room_head h on h.room_id = r.room_id \
         where r.room_id = $1 and r.deleted_at is null"
    );
    let Some(row) = db.read(AssertSqlSafe(sql)).bind(room_id).optional::<RoomRow>().await? else { return Ok(None) };
    let mut settings = RoomSettings::new(row.into_room(), roles(db, &[room_id]).await?);
    settings.filter = filters::find(db, room_id).await?.map(|filter| Arc::new(WordFilter::new(filter)));
    Ok(Some(settings))
}

/// The roles of rooms, highest first.
pub(crate) async fn roles(db: &Db, room_ids: &[RoomId]) -> Result<Vec<Role>, StoreError> {
    let sql = format!(
        "select {ROLE_COLUMNS} from role where room_id in {} order by position desc, created_at, role_id",
        list(1, room_ids.len())
    );
    let rows: Vec<RoleRow> = db.read(AssertSqlSafe(sql)).bind_list(room_ids).all().await?;
    Ok(rows.into_iter().map(Role::from).collect())
}

/// A room to be made.
pub(crate) struct NewRoom<'a> {
    /// How its owner sees it.
    pub(crate) view: &'a RoomView,
    pub(crate) everyone: &'a Role,
    pub(crate) result: Option<FirstResult>,
}

/// Why no room was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateRoomError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a room with its head, owner and `@everyone`.
pub(crate) async fn create(db: &Db, new: NewRoom<'_>) -> Result<(), CreateRoomError> {
    let NewRoom { view, everyone, result } = new;
    let room = &view.room;
    let fault = |error: DbError| CreateRoomError::Store(error.into());
    let now = room.created_at.unwrap_or_else(Timestamp::now);
    let epoch = view.head.as_ref().map_or("", |head| head.epoch.as_str());
    let categories = serde_json::to_string(&room.allowed_mime_categories).unwrap_or_default();
    let mut tx = db.begin().await.map_err(fault)?;
    nonces::remember(&mut tx, result).await.map_err(|error| match error {
        DbError::Unique => CreateRoomError::Repeat,
        error => fault(error),
    })?;
    tx.query(
        "insert into room (room_id, type, name, topic, image, user_id, is_read_only, is_invite_paused, slowmode_ms, \
         max_file_size_bytes, allowed_mime_categories, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)",
    )
    .bind(room.room_id)
    .bind(room.r#type.as_str())
    .bind(&room.name)
    .bind(&room.topic)
    .bind(&room.image)
    .bind(room.user_id)
    .bind(room.is_read_only)
    .bind(room.is_invite_paused)
    .bind(room.slowmode_ms)
    .bind(room.max_file_size_bytes)
    .bind(categories)
    .bind(now)
    .execute()
    .await
    .map_err(fault)?;
    tx.query("insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, $2, 0, 0, $3)")
        .bind(room.room_id)
        .bind(epoch)
        .bind(now.as_millis().saturating_mul(1_000_000))
        .execute()
        .await
        .map_err(fault)?;
    let notification = view.membership.notification_type.map_or("", |notification| notification.as_str());
    tx.query(
        "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
         values ($1, $2, '', $3, $4, $5)",
    )
    .bind(room.room_id)
    .bind(view.membership.user_id)
    .bind(notification)
    .bind(false)
    .bind(now)
    .execute()
    .await
    .map_err(fault)?;
    tx.query(
        "insert into role (role_id, room_id, name, color, position, permissions, is_everyone, created_at, updated_at) \
         values ($1, $2, $3, '', $4, $5, $6, $7, $7)",
    )
    .bind(everyone.role_id)
    .bind(room.room_id)
    .bind(&everyone.name)
    .bind(everyone.position)
    .bind(everyone.permissions.bits())
    .bind(true)
    .bind(now)
    .execute()
    .await
    .map_err(fault)?;
    tx.commit().await.map_err(fault)
}

/// How many rooms a user is in.
pub(crate) async fn count_of(db: &Db, user_id: UserId) -> Result<u64, StoreError> {
    let (count,) = db.read("select count(*) from member where user_id = $1").bind(user_id).one::<(i64,)>().await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// A room's place in a list of rooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoomPosition {
    pub(crate) active_tick: i64,
    pub(crate) room_id: RoomId,
}

impl fmt::Display for RoomPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.active_tick, self.room_id)
    }
}

impl FromStr for RoomPosition {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (active_tick, room_id) = text.split_once(' ').unwrap_or_default();
        Ok(Self { active_tick: active_tick.parse().unwrap_or(0), room_id: room_id.parse()? })
    }
}

/// Rooms to list.
pub(crate) struct RoomsQuery<'a> {
    pub(crate) user_id: UserId,
    pub(crate) room_type: RoomType,
    pub(crate) order: RoomOrder,
    /// Part of the name, in any case.
    pub(crate) query: Option<&'a str>,
    pub(crate) after: Option<RoomPosition>,
    pub(crate) limit: usize,
}

/// A page of the places of a user's rooms; hidden direct messages are left out.
pub(crate) async fn page(db: &Db, wanted: RoomsQuery<'_>) -> Result<Vec<RoomPosition>, StoreError> {
    let RoomsQuery { user_id, room_type, order, query, after, limit } = wanted;
    let (beyond, ordering) = match order {
        RoomOrder::Activity => {
            ("(h.active_tick < $2 or (h.active_tick = $2 and r.room_id < $3))", "h.active_tick desc, r.room_id desc")
        }
        RoomOrder::Id => ("($2 = $2 and r.room_id > $3)", "r.room_id"),
    };
    // A name is compared here, since the databases do not agree on what the lower case of a letter is.
    let most = if query.is_some() { i64::MAX } else { i64::try_from(limit).unwrap_or(i64::MAX) };
    let sql = format!(
        "select r.room_id, h.active_tick, r.name from member m join room r on r.room_id = m.room_id \
         join room_head h on h.room_id = r.room_id \
         where m.user_id = $1 and r.type = $6 and not (r.type = 'DirectMessage' and m.is_hidden) \
         and r.deleted_at is null and ($4 or {beyond}) \
         order by {ordering} limit $5"
    );
    let position = after.unwrap_or(RoomPosition { active_tick: 0, room_id: RoomId::from_uuid(Uuid::nil()) });
    let rows: Vec<(Uuid, i64, String)> = db
        .read(AssertSqlSafe(sql))
        .bind(user_id)
        .bind(position.active_tick)
        .bind(position.room_id)
        .bind(after.is_none())
        .bind(most)
        .bind(room_type.as_str())
        .all()
        .await?;
    let wanted = query.map(str::to_lowercase);
    let matches = |name: &str| wanted.as_ref().is_none_or(|wanted| name.to_lowercase().contains(wanted));
    let rows = rows.into_iter().filter(|(_, _, name)| matches(name)).take(limit);
    Ok(rows
        .map(|(room_id, active_tick, _)| RoomPosition { active_tick, room_id: RoomId::from_uuid(room_id) })
        .collect())
}

/// Rooms as one member sees them, in the order asked; those that the user is not in are left out.
pub(crate) async fn views(db: &Db, user_id: UserId, room_ids: &[RoomId]) -> Result<Vec<RoomView>, StoreError> {
    if room_ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "select {ROOM_COLUMNS} from room r join room_head h on h.room_id = r.room_id \
         join member m on m.room_id = r.room_id and m.user_id = $1 \
         where r.deleted_at is null and r.room_id in {}",
        list(2, room_ids.len())
    );
    let rooms: Vec<RoomRow> = db.read(AssertSqlSafe(sql)).bind(user_id).bind_list(room_ids).all().await?;
    let sql = format!(
        "select {MEMBERSHIP_COLUMNS} from member m where m.user_id = $1 and m.room_id in {}",
        list(2, room_ids.len())
    );
    let memberships: Vec<MembershipRow> = db.read(AssertSqlSafe(sql)).bind(user_id).bind_list(room_ids).all().await?;
    let sql = format!(
        "select room_id, role_id from member_role where user_id = $1 and room_id in {}",
        list(2, room_ids.len())
    );
    let held: Vec<(Uuid, Uuid)> = db.read(AssertSqlSafe(sql)).bind(user_id).bind_list(room_ids).all().await?;
    let mut roles_of_room: HashMap<RoomId, Vec<Role>> = HashMap::new();
    for role in roles(db, room_ids).await? {
        roles_of_room.entry(role.room_id).or_default().push(role);
    }
    let mut memberships: HashMap<RoomId, Membership> =
        memberships.into_iter().map(Membership::from).map(|membership| (membership.room_id, membership)).collect();
    let mut views: HashMap<RoomId, RoomView> = rooms
        .into_iter()
        .filter_map(|row| {
            let head = row.head();
            let room = row.into_room();
            let room_id = room.room_id;
            let membership = memberships.remove(&room_id)?;
            let held: Vec<_> = held
                .iter()
                .filter(|(room, _)| *room == room_id.uuid())
                .map(|(_, role_id)| RoleId::from_uuid(*role_id))
                .collect();
            let settings = RoomSettings::new(room, roles_of_room.remove(&room_id).unwrap_or_default());
            let view = RoomView {
                membership,
                permissions: settings.permissions(user_id, &held),
                is_room_owner: settings.is_owner(user_id),
                top_role_position: settings.top_role_position(&held),
                head: Some(head),
                participants: Vec::new(),
                participant_count: 0,
                room: settings.room,
            };
            Some((room_id, view))
        })
        .collect();
    fill_participants(db, user_id, &mut views).await?;
    Ok(room_ids.iter().filter_map(|room_id| views.remove(room_id)).collect())
}

/// Fills in who else is in direct messages: the first ten, and how many.
async fn fill_participants(db: &Db, user_id: UserId, views: &mut HashMap<RoomId, RoomView>) -> Result<(), StoreError> {
    let is_direct = |view: &&RoomView| view.room.r#type == RoomType::DirectMessage;
    let room_ids: Vec<RoomId> = views.values().filter(is_direct).map(|view| view.room.room_id).collect();
    if room_ids.is_empty() {
        return Ok(());
    }
    let sql = format!(
        "select room_id, user_id, total from (select m.room_id, m.user_id, \
         row_number() over (partition by m.room_id order by m.created_at, m.user_id) as place, \
         count(*) over (partition by m.room_id) as total \
         from member m where m.user_id <> $1 and m.room_id in {}) others where place <= 10 order by place",
        list(2, room_ids.len())
    );
    let rows: Vec<(Uuid, Uuid, i64)> = db.read(AssertSqlSafe(sql)).bind(user_id).bind_list(&room_ids).all().await?;
    let mut user_ids: Vec<UserId> = rows.iter().map(|(_, user_id, _)| UserId::from_uuid(*user_id)).collect();
    user_ids.sort_unstable();
    user_ids.dedup();
    let mut users = HashMap::new();
    for chunk in user_ids.chunks(1000) {
        let found = super::accounts::users(db, chunk).await?;
        users.extend(found.into_iter().map(|user| (user.user_id, user)));
    }
    for (room_id, user_id, total) in rows {
        let view = views.get_mut(&RoomId::from_uuid(room_id));
        if let (Some(view), Some(user)) = (view, users.get(&UserId::from_uuid(user_id))) {
            view.participants.push(user.clone());
            view.participant_count = u32::try_from(total).unwrap_or(u32::MAX);
        }
    }
    Ok(())
}
