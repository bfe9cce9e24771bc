//! Making, using and losing invites.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce};

async fn invite(client: &mut Client, room: &str, data: Value) -> Value {
    let mut all = json!({ "roomId": room });
    all.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
    client.ok("invite.create", all).await["invite"].take()
}

#[tokio::test]
async fn an_invite_tells_its_room_and_lets_in() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.subscribe(&room).await;
    let made = invite(&mut owner, &room, json!({ "maxUses": 5, "expiresInMs": 1_800_000 })).await;
    let id = made["inviteId"].as_str().unwrap();
    assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(made["url"], format!("/invite/{id}"));
    assert_eq!((&made["userId"], &made["maxUses"], made.get("uses")), (&json!(ada.id), &json!(5), None));

    let seen = client.ok("invite.get", json!({ "inviteId": id })).await;
    assert_eq!(seen["invite"]["inviteId"], id);
    assert_eq!(seen["room"], json!({ "roomId": room, "name": "Tea", "memberCount": 1 }));
    assert!(seen.get("isMember").is_none());

    let data = json!({ "inviteId": id, "nonce": nonce() });
    let view = client.ok("invite.join", data.clone()).await;
    assert_eq!(view["room"]["roomId"], room);
    assert_eq!(view["permissions"], "75");
    assert_eq!(view["head"]["seq"], 2);
    assert_eq!(client.event("room.added").await["data"]["reason"], "Joined");
    let joined = owner.room_event().await;
    assert_eq!((&joined["event"], &joined["seq"]), (&json!("member.joined"), &json!(1)));
    assert_eq!(joined["data"]["member"]["userId"], bob.id);
    assert_eq!(joined["data"]["member"]["user"]["name"], bob.name);
    let line = owner.room_event().await;
    assert_eq!((&line["event"], &line["seq"]), (&json!("message.created"), &json!(2)));
    let message = &line["data"]["message"];
    assert_eq!((&message["type"], &message["message"]), (&json!("System"), &json!(format!("{} joined", bob.name))));

    // A repeat of the same join answers it, another one is a conflict and uses nothing up.
    assert_eq!(client.ok("invite.join", data).await["room"]["roomId"], room);
    let again = json!({ "inviteId": id, "nonce": nonce() });
    assert_eq!(client.refused("invite.join", again).await, "conflict");
    let seen = client.ok("invite.get", json!({ "inviteId": id })).await;
    assert_eq!((&seen["isMember"], &seen["invite"]["uses"]), (&json!(true), &json!(1)));
    assert_eq!(seen["room"]["memberCount"], 2);
    assert!(owner.is_quiet().await);
}

#[tokio::test]
async fn s_163_a_new_invite_replaces_ones_earlier_one() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    assert_eq!(owner.ok("invite.mine", json!({ "roomId": room })).await, json!({}));
    let first = invite(&mut owner, &room, json!({})).await;
    let second = invite(&mut owner, &room, json!({ "expiresInMs": 0 })).await;
    assert!(second.get("expiresAt").is_none(), "for ever: {second}");
    assert_eq!(owner.ok("invite.mine", json!({ "roomId": room })).await["invite"], second);
    assert_eq!(bob.refused("invite.get", json!({ "inviteId": first["inviteId"] })).await, "not_found");
    assert_eq!(bob.refused("invite.join", json!({ "inviteId": first["inviteId"] })).await, "not_found");
    bob.ok("invite.join", json!({ "inviteId": second["inviteId"] })).await;
    // Another member's invite stands beside it.
    let third = invite(&mut bob, &room, json!({})).await;
    let listed = owner.ok("invite.list", json!({ "roomId": room })).await;
    assert_eq!(items(&listed).len(), 2);
    assert_eq!(bob.refused("invite.list", json!({ "roomId": room })).await, "forbidden");
    // One revokes one's own; the room's manager any.
    let revoke = |invite: &Value| json!({ "roomId": room, "inviteId": invite["inviteId"] });
    assert_eq!(bob.refused("invite.revoke", revoke(&second)).await, "forbidden");
    owner.ok("invite.revoke", revoke(&third)).await;
    assert_eq!(owner.refused("invite.revoke", revoke(&third)).await, "not_found");
    owner.ok("invite.revoke", revoke(&second)).await;
    assert_eq!(owner.ok("invite.mine", json!({ "roomId": room })).await, json!({}));
}

#[tokio::test]
async fn s_163_paused_invites_are_like_unknown_ones_until_they_are_resumed() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    let made = invite(&mut owner, &room, json!({})).await;
    let data = json!({ "inviteId": made["inviteId"] });
    let unknown = bob.error("invite.join", json!({ "inviteId": "AAAAAAAA" })).await;
    assert_eq!(unknown["code"], "not_found");
    owner.ok("room.update", json!({ "roomId": room, "isInvitePaused": true })).await;
    assert_eq!(owner.refused("invite.create", json!({ "roomId": room })).await, "bad_request");
    assert_eq!(bob.error("invite.join", data.clone()).await, unknown);
    assert_eq!(
        bob.error("invite.get", data.clone()).await,
        bob.error("invite.get", json!({ "inviteId": "AAAAAAAA" })).await
    );
    owner.ok("room.update", json!({ "roomId": room, "isInvitePaused": false })).await;
    bob.ok("invite.join", data).await;
}

#[tokio::test]
async fn bl_087_one_use_lets_one_in_out_of_twenty_at_once() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let made = invite(&mut owner, &room, json!({ "maxUses": 1 })).await;
    let data = json!({ "inviteId": made["inviteId"] });
    let mut users = Vec::new();
    for _ in 0..20 {
        users.push(server.user("Bob").await);
    }
    let all = futures_util::future::join_all(users.iter().map(|user| server.rpc(user, "invite.join", &data))).await;
    let joined: Vec<_> = all.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(joined.len(), 1);
    assert!(all.iter().filter(|answer| answer.status != 200).all(|answer| answer.refused() == (404, "not_found")));
    assert_eq!(items(&owner.ok("room.members", json!({ "roomId": room })).await).len(), 2);
    // Also later, and when the one who used it has left, it is used up.
    let winner = all.iter().position(|answer| answer.status == 200).unwrap();
    server.rpc(&users[winner], "room.leave", &json!({ "roomId": room })).await.ok();
    let unknown = server.rpc(&users[winner], "invite.join", &json!({ "inviteId": "AAAAAAAA" })).await;
    let later = server.rpc(&users[winner], "invite.join", &data).await;
    assert_eq!(later.body, unknown.body);
}

#[tokio::test]
async fn only_the_values_of_the_limits_can_be_chosen() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    for (data, field) in [
        (json!({ "roomId": room, "maxUses": 2 }), "/maxUses"),
        (json!({ "roomId": room, "maxUses": -1 }), "/maxUses"),
        (json!({ "roomId": room, "expiresInMs": 1 }), "/expiresInMs"),
        (json!({ "roomId": room, "expiresInMs": "0" }), "/expiresInMs"),
    ] {
        let error = owner.error("invite.create", data).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!(field)));
    }
    for id in ["", "short", "ninechars", "AAAA-AAA", "ÄAAAAAAA"] {
        assert_eq!(owner.refused("invite.get", json!({ "inviteId": id })).await, "bad_request", "{id}");
    }
}

#[tokio::test]
async fn making_an_invite_is_idempotent_by_its_nonce() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let first = invite(&mut owner, &room, json!({ "nonce": "i-1" })).await;
    let again = invite(&mut owner, &room, json!({ "nonce": "i-1" })).await;
    assert_eq!(first["inviteId"], again["inviteId"]);
}
