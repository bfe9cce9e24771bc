//! Roles: what they grant, who stands above whom, and what a lost right ends.

use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items, nonce};

/// Makes a role and answers its id.
pub(crate) async fn role(client: &mut Client, room: &str, position: u32, permissions: u32) -> String {
    let data = json!({ "roomId": room, "name": "role", "position": position, "permissions": permissions.to_string(),
        "nonce": nonce() });
    client.ok("role.create", data).await["role"]["roleId"].as_str().unwrap().to_owned()
}

pub(crate) async fn assign(client: &mut Client, room: &str, role: &str, user: &User) {
    client.ok("role.assign", json!({ "roomId": room, "roleId": role, "userId": user.id })).await;
}

/// The id of the role that everybody has.
async fn everyone(client: &mut Client, room: &str) -> String {
    let roles = client.ok("role.list", json!({ "roomIds": [room] })).await;
    let everyone = items(&roles).iter().find(|role| role["isEveryone"] == true).unwrap();
    everyone["roleId"].as_str().unwrap().to_owned()
}

async fn own(client: &mut Client, room: &str) -> Value {
    client.ok("role.permissions", json!({ "roomIds": [room] })).await["items"][0].take()
}

const MANAGE_ROLES: u32 = 32;
const KICK: u32 = 128;
const ADMINISTRATOR: u32 = 16384;

#[tokio::test]
async fn s_144_rights_are_everyones_and_ones_own() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.subscribe(&room).await;
    owner.settled().await;
    assert_eq!(own(&mut owner, &room).await["permissions"], "32767", "s_143");
    let kicker = role(&mut owner, &room, 3, KICK).await;
    let other = role(&mut owner, &room, 7, 512).await;
    assert_eq!(own(&mut client, &room).await["topRolePosition"], -1, "s_145");
    assign(&mut owner, &room, &kicker, &bob).await;
    assign(&mut owner, &room, &other, &bob).await;
    let now = own(&mut client, &room).await;
    assert_eq!((&now["permissions"], &now["topRolePosition"]), (&json!((75 | KICK | 512).to_string()), &json!(7)));
    let everyone = everyone(&mut owner, &room).await;
    let data = json!({ "roomId": room, "roleId": everyone, "permissions": "3" });
    owner.ok("role.update", data).await;
    assert_eq!(own(&mut client, &room).await["permissions"], (3 | KICK | 512).to_string());
    let administrator = role(&mut owner, &room, 0, ADMINISTRATOR).await;
    assign(&mut owner, &room, &administrator, &bob).await;
    assert_eq!(own(&mut client, &room).await["permissions"], "32767", "s_143");
    let names = owner.settled_names().await;
    assert_eq!(
        names,
        [
            "role.created",
            "role.created",
            "role.assigned",
            "role.assigned",
            "role.updated",
            "role.created",
            "role.assigned"
        ]
    );
    let stranger = server.user("Eve").await;
    let mut stranger = Client::of(&server, &stranger).await;
    let none = own(&mut stranger, &room).await;
    assert_eq!((none.get("permissions"), &none["topRolePosition"]), (None, &json!(-1)));
}

