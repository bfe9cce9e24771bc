//! Memberships and members.

use std::{collections::HashMap, fmt, str::FromStr};

use parlour_protocol::{
    CategoryId, InvalidValue, Patch, RoleId, RoomId, Timestamp, UserId,
    object::{Member, MemberRoles, Membership, NotificationType, User},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::accounts;
use crate::{
    rooms::state::MemberState,
    store::{
        StoreError,
        db::{Db, list},
    },
};

#[derive(sqlx::FromRow)]
pub(super) struct MembershipRow {
    room_id: Uuid,
    user_id: Uuid,
    nickname: String,
    notification_type: String,
    last_read_at: Option<i64>,
    last_message_at: Option<i64>,
    timeout_until: Option<i64>,
    is_hidden: bool,
    category_id: Option<Uuid>,
    created_at: i64,
    unread_count: i64,
    mention_count: i64,
}

/// A membership without its computed counts.
const OWN_COLUMNS: &str = "m.room_id, m.user_id, m.nickname, m.notification_type, m.last_read_at, \
    m.last_message_at, m.timeout_until, m.is_hidden, m.category_id, m.created_at";

/// A membership with its computed counts: messages by others in a later millisecond than the marker, else than joining,
/// and those of them, also later than the last clearing, that mention the member. Counting stops at the protocol's cap
/// of 100. A mention by name or by a role counts whatever the member set; one of everyone unless they set Never; one of
/// who is here unless they also set that they are not. `cross join` keeps SQLite from going through all mentions.
pub(super) const MEMBERSHIP_COLUMNS: &str = "m.room_id, m.user_id, m.nickname, m.notification_type, m.last_read_at, \
    m.last_message_at, m.timeout_until, m.is_hidden, m.category_id, m.created_at, \
    (select count(*) from (select 1 from message x where x.room_id = m.room_id \
      and x.tick >= (coalesce(m.last_read_at, m.created_at) + 1) * 1000000 \
      and x.user_id is distinct from m.user_id and x.type in ('Message', 'Poll', 'Webhook') \
      and x.deleted_at is null limit 100) unread) as unread_count, \
    (select count(*) from (select distinct x.tick from ( \
        select 0 as kind, m.user_id as target \
        union all select 1, r.role_id from member_role r where r.room_id = m.room_id and r.user_id = m.user_id \
        union all select 2, m.room_id where m.notification_type <> 'Never' \
        union all select 3, m.room_id where m.notification_type <> 'Never' and not exists (select 1 \
          from user_status s where s.user_id = m.user_id and s.status <> 'Online')) t \
      cross join mention x where x.room_id = m.room_id and x.kind = t.kind and x.target = t.target \
      and x.tick >= (case when m.mentions_cleared_at > coalesce(m.last_read_at, m.created_at) \
        then m.mentions_cleared_at else coalesce(m.last_read_at, m.created_at) end + 1) * 1000000 \
      and x.author is distinct from m.user_id limit 100) mentions) as mention_count";

impl From<MembershipRow> for Membership {
    fn from(row: MembershipRow) -> Self {
        Self {
            room_id: RoomId::from_uuid(row.room_id),
            user_id: UserId::from_uuid(row.user_id),
            nickname: row.nickname,
            notification_type: Some(row.notification_type.parse().unwrap_or(NotificationType::DirectMessage)),
            last_read_at: row.last_read_at.map(Timestamp::from_millis),
            last_message_at: row.last_message_at.map(Timestamp::from_millis),
            unread_count: u32::try_from(row.unread_count).unwrap_or(0),
            mention_count: u32::try_from(row.mention_count).unwrap_or(0),
            timeout_until: row.timeout_until.map(Timestamp::from_millis),
            is_hidden: row.is_hidden,
            category_id: row.category_id.map(CategoryId::from_uuid),
            created_at: Some(Timestamp::from_millis(row.created_at)),
        }
    }
}

/// A member as the guards need them, in one query; none when the user is not in the room.
///
/// `has_roles` says whether the room has roles that a member could hold.
pub(crate) async fn member(
    db: &Db,
    room_id: RoomId,
    user_id: UserId,
    has_roles: bool,
) -> Result<Option<MemberState>, StoreError> {
    let sql = format!(
        "select {OWN_COLUMNS}, a.name, cast(0 as bigint) as unread_count, cast(0 as bigint) as mention_count \
         from member m join account a on a.user_id = m.user_id where m.room_id = $1 and m.user_id = $2"
    );
    let row = db.read(AssertSqlSafe(sql)).bind(room_id).bind(user_id).optional::<NamedRow>().await?;
    let Some(NamedRow { membership, name }) = row else { return Ok(None) };
    let held = if has_roles { roles_of(db, room_id, &[user_id]).await? } else { Vec::new() };
    let role_ids = held.into_iter().next().map(|held| held.role_ids).unwrap_or_default();
    Ok(Some(MemberState::new(membership.into(), name, role_ids)))
}

#[derive(sqlx::FromRow)]
struct NamedRow {
    #[sqlx(flatten)]
    membership: MembershipRow,
    name: String,
}

/// A user's memberships of rooms; those that they are not in are left out.
pub(crate) async fn memberships(db: &Db, user_id: UserId, room_ids: &[RoomId]) -> Result<Vec<Membership>, StoreError> {
    let sql = format!(
        "select {MEMBERSHIP_COLUMNS} from member m join room r on r.room_id = m.room_id \
         where m.user_id = $1 and r.deleted_at is null and m.room_id in {}",
        list(2, room_ids.len())
    );
    let rows: Vec<MembershipRow> = db.read(AssertSqlSafe(sql)).bind(user_id).bind_list(room_ids).all().await?;
    let mut found: HashMap<RoomId, Membership> =
        rows.into_iter().map(Membership::from).map(|membership| (membership.room_id, membership)).collect();
    Ok(room_ids.iter().filter_map(|room_id| found.remove(room_id)).collect())
}

/// The memberships of those of `user_ids`, and of the holders of `role_ids`, who are in a room.
pub(crate) async fn mentioned(
    db: &Db,
    room_id: RoomId,
    mut user_ids: Vec<UserId>,
    role_ids: &[RoleId],
    but: Option<UserId>,
) -> Result<Vec<Membership>, StoreError> {
    if !role_ids.is_empty() {
        let sql = format!(
            "select distinct user_id from member_role where room_id = $1 and role_id in {}",
            list(2, role_ids.len())
        );
        let rows: Vec<(Uuid,)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(role_ids).all().await?;
        user_ids.extend(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)));
    }
    user_ids.retain(|user_id| Some(*user_id) != but);
    user_ids.sort_unstable();
    user_ids.dedup();
    let mut found = Vec::new();
    for user_ids in user_ids.chunks(256) {
        let sql = format!(
            "select {MEMBERSHIP_COLUMNS} from member m where m.room_id = $1 and m.user_id in {}",
            list(2, user_ids.len())
        );
        let rows: Vec<MembershipRow> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(user_ids).all().await?;
        found.extend(rows.into_iter().map(Membership::from));
    }
    Ok(found)
}

