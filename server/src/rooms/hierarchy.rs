//! Who stands above whom: by the highest role's position; the owner above all.

use parlour_protocol::{ErrorCode, ProtocolError, RoomId, UserId};

use super::state::Access;
use crate::app::AppState;

/// A place in a room's hierarchy. Administrator does not raise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The position of a role, or of a member's highest role; −1 without a role, and for those who are not in the room.
    Position(i64),
    /// The room's owner.
    Owner,
}

impl Rank {
    pub(crate) fn of(access: &Access) -> Self {
        if access.is_owner() {
            return Self::Owner;
        }
        Self::Position(access.settings.top_role_position(&access.member.role_ids).into())
    }

    /// Whether this rank may act on the other.
    pub(crate) fn is_above(self, other: Self) -> bool {
        self == Self::Owner || self > other
    }

    /// # Errors
    /// `forbidden` unless the other is below.
    pub(crate) fn require_above(self, other: Self, what: &str) -> Result<(), ProtocolError> {
        if self.is_above(other) {
            return Ok(());
        }
        Err(ProtocolError::new(ErrorCode::Forbidden, format!("{what} is not below your highest role")))
    }
}

/// Whom an action is about.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) rank: Rank,
    /// None when they are not in the room.
    pub(crate) access: Option<Access>,
}

impl Target {
    /// Looks a user up.
    ///
    /// # Errors
    /// `unavailable`.
    pub(crate) async fn find(state: &AppState, room_id: RoomId, user_id: UserId) -> Result<Self, ProtocolError> {
        match state.rooms.access(room_id, user_id).await {
            Ok(access) => Ok(Self { rank: Rank::of(&access), access: Some(access) }),
            Err(error) if error.code == ErrorCode::Forbidden => Ok(Self { rank: Rank::Position(-1), access: None }),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rank::{Owner, Position};

    #[test]
    fn only_a_higher_role_stands_above() {
        assert!(Position(5).is_above(Position(4)));
        assert!(!Position(5).is_above(Position(5)));
        assert!(!Position(4).is_above(Position(5)));
        assert!(Position(0).is_above(Position(-1)));
        assert!(!Position(-1).is_above(Position(-1)), "two members without a role");
    }

    #[test]
    fn the_owner_stands_above_all_and_nobody_above_the_owner() {
        assert!(Owner.is_above(Position(i64::MAX)));
        assert!(Owner.is_above(Owner), "the owner may do anything to themselves");
        assert!(!Position(i64::MAX).is_above(Owner));
    }
}