#[tokio::test]
async fn s_147_a_role_and_a_member_must_be_below() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut manager) = server.client("Bob").await;
    let (cid, mut equal) = server.client("Cid").await;
    let (dan, mut below) = server.client("Dan").await;
    let room = owner.room("Tea").await;
    for client in [&mut manager, &mut equal, &mut below] {
        owner.bring(&room, client).await;
    }
    let five = role(&mut owner, &room, 5, MANAGE_ROLES).await;
    let low = role(&mut owner, &room, 2, 0).await;
    let create = |position: u32, permissions: &str| json!({ "roomId": room, "name": "x", "position": position, "permissions": permissions, "nonce": nonce() });
    assert_eq!(manager.refused("role.create", create(0, "0")).await, "forbidden");
    for user in [&bob, &cid] {
        assign(&mut owner, &room, &five, user).await;
    }
    assert_eq!(manager.refused("role.create", create(5, "0")).await, "forbidden");
    manager.ok("role.create", create(4, "32")).await;
    assert_eq!(manager.refused("role.create", create(4, "16")).await, "forbidden", "s_148");
    assert_eq!(manager.error("role.create", create(4, "32768")).await["field"], "/permissions");
    let update = |role: &str, position: u32| json!({ "roomId": room, "roleId": role, "position": position });
    assert_eq!(manager.refused("role.update", update(&low, 5)).await, "forbidden");
    assert_eq!(manager.refused("role.update", update(&five, 1)).await, "forbidden");
    manager.ok("role.update", update(&low, 4)).await;
    let grant = json!({ "roomId": room, "roleId": low, "permissions": "16384" });
    assert_eq!(manager.refused("role.update", grant.clone()).await, "forbidden", "s_148");
    owner.ok("role.update", grant.clone()).await;
    let keep = json!({ "roomId": room, "roleId": low, "permissions": "16384", "name": "kept" });
    manager.ok("role.update", keep).await;
    let to = |role: &str, user: &User| json!({ "roomId": room, "roleId": role, "userId": user.id });
    for op in ["role.assign", "role.revoke"] {
        assert_eq!(manager.refused(op, to(&five, &dan)).await, "forbidden");
        assert_eq!(manager.refused(op, to(&low, &cid)).await, "forbidden", "an equal");
        assert_eq!(manager.refused(op, to(&low, &ada)).await, "forbidden", "the owner");
        assert_eq!(manager.refused(op, to(&low, &bob)).await, "forbidden", "oneself");
    }
    assert_eq!(manager.refused("role.delete", json!({ "roomId": room, "roleId": five })).await, "forbidden");
    // Administrator has every bit and no place.
    manager.ok("role.assign", to(&low, &dan)).await;
    assert_eq!(below.refused("role.assign", to(&low, &bob)).await, "forbidden");
    assert_eq!(below.refused("role.update", update(&five, 0)).await, "forbidden");
    manager.ok("role.delete", json!({ "roomId": room, "roleId": low })).await;
    assert_eq!(own(&mut below, &room).await["permissions"], "75");
    // The owner may do anything, also to themselves.
    owner.ok("role.assign", to(&five, &ada)).await;
}

#[tokio::test]
async fn s_149_assigning_twice_and_revoking_what_is_not_held_change_nothing() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let id = role(&mut owner, &room, 1, 0).await;
    owner.subscribe(&room).await;
    owner.settled().await;
    let to = |user: &str| json!({ "roomId": room, "roleId": id, "userId": user });
    for op in ["role.assign", "role.assign", "role.revoke", "role.revoke"] {
        owner.ok(op, to(&bob.id)).await;
    }
    assert_eq!(owner.settled_names().await, ["role.assigned", "role.revoked"]);
    let stranger = server.user("Eve").await;
    assert_eq!(owner.refused("role.assign", to(&stranger.id)).await, "not_found");
    let unknown = json!({ "roomId": room, "roleId": stranger.id, "userId": bob.id });
    assert_eq!(owner.refused("role.assign", unknown).await, "not_found");
}

#[tokio::test]
async fn s_146_everyones_role_cannot_be_deleted_assigned_or_moved() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let id = everyone(&mut owner, &room).await;
    for op in ["role.assign", "role.revoke"] {
        let data = json!({ "roomId": room, "roleId": id, "userId": bob.id });
        assert_eq!(owner.refused(op, data).await, "bad_request");
    }
    assert_eq!(owner.refused("role.delete", json!({ "roomId": room, "roleId": id })).await, "bad_request");
    let error = owner.error("role.update", json!({ "roomId": room, "roleId": id, "position": 1 })).await;
    assert_eq!(error["field"], "/position");
}

