//! Telling those who were mentioned.

use std::sync::Arc;

use parlour_protocol::{UserEvent, event::MembershipUpdated, object::Message};

use crate::{app::AppState, bus::BusEvent, directory::members, store::Mention};

/// Tells the devices of those whom a new message mentions by name or by a role of their count. Broadcasts are counted
/// by everybody from the message itself.
pub(crate) fn tell(state: &AppState, message: &Message, mentions: Vec<Mention>) {
    let mut user_ids = Vec::new();
    let mut role_ids = Vec::new();
    for mention in mentions {
        match mention {
            Mention::User(user_id) => user_ids.push(user_id),
            Mention::Role(role_id) => role_ids.push(role_id),
            Mention::Everyone | Mention::Here => {}
        }
    }
    if user_ids.is_empty() && role_ids.is_empty() {
        return;
    }
    let (db, bus) = (state.db.clone(), Arc::clone(&state.bus));
    let (room_id, author) = (message.room_id, message.user_id);
    state.tasks.spawn(async move {
        let memberships = match members::mentioned(&db, room_id, user_ids, &role_ids, author).await {
            Ok(memberships) => memberships,
            Err(error) => return tracing::warn!(room.id = %room_id, %error, "mentioned members were not told"),
        };
        for membership in memberships {
            let user_id = membership.user_id;
            let event = UserEvent::MembershipUpdated(Box::new(MembershipUpdated { membership }));
            bus.publish(BusEvent::User { user_id, event: Arc::new(event) });
        }
    });
}
