//! Changes of a room that are not about a message: settings, members, its end. They are rare, so each reads what it
//! needs when its turn comes.

use parlour_protocol::{
    DurableEvent, InviteId, MessageType, Nonce, Patch, RoomId, Timestamp, UserId,
    event::{LeaveReason, MemberDelta, MemberJoined, MemberLeft, MemberUpdated, RoomDeleted, RoomDelta, RoomUpdated},
    object::{Member, NotificationType},
};

use super::{
    group::{Group, Stop, millis},
    row::{signed, to_json},
};
use crate::{
    directory::accounts,
    store::{Append, AppendError, Appended, LogEntry, RoomChange, StoreError},
};

#[derive(sqlx::FromRow)]
struct RoomRow {
    name: String,
    topic: String,
    image: String,
    is_read_only: bool,
    is_invite_paused: bool,
    slowmode_ms: Option<i64>,
    max_file_size_bytes: Option<i64>,
    allowed_mime_categories: String,
}

/// Who joins, and how.
pub(super) struct Joining<'a> {
    pub(super) user_id: UserId,
    pub(super) invite_id: Option<InviteId>,
    pub(super) by: Option<UserId>,
    pub(super) line: &'a str,
    pub(super) nonce: Option<&'a Nonce>,
}

impl Group<'_> {
    pub(super) async fn room_change(&mut self, append: &Append) -> Result<Appended, Stop> {
        let room_id = append.room_id;
        let room = self.known.rooms.get(&room_id).filter(|room| !room.is_deleted);
        if room.is_none() {
            return Err(AppendError::NoAccess.into());
        }
        let entries = match &append.change {
            RoomChange::UpdateRoom { changes, by } => self.update_room(append, changes, *by).await?,
            RoomChange::DeleteRoom { by } => self.delete_room(append, *by).await?,
            RoomChange::Join { user_id, invite_id, by, line, nonce } => {
                let nonce = nonce.as_ref();
                let joining = Joining { user_id: *user_id, invite_id: *invite_id, by: *by, line, nonce };
                self.join(append, joining).await?
            }
            RoomChange::Leave { user_id, reason, by, line } => self.leave(append, *user_id, *reason, *by, line).await?,
            RoomChange::AddParticipants { user_ids, by, nonce } => {
                self.add_participants(append, user_ids, *by, nonce.as_ref()).await?
            }
            RoomChange::RemoveParticipant { user_id, by, line } => {
                self.remove_participant(append, *user_id, *by, line).await?
            }
            RoomChange::UpdateMember { user_id, nickname, timeout_until } => {
                let delta = MemberDelta { nickname: nickname.clone(), timeout_until: *timeout_until };
                self.update_member(append, *user_id, delta).await?
            }
            RoomChange::Emoji(change) => self.change_emoji(append, change).await?,
            RoomChange::Role(change) => self.change_role(append, change).await?,
            RoomChange::Moderate(change) => self.moderate(append, change).await?,
            RoomChange::Automod(change) => self.automod(append, change).await?,
            _ => {
                return Err(StoreError::Internal("not a change of a room".into()).into());
            }
        };
        Ok(Appended { entries, message: None, rev: 0 })
    }

    async fn update_room(&mut self, append: &Append, wanted: &RoomDelta, by: UserId) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        let row: RoomRow = self
            .tx
            .query(
                "select name, topic, image, is_read_only, is_invite_paused, slowmode_ms, max_file_size_bytes, \
                 allowed_mime_categories from room where room_id = $1",
            )
            .bind(room_id)
            .one()
            .await?;
        let mut delta = difference(&row, wanted);
        if delta == RoomDelta::default() {
            return Ok(Vec::new());
        }
        let now = millis(append.now);
        delta.updated_at = Some(now);
        let renamed = delta.name.clone();
        let changed = apply(row, &delta);
        self.tx
            .query(
                "update room set name = $2, topic = $3, image = $4, is_read_only = $5, is_invite_paused = $6, \
                 slowmode_ms = $7, max_file_size_bytes = $8, allowed_mime_categories = $9, updated_at = $10 \
                 where room_id = $1",
            )
            .bind(room_id)
            .bind(changed.name)
            .bind(changed.topic)
            .bind(changed.image)
            .bind(changed.is_read_only)
            .bind(changed.is_invite_paused)
            .bind(changed.slowmode_ms)
            .bind(changed.max_file_size_bytes)
            .bind(changed.allowed_mime_categories)
            .bind(now)
            .execute()
            .await?;
        let event = DurableEvent::RoomUpdated(Box::new(RoomUpdated { changes: delta, user_id: by }));
        let mut entries = vec![self.log(append, event, None)?];
        if let Some(name) = renamed {
            entries.push(self.line(append, MessageType::EditRoom, by, name)?);
        }
        Ok(entries)
    }

    async fn delete_room(&mut self, append: &Append, by: UserId) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        self.tx
            .query("update room set deleted_at = $2 where room_id = $1")
            .bind(room_id)
            .bind(millis(append.now))
            .execute()
            .await?;
        // Roles last but one: what members hold refers to them.
        for sql in [
            "delete from member_role where room_id = $1",
            "delete from member where room_id = $1",
            "delete from invite where room_id = $1",
            "delete from ban where room_id = $1",
            "delete from emoji where room_id = $1",
            "delete from webhook where room_id = $1",
            "delete from job where room_id = $1",
            "delete from role where room_id = $1",
        ] {
            self.tx.query(sql).bind(room_id).execute().await?;
        }
        self.begin_purge(append, None).await?;
        let event = DurableEvent::RoomDeleted(Box::new(RoomDeleted { user_id: by }));
        let entry = self.log(append, event, None)?;
        self.known.members.retain(|(room, _), _| *room != room_id);
        if let Some(room) = self.known.rooms.get_mut(&room_id) {
            room.is_deleted = true;
        }
        Ok(vec![entry])
    }

    pub(super) async fn join(&mut self, append: &Append, joining: Joining<'_>) -> Result<Vec<LogEntry>, Stop> {
        let Joining { user_id, invite_id, by, line, nonce } = joining;
        let room_id = append.room_id;
        let now = millis(append.now);
        if let Some(invite_id) = invite_id {
            self.check_invite(room_id, invite_id, now).await?;
        }
        let sql = "select count(*) from ban where room_id = $1 and user_id = $2";
        let (bans,): (i64,) = self.tx.query(sql).bind(room_id).bind(user_id).one().await?;
        if bans > 0 {
            return Err(AppendError::Banned.into());
        }
        let sql = "select count(*) from member where room_id = $1 and user_id = $2";
        let (members,): (i64,) = self.tx.query(sql).bind(room_id).bind(user_id).one().await?;
        if members > 0 {
            return Err(AppendError::AlreadyMember.into());
        }
        let user = accounts::user_within(&mut self.tx, user_id).await?;
        let user = user.filter(|user| !user.is_deleted).ok_or(AppendError::NotFound("account"))?;
        // Later than every message that is there, also when the clock stepped back: those do not count as unread.
        let tick = self.known.rooms.get(&room_id).map_or(0, |room| room.tick);
        let joined_at = now.max(millis(tick));
        if let Some(invite_id) = invite_id {
            self.tx.query("update invite set uses = uses + 1 where invite_id = $1").bind(invite_id).execute().await?;
        }
        self.tx
            .query(
                "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
                 values ($1, $2, '', $3, $4, $5)",
            )
            .bind(room_id)
            .bind(user_id)
            .bind(NotificationType::DirectMessage.as_str())
            .bind(false)
            .bind(joined_at)
            .execute()
            .await?;
        if let Some(nonce) = nonce {
            self.tx
                .query(
                    "insert into command_nonce (user_id, op, nonce, result, created_at) \
                     values ($1, 'invite.join', $2, $3, $4) on conflict (user_id, op, nonce) do nothing",
                )
                .bind(user_id)
                .bind(nonce)
                .bind(to_json(&room_id))
                .bind(now)
                .execute()
                .await?;
        }
        let member = Member {
            user_id,
            user,
            nickname: String::new(),
            role_ids: Vec::new(),
            timeout_until: None,
            created_at: Some(joined_at),
        };
        let event = DurableEvent::MemberJoined(Box::new(MemberJoined { member, by_user_id: by }));
        let entry = self.log(append, event, None)?;
        Ok(vec![entry, self.line(append, MessageType::System, by.unwrap_or(user_id), line.to_owned())?])
    }

    async fn check_invite(&mut self, room_id: RoomId, invite_id: InviteId, now: Timestamp) -> Result<(), Stop> {
        let sql = "select i.expires_at, i.max_uses, i.uses, r.is_invite_paused from invite i \
            join room r on r.room_id = i.room_id where i.invite_id = $1 and i.room_id = $2";
        let row = self.tx.query(sql).bind(invite_id).bind(room_id).optional::<(Option<i64>, i64, i64, bool)>().await?;
        let is_usable = row.is_some_and(|(expires_at, max_uses, uses, is_paused)| {
            !is_paused
                && expires_at.is_none_or(|expires_at| expires_at > now.as_millis())
                && (max_uses == 0 || uses < max_uses)
        });
        if is_usable { Ok(()) } else { Err(AppendError::InviteGone.into()) }
    }

    pub(super) async fn leave(
        &mut self,
        append: &Append,
        user_id: UserId,
        reason: LeaveReason,
        by: Option<UserId>,
        line: &str,
    ) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        for sql in [
            "delete from member_role where room_id = $1 and user_id = $2",
            "delete from member where room_id = $1 and user_id = $2",
        ] {
            let left = self.tx.query(sql).bind(room_id).bind(user_id).execute().await?;
            if left == 0 && sql.starts_with("delete from member where") {
                return Err(AppendError::NotFound("member").into());
            }
        }
        self.known.members.remove(&(room_id, user_id));
        let event = DurableEvent::MemberLeft(Box::new(MemberLeft { user_id, reason, by_user_id: by }));
        let entry = self.log(append, event, None)?;
        Ok(vec![entry, self.line(append, MessageType::System, by.unwrap_or(user_id), line.to_owned())?])
    }

    pub(super) async fn update_member(
        &mut self,
        append: &Append,
        user_id: UserId,
        wanted: MemberDelta,
    ) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        let sql = "select nickname, timeout_until from member where room_id = $1 and user_id = $2";
        let row: Option<(String, Option<i64>)> = self.tx.query(sql).bind(room_id).bind(user_id).optional().await?;
        let (nickname, timeout_until) = row.ok_or(AppendError::NotFound("member"))?;
        let delta = MemberDelta {
            nickname: changed(&wanted.nickname, text(&nickname).as_ref()),
            timeout_until: changed(&wanted.timeout_until, timeout_until.map(Timestamp::from_millis).as_ref()),
        };
        if delta == MemberDelta::default() {
            return Ok(Vec::new());
        }
        self.tx
            .query("update member set nickname = $3, timeout_until = $4 where room_id = $1 and user_id = $2")
            .bind(room_id)
            .bind(user_id)
            .bind(delta.nickname.clone().apply(Some(nickname)).unwrap_or_default())
            .bind(delta.timeout_until.apply(timeout_until.map(Timestamp::from_millis)))
            .execute()
            .await?;
        let event = DurableEvent::MemberUpdated(Box::new(MemberUpdated { user_id, changes: delta }));
        Ok(vec![self.log(append, event, None)?])
    }
}