#[tokio::test]
async fn a_repeat_of_a_created_role_is_the_same_role() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    owner.subscribe(&room).await;
    owner.settled().await;
    let data = json!({ "roomId": room, "name": " Keepers ", "color": "#ff0000", "position": 3, "nonce": nonce() });
    let first = owner.ok("role.create", data.clone()).await;
    assert_eq!((&first["role"]["name"], &first["role"]["color"]), (&json!("Keepers"), &json!("#ff0000")));
    assert_eq!(owner.ok("role.create", data).await, first);
    let update = json!({ "roomId": room, "roleId": first["role"]["roleId"], "color": null, "position": 4 });
    let second = owner.ok("role.update", update.clone()).await;
    assert!(second["role"].get("color").is_none());
    assert_eq!(owner.ok("role.update", update).await, second, "a set");
    let events = owner.settled().await;
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0]["data"]["role"], first["role"]);
    let changes = json!({ "color": null, "position": 4, "updatedAt": second["role"]["updatedAt"] });
    assert_eq!(events[1]["data"]["changes"], changes);
    let roles = owner.ok("role.list", json!({ "roomIds": [room] })).await;
    assert_eq!(items(&roles)[0]["roleId"], first["role"]["roleId"], "highest first");
}

#[tokio::test]
async fn a_lost_right_to_read_ends_delivery_and_a_regained_one_is_told() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let (cid, mut holder) = server.client("Cid").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.bring(&room, &mut holder).await;
    let readers = role(&mut owner, &room, 1, 1).await;
    assign(&mut owner, &room, &readers, &cid).await;
    let mut second = Client::of(&server, &bob).await;
    for listener in [&mut client, &mut second, &mut holder] {
        listener.subscribe(&room).await;
        listener.settled().await;
    }
    owner.say(&room, "seen").await;
    let id = everyone(&mut owner, &room).await;
    let set = |permissions: &str| json!({ "roomId": room, "roleId": id, "permissions": permissions });
    owner.ok("role.update", set("2")).await;
    owner.say(&room, "not seen").await;
    for listener in [&mut client, &mut second] {
        assert_eq!(listener.room_event().await["data"]["message"]["message"], "seen");
        let end = listener.room_event().await;
        assert_eq!((&end["event"], &end["data"]["reason"]), (&json!("room.unsubscribed"), &json!("Revoked")));
        assert!(listener.is_quiet().await, "neither the change nor anything after it");
        assert_eq!(listener.refused("message.list", json!({ "roomId": room })).await, "forbidden");
    }
    for expected in ["message.created", "role.updated", "message.created"] {
        assert_eq!(holder.room_event().await["event"], expected, "who still reads misses nothing");
    }
    // Still a member, and told when they read again: by everyone's role, and by one of their own.
    owner.ok("role.update", set("3")).await;
    for listener in [&mut client, &mut second] {
        let added = listener.event("room.added").await;
        assert_eq!((&added["data"]["reason"], &added["data"]["room"]["roomId"]), (&json!("Restored"), &json!(room)));
        listener.subscribe(&room).await;
    }
    assert!(!holder.settled_names().await.contains(&"room.added".to_owned()), "who never lost it");
    owner.ok("role.update", set("2")).await;
    for listener in [&mut client, &mut second] {
        assert_eq!(listener.event("room.unsubscribed").await["data"]["reason"], "Revoked");
    }
    assign(&mut owner, &room, &readers, &bob).await;
    assert_eq!(client.event("room.added").await["data"]["reason"], "Restored");
    client.subscribe(&room).await;
    owner.ok("role.revoke", json!({ "roomId": room, "roleId": readers, "userId": bob.id })).await;
    assert_eq!(client.event("room.unsubscribed").await["data"]["reason"], "Revoked");
    owner.ok("role.delete", json!({ "roomId": room, "roleId": readers })).await;
    assert_eq!(holder.event("room.unsubscribed").await["data"]["reason"], "Revoked");
}
