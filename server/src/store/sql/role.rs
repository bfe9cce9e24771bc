//! Changes of roles.

use parlour_protocol::{
    DurableEvent, Permissions, RoleId, RoomId, UserId,
    event::{RoleAssignment, RoleCreated, RoleDeleted, RoleDelta, RoleUpdated},
    object::Role,
};

use super::{
    group::{Group, Stop, millis},
    room_change::{changed, text},
};
use crate::{
    directory::nonces::{self, FirstResult},
    store::{Append, AppendError, LogEntry, RoleChange},
};

impl Group<'_> {
    pub(super) async fn change_role(&mut self, append: &Append, change: &RoleChange) -> Result<Vec<LogEntry>, Stop> {
        match change {
            RoleChange::Create { role, most, first } => self.create_role(append, role, *most, first.as_ref()).await,
            RoleChange::Update { role_id, changes } => self.update_role(append, *role_id, changes).await,
            RoleChange::Delete { role_id } => self.delete_role(append, *role_id).await,
            RoleChange::Assign { role_id, user_id } => self.assign_role(append, *role_id, *user_id).await,
            RoleChange::Revoke { role_id, user_id } => self.revoke_role(append, *role_id, *user_id).await,
        }
    }

    async fn create_role(
        &mut self,
        append: &Append,
        role: &Role,
        most: u32,
        first: Option<&FirstResult>,
    ) -> Result<Vec<LogEntry>, Stop> {
        let sql = "select count(*) from role where room_id = $1";
        let (roles,): (i64,) = self.tx.query(sql).bind(append.room_id).one().await?;
        if roles >= i64::from(most) {
            return Err(AppendError::TooMany("roles").into());
        }
        if let Some(first) = first
            && !nonces::remember_new(&mut self.tx, first).await?
        {
            return Err(AppendError::Repeat.into());
        }
        self.tx
            .query(
                "insert into role (role_id, room_id, name, color, position, permissions, is_everyone, created_at, \
                 updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
            )
            .bind(role.role_id)
            .bind(append.room_id)
            .bind(&role.name)
            .bind(&role.color)
            .bind(role.position)
            .bind(role.permissions.bits())
            .bind(false)
            .bind(role.created_at)
            .execute()
            .await?;
        let event = DurableEvent::RoleCreated(Box::new(RoleCreated { role: role.clone() }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn update_role(
        &mut self,
        append: &Append,
        role_id: RoleId,
        wanted: &RoleDelta,
    ) -> Result<Vec<LogEntry>, Stop> {
        let sql = "select name, color, position, permissions from role where role_id = $1 and room_id = $2";
        let query = self.tx.query(sql).bind(role_id).bind(append.room_id);
        let row: Option<(String, String, i64, i64)> = query.optional().await?;
        let (name, color, position, permissions) = row.ok_or(AppendError::NotFound("role"))?;
        let bits = Permissions::from_bits(u64::try_from(permissions).unwrap_or(0));
        let mut delta = RoleDelta {
            name: wanted.name.clone().filter(|wanted| *wanted != name),
            color: changed(&wanted.color, text(&color).as_ref()),
            permissions: wanted.permissions.filter(|wanted| *wanted != bits),
            position: wanted.position.filter(|wanted| i64::from(*wanted) != position),
            updated_at: None,
        };
        if delta == RoleDelta::default() {
            return Ok(Vec::new());
        }
        let now = millis(append.now);
        delta.updated_at = Some(now);
        self.tx
            .query(
                "update role set name = $2, color = $3, position = $4, permissions = $5, updated_at = $6 \
                 where role_id = $1",
            )
            .bind(role_id)
            .bind(delta.name.clone().unwrap_or(name))
            .bind(delta.color.clone().apply(Some(color)).unwrap_or_default())
            .bind(delta.position.map_or(position, i64::from))
            .bind(delta.permissions.unwrap_or(bits).bits())
            .bind(now)
            .execute()
            .await?;
        let event = DurableEvent::RoleUpdated(Box::new(RoleUpdated { role_id, changes: delta }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn delete_role(&mut self, append: &Append, role_id: RoleId) -> Result<Vec<LogEntry>, Stop> {
        self.check_role(append.room_id, role_id).await?;
        for sql in [
            "delete from member_role where room_id = $1 and role_id = $2",
            "delete from role where room_id = $1 and role_id = $2",
        ] {
            self.tx.query(sql).bind(append.room_id).bind(role_id).execute().await?;
        }
        let event = DurableEvent::RoleDeleted(Box::new(RoleDeleted { role_id }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn assign_role(&mut self, append: &Append, role_id: RoleId, user_id: UserId) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        self.check_role(room_id, role_id).await?;
        let sql = "select count(*) from member where room_id = $1 and user_id = $2";
        let (members,): (i64,) = self.tx.query(sql).bind(room_id).bind(user_id).one().await?;
        if members == 0 {
            return Err(AppendError::NotFound("member").into());
        }
        let sql = "insert into member_role (room_id, user_id, role_id) values ($1, $2, $3) \
            on conflict (room_id, user_id, role_id) do nothing";
        let assigned = self.tx.query(sql).bind(room_id).bind(user_id).bind(role_id).execute().await?;
        if assigned == 0 {
            return Ok(Vec::new());
        }
        let event = DurableEvent::RoleAssigned(Box::new(RoleAssignment { role_id, user_id }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn revoke_role(&mut self, append: &Append, role_id: RoleId, user_id: UserId) -> Result<Vec<LogEntry>, Stop> {
        let sql = "delete from member_role where room_id = $1 and user_id = $2 and role_id = $3";
        let revoked = self.tx.query(sql).bind(append.room_id).bind(user_id).bind(role_id).execute().await?;
        if revoked == 0 {
            return Ok(Vec::new());
        }
        let event = DurableEvent::RoleRevoked(Box::new(RoleAssignment { role_id, user_id }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn check_role(&mut self, room_id: RoomId, role_id: RoleId) -> Result<(), Stop> {
        let sql = "select count(*) from role where room_id = $1 and role_id = $2";
        let (roles,): (i64,) = self.tx.query(sql).bind(room_id).bind(role_id).one().await?;
        if roles == 0 { Err(AppendError::NotFound("role").into()) } else { Ok(()) }
    }
}