/// Everybody in a room.
pub(crate) async fn ids(db: &Db, room_id: RoomId) -> Result<Vec<UserId>, StoreError> {
    let rows: Vec<(Uuid,)> = db.read("select user_id from member where room_id = $1").bind(room_id).all().await?;
    Ok(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)).collect())
}

/// The rooms that users are in; users without a room are left out.
pub(crate) async fn rooms_of(db: &Db, user_ids: &[UserId]) -> Result<HashMap<UserId, Vec<RoomId>>, StoreError> {
    let sql = format!("select user_id, room_id from member where user_id in {}", list(1, user_ids.len()));
    let rows: Vec<(Uuid, Uuid)> = db.read(AssertSqlSafe(sql)).bind_list(user_ids).all().await?;
    let mut rooms: HashMap<UserId, Vec<RoomId>> = HashMap::new();
    for (user_id, room_id) in rows {
        rooms.entry(UserId::from_uuid(user_id)).or_default().push(RoomId::from_uuid(room_id));
    }
    Ok(rooms)
}

/// Whether a user is banned from a room.
pub(crate) async fn is_banned(db: &Db, room_id: RoomId, user_id: UserId) -> Result<bool, StoreError> {
    let sql = "select count(*) from ban where room_id = $1 and user_id = $2";
    let (count,) = db.read(sql).bind(room_id).bind(user_id).one::<(i64,)>().await?;
    Ok(count > 0)
}

