//! Roles: making them, giving and taking them.

use parlour_protocol::{
    Int, Name, Patch, Permissions, RoleId, Set, Text, UserId,
    object::{MemberRoles, Role},
    operation::{RoleAssign, RoleCreate, RoleDelete, RoleMembers, RoleRevoke, RoleUpdate},
};

use super::{Room, settings::try_patch};
use crate::error::RequestError;

/// What to change of a role; the rest stays.
#[derive(Debug, Clone, Default)]
pub struct RoleChange {
    /// Its name.
    pub name: Option<String>,
    /// Its colour, `#rrggbb`.
    pub color: Patch<String>,
    /// What it grants.
    pub permissions: Option<Permissions>,
    /// Its place; 0 is the lowest.
    pub position: Option<u32>,
}

impl Room {
    /// Makes a role at the bottom.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn create_role(&self, name: &str, permissions: Permissions) -> Result<Role, RequestError> {
        let create = RoleCreate {
            room_id: self.room_id,
            name: Name::new(name)?,
            color: None,
            permissions: Some(permissions),
            position: None,
            nonce: None,
        };
        self.client.request(create).await.map(|reply| reply.role)
    }

    /// Changes a role.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn update_role(&self, role_id: RoleId, change: RoleChange) -> Result<Role, RequestError> {
        let update = RoleUpdate {
            room_id: self.room_id,
            role_id,
            name: change.name.map(Name::new).transpose()?,
            color: try_patch(change.color, Text::new)?,
            permissions: change.permissions,
            position: change.position.map(|place| Int::new(i64::from(place))).transpose()?,
        };
        self.client.request(update).await.map(|reply| reply.role)
    }

    /// Changes what a role grants.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_role_permissions(&self, role_id: RoleId, granted: Permissions) -> Result<Role, RequestError> {
        self.update_role(role_id, RoleChange { permissions: Some(granted), ..RoleChange::default() }).await
    }

    /// The role of a name.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn role_named(&self, name: &str) -> Result<Option<Role>, RequestError> {
        Ok(self.roles().await?.into_iter().find(|role| role.name == name))
    }

    /// The roles that members were given; who is no member is left out.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn roles_of(&self, user_ids: Vec<UserId>) -> Result<Vec<MemberRoles>, RequestError> {
        let members = RoleMembers { room_id: self.room_id, user_ids: Set::new(user_ids)? };
        self.client.request(members).await.map(|list| list.items)
    }

    /// Ends a role.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn delete_role(&self, role_id: RoleId) -> Result<(), RequestError> {
        self.client.request(RoleDelete { room_id: self.room_id, role_id }).await.map(drop)
    }

    /// Gives a member a role.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn assign_role(&self, role_id: RoleId, user_id: UserId) -> Result<(), RequestError> {
        self.client.request(RoleAssign { room_id: self.room_id, role_id, user_id }).await.map(drop)
    }

    /// Takes a role from a member.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn revoke_role(&self, role_id: RoleId, user_id: UserId) -> Result<(), RequestError> {
        self.client.request(RoleRevoke { room_id: self.room_id, role_id, user_id }).await.map(drop)
    }
}
