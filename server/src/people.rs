//! What is between people: friends, blocks, direct messages, presence. Each verb is one function that both transports
//! call.

pub(crate) mod blocks;
pub(crate) mod departures;
pub(crate) mod direct_messages;
pub(crate) mod friends;
pub(crate) mod presence;
pub(crate) mod status;

use std::sync::Arc;

use parlour_protocol::{
    ProtocolError, UserEvent, UserId,
    event::{FriendChange, FriendChanged},
    object::User,
};

use crate::{app::AppState, bus::BusEvent, directory::accounts, error::store_error};

/// An account that is not deleted.
///
/// # Errors
/// `not_found`.
async fn living(state: &AppState, user_id: UserId) -> Result<User, ProtocolError> {
    let user = accounts::user(&state.db, user_id).await.map_err(store_error)?;
    user.filter(|user| !user.is_deleted).ok_or_else(|| ProtocolError::not_found("no such user"))
}

/// Tells two users of a change between them, each about the other.
fn tell_both(state: &AppState, one: &User, other: &User, change: FriendChange) {
    for (to, about) in [(one, other), (other, one)] {
        let event = UserEvent::FriendChanged(Box::new(FriendChanged { change, user: about.clone() }));
        state.bus.publish(BusEvent::User { user_id: to.user_id, event: Arc::new(event) });
    }
}
