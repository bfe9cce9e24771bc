//! Roles: making them, giving and taking them.

use parlour_protocol::{
    Name, Patch, Permissions, RoleId, UserId,
    object::Role,
    operation::{RoleAssign, RoleCreate, RoleDelete, RoleRevoke, RoleUpdate},
};

use super::Room;
use crate::error::RequestError;

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

    /// Changes what a role grants.
    ///
    /// # Errors
    /// See [`RequestErrorKind`](crate::RequestErrorKind).
    pub async fn set_role_permissions(&self, role_id: RoleId, granted: Permissions) -> Result<Role, RequestError> {
        let update = RoleUpdate {
            room_id: self.room_id,
            role_id,
            name: None,
            color: Patch::Keep,
            permissions: Some(granted),
            position: None,
        };
        self.client.request(update).await.map(|reply| reply.role)
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