/// A text as a value that can be absent.
pub(super) fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The patch, when it changes anything.
pub(super) fn changed<T: Clone + PartialEq>(wanted: &Patch<T>, current: Option<&T>) -> Patch<T> {
    let is_same = match wanted {
        Patch::Keep => true,
        Patch::Clear => current.is_none(),
        Patch::Set(value) => current == Some(value),
    };
    if is_same { Patch::Keep } else { wanted.clone() }
}

/// An empty text is no text.
fn emptied(patch: &Patch<String>) -> Patch<String> {
    match patch {
        Patch::Set(text) if text.is_empty() => Patch::Clear,
        patch => patch.clone(),
    }
}

/// Only what differs from the present settings.
fn difference(row: &RoomRow, wanted: &RoomDelta) -> RoomDelta {
    let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    RoomDelta {
        name: wanted.name.clone().filter(|name| *name != row.name),
        topic: changed(&emptied(&wanted.topic), text(&row.topic).as_ref()),
        image: changed(&emptied(&wanted.image), text(&row.image).as_ref()),
        is_read_only: wanted.is_read_only.filter(|value| *value != row.is_read_only),
        is_invite_paused: wanted.is_invite_paused.filter(|value| *value != row.is_invite_paused),
        slowmode_ms: changed(&wanted.slowmode_ms, number(row.slowmode_ms).as_ref()),
        max_file_size_bytes: changed(&wanted.max_file_size_bytes, number(row.max_file_size_bytes).as_ref()),
        allowed_mime_categories: wanted
            .allowed_mime_categories
            .clone()
            .filter(|categories| to_json(categories) != row.allowed_mime_categories),
        updated_at: None,
    }
}

fn apply(row: RoomRow, delta: &RoomDelta) -> RoomRow {
    let number = |patch: &Patch<u64>, current| patch.map(signed).apply(current);
    RoomRow {
        name: delta.name.clone().unwrap_or(row.name),
        topic: delta.topic.clone().apply(Some(row.topic)).unwrap_or_default(),
        image: delta.image.clone().apply(Some(row.image)).unwrap_or_default(),
        is_read_only: delta.is_read_only.unwrap_or(row.is_read_only),
        is_invite_paused: delta.is_invite_paused.unwrap_or(row.is_invite_paused),
        slowmode_ms: number(&delta.slowmode_ms, row.slowmode_ms),
        max_file_size_bytes: number(&delta.max_file_size_bytes, row.max_file_size_bytes),
        allowed_mime_categories: delta.allowed_mime_categories.as_ref().map_or(row.allowed_mime_categories, to_json),
    }
}