/// The roles of members; users without a role are left out.
pub(crate) async fn roles_of(db: &Db, room_id: RoomId, user_ids: &[UserId]) -> Result<Vec<MemberRoles>, StoreError> {
    let sql = format!(
        "select user_id, role_id from member_role where room_id = $1 and user_id in {} order by user_id, role_id",
        list(2, user_ids.len())
    );
    let rows: Vec<(Uuid, Uuid)> = db.read(AssertSqlSafe(sql)).bind(room_id).bind_list(user_ids).all().await?;
    let mut held: Vec<MemberRoles> = Vec::new();
    for (user_id, role_id) in rows {
        let user_id = UserId::from_uuid(user_id);
        match held.last_mut().filter(|last| last.user_id == user_id) {
            Some(last) => last.role_ids.push(RoleId::from_uuid(role_id)),
            None => held.push(MemberRoles { user_id, role_ids: vec![RoleId::from_uuid(role_id)] }),
        }
    }
    Ok(held)
}

/// A member's place in the list of a room's members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemberPosition {
    joined_at: Timestamp,
    user_id: UserId,
}

impl MemberPosition {
    pub(crate) fn of(member: &Member) -> Self {
        let joined_at = member.created_at.unwrap_or(Timestamp::from_millis(0));
        Self { joined_at, user_id: member.user_id }
    }
}

impl fmt::Display for MemberPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.joined_at.as_millis(), self.user_id)
    }
}

impl FromStr for MemberPosition {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (joined_at, user_id) = text.split_once(' ').unwrap_or_default();
        let joined_at = Timestamp::from_millis(joined_at.parse().unwrap_or(0));
        Ok(Self { joined_at, user_id: user_id.parse()? })
    }
}

/// Members to read.
pub(crate) struct MemberQuery<'a> {
    pub(crate) room_id: RoomId,
    /// Part of the account name or nickname, in any case.
    pub(crate) query: Option<&'a str>,
    /// Only these.
    pub(crate) user_ids: Option<&'a [UserId]>,
    pub(crate) after: Option<MemberPosition>,
    pub(crate) limit: usize,
}

/// One member as others see them.
pub(crate) async fn one(db: &Db, room_id: RoomId, user_id: UserId) -> Result<Option<Member>, StoreError> {
    let query = MemberQuery { room_id, query: None, user_ids: Some(&[user_id]), after: None, limit: 1 };
    Ok(page(db, query).await?.into_iter().next())
}

/// A page of members by the time they joined.
pub(crate) async fn page(db: &Db, wanted: MemberQuery<'_>) -> Result<Vec<Member>, StoreError> {
    let MemberQuery { room_id, query, user_ids, after, limit } = wanted;
    let only = match user_ids {
        Some(user_ids) => format!("and m.user_id in {}", list(6, user_ids.len())),
        None => String::new(),
    };
    let sql = format!(
        "select m.user_id, m.nickname, m.timeout_until, m.created_at, a.name from member m \
         join account a on a.user_id = m.user_id \
         where m.room_id = $1 and ($2 or m.created_at > $3 or (m.created_at = $3 and m.user_id > $4)) {only} \
         order by m.created_at, m.user_id limit $5"
    );
    // Names are compared here, since the databases do not agree on what the lower case of a letter is.
    let most = if query.is_some() { i64::MAX } else { i64::try_from(limit).unwrap_or(i64::MAX) };
    let position = after
        .unwrap_or(MemberPosition { joined_at: Timestamp::from_millis(0), user_id: UserId::from_uuid(Uuid::nil()) });
    let rows: Vec<(Uuid, String, Option<i64>, i64, String)> = db
        .read(AssertSqlSafe(sql))
        .bind(room_id)
        .bind(after.is_none())
        .bind(position.joined_at)
        .bind(position.user_id)
        .bind(most)
        .bind_list(user_ids.unwrap_or_default())
        .all()
        .await?;
    let wanted = query.map(str::to_lowercase);
    let matches = |name: &str| wanted.as_ref().is_none_or(|wanted| name.to_lowercase().contains(wanted));
    let rows: Vec<_> =
        rows.into_iter().filter(|(_, nickname, _, _, name)| matches(nickname) || matches(name)).take(limit).collect();
    let ids: Vec<_> = rows.iter().map(|row| UserId::from_uuid(row.0)).collect();
    let mut users: HashMap<UserId, User> =
        accounts::users(db, &ids).await?.into_iter().map(|user| (user.user_id, user)).collect();
    let mut held: HashMap<UserId, Vec<RoleId>> =
        roles_of(db, room_id, &ids).await?.into_iter().map(|held| (held.user_id, held.role_ids)).collect();
    let members = rows.into_iter().filter_map(|(user_id, nickname, timeout_until, created_at, _)| {
        let user_id = UserId::from_uuid(user_id);
        Some(Member {
            user_id,
            user: users.remove(&user_id)?,
            nickname,
            role_ids: held.remove(&user_id).unwrap_or_default(),
            timeout_until: timeout_until.map(Timestamp::from_millis),
            created_at: Some(Timestamp::from_millis(created_at)),
        })
    });
    Ok(members.collect())
}

/// Changed settings of one's own membership.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MembershipPatch {
    pub(crate) notification_type: Option<NotificationType>,
    pub(crate) last_read_at: Option<Timestamp>,
    pub(crate) category_id: Patch<CategoryId>,
}

/// Changes settings; whether anything is different now.
pub(crate) async fn update(
    db: &Db,
    room_id: RoomId,
    user_id: UserId,
    patch: &MembershipPatch,
) -> Result<bool, StoreError> {
    if *patch == MembershipPatch::default() {
        return Ok(false);
    }
    let category_id = match patch.category_id {
        Patch::Set(category_id) => Some(category_id),
        Patch::Keep | Patch::Clear => None,
    };
    let sql = "update member set notification_type = coalesce($3, notification_type), \
        last_read_at = coalesce($4, last_read_at), category_id = case when $5 then category_id else $6 end \
        where room_id = $1 and user_id = $2 and (notification_type is distinct from coalesce($3, notification_type) \
        or last_read_at is distinct from coalesce($4, last_read_at) \
        or category_id is distinct from case when $5 then category_id else $6 end)";
    let changed = db
        .write(sql)
        .bind(room_id)
        .bind(user_id)
        .bind(patch.notification_type.map(|notification| notification.as_str().to_owned()))
        .bind(patch.last_read_at)
        .bind(patch.category_id.is_keep())
        .bind(category_id)
        .execute()
        .await?;
    Ok(changed > 0)
}

/// Counts mentions from `now` on.
pub(crate) async fn clear_mentions(
    db: &Db,
    room_id: RoomId,
    user_id: UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql = "update member set mentions_cleared_at = $3 where room_id = $1 and user_id = $2";
    db.write(sql).bind(room_id).bind(user_id).bind(now).execute().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::TestDb;

    #[tokio::test]
    async fn mentions_are_counted_by_index() {
        let test = TestDb::sqlite().await;
        let sql = format!("explain query plan select {MEMBERSHIP_COLUMNS} from member m where m.user_id = $1");
        let plan: Vec<(i64, i64, i64, String)> =
            test.db.read(AssertSqlSafe(sql)).bind(UserId::new()).all().await.unwrap();
        let steps: Vec<&str> = plan.iter().map(|(.., step)| step.as_str()).collect();
        let of_mentions = steps.iter().find(|step| step.contains("SEARCH x ") && step.contains("kind=?"));
        let of_mentions = of_mentions.unwrap_or_else(|| panic!("{steps:#?}"));
        assert!(of_mentions.ends_with("(room_id=? AND kind=? AND target=? AND tick>?)"), "{steps:#?}");
    }
}
