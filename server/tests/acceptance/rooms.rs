//! Rooms: making, listing, changing, leaving, deleting.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, texts, unique};

const NOWHERE: &str = "00000000-0000-4000-8000-000000000001";

#[tokio::test]
async fn a_new_room_belongs_to_its_maker() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let data = json!({ "name": "  Tea ", "topic": "leaves", "isReadOnly": false, "slowmodeMs": 5, "nonce": "n-1" });
    let view = client.ok("room.create", data.clone()).await;
    let room = &view["room"];
    assert_eq!(room["name"], "Tea");
    assert_eq!(room["topic"], "leaves");
    assert_eq!((&room["type"], &room["userId"], &room["slowmodeMs"]), (&json!("Room"), &json!(ada.id), &json!(5)));
    assert_eq!(room["allowedMimeCategories"], json!(["Audio", "Document", "Image", "Video"]));
    assert_eq!(room["createdAt"], room["updatedAt"]);
    assert_eq!(room["createdAt"], room["lastActivityAt"]);
    assert_eq!(view["permissions"], "32767");
    assert_eq!((&view["isRoomOwner"], &view["topRolePosition"]), (&json!(true), &json!(-1)));
    assert!(view["head"].get("seq").is_none(), "the log is empty: {view}");
    let epoch = view["head"]["epoch"].as_str().unwrap();
    assert!(!epoch.is_empty() && epoch.len() <= 32 && epoch.is_ascii());
    let membership = &view["membership"];
    assert_eq!(membership["userId"], ada.id);
    assert_eq!(membership["notificationType"], "DirectMessage");
    assert_eq!(membership["createdAt"], room["createdAt"]);

    let added = client.event("room.added").await;
    assert_eq!(added["data"]["reason"], "Created");
    assert_eq!(added["data"]["room"]["roomId"], room["roomId"]);

    // A repeat makes no second room.
    let again = client.ok("room.create", data).await;
    assert_eq!(again["room"]["roomId"], room["roomId"]);
    assert_eq!(items(&client.ok("room.list", json!({})).await).len(), 1);
    assert!(!client.settled_names().await.contains(&"room.added".to_owned()));
}

#[tokio::test]
async fn a_nonce_is_ones_own() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let data = json!({ "name": "Tea", "nonce": "same" });
    let first = ada.ok("room.create", data.clone()).await;
    let second = bob.ok("room.create", data).await;
    assert_ne!(first["room"]["roomId"], second["room"]["roomId"]);
}

#[tokio::test]
async fn s_160_a_room_can_be_read_by_its_members_alone() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut eve) = server.client("Eve").await;
    let room = ada.room("Tea").await;
    let view = ada.ok("room.get", json!({ "roomId": room })).await;
    assert_eq!(view["room"]["roomId"], room);
    let unknown = eve.error("room.get", json!({ "roomId": NOWHERE })).await;
    let foreign = eve.error("room.get", json!({ "roomId": room })).await;
    assert_eq!(unknown["code"], "forbidden");
    assert_eq!(unknown, foreign, "nothing is revealed");
    for (op, data) in [
        ("room.update", json!({ "roomId": room, "name": "x" })),
        ("room.delete", json!({ "roomId": room })),
        ("room.leave", json!({ "roomId": room })),
        ("room.members", json!({ "roomId": room })),
        ("invite.create", json!({ "roomId": room })),
        ("invite.mine", json!({ "roomId": room })),
        ("invite.list", json!({ "roomId": room })),
        ("membership.get", json!({ "roomIds": [room] })),
        ("membership.update", json!({ "roomId": room, "nickname": "x" })),
        ("membership.clearMentions", json!({ "roomId": room })),
        ("message.send", json!({ "roomId": room, "message": "x" })),
        ("message.list", json!({ "roomId": room })),
        ("message.get", json!({ "roomId": room, "rowKeys": ["0".repeat(30)] })),
        ("message.edit", json!({ "roomId": room, "rowKey": "0".repeat(30), "message": "x" })),
        ("message.delete", json!({ "roomId": room, "rowKey": "0".repeat(30) })),
        ("message.thread", json!({ "roomId": room, "rowKey": "0".repeat(30) })),
        ("typing.start", json!({ "roomId": room })),
    ] {
        let foreign = eve.error(op, data.clone()).await;
        assert_eq!(foreign["code"], "forbidden", "{op}");
        let mut data = data;
        if data.get("roomIds").is_some() {
            data["roomIds"] = json!([NOWHERE]);
        } else {
            data["roomId"] = json!(NOWHERE);
        }
        assert_eq!(eve.error(op, data).await, foreign, "{op}: nothing is revealed");
    }
    // Without an id the latest active one, or nothing.
    assert_eq!(eve.ok("room.get", json!({})).await, json!({}));
    let second = ada.room("Coffee").await;
    assert_eq!(ada.ok("room.get", json!({})).await["room"]["roomId"], second);
    ada.say(&room, "hello").await;
    assert_eq!(ada.ok("room.get", json!({})).await["room"]["roomId"], room);
}

async fn walk(client: &mut Client, op: &str, data: Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut data = data;
    loop {
        let reply = client.ok(op, data.clone()).await;
        found.extend(items(&reply).iter().cloned());
        if reply["hasMore"] != true {
            assert!(reply.get("nextCursor").is_none() || reply["nextCursor"].is_string());
            return found;
        }
        assert!(reply["nextCursor"].is_string(), "{reply}");
        data["cursor"] = reply["nextCursor"].clone();
    }
}

#[tokio::test]
async fn room_lists_can_be_walked_by_activity_and_by_id() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let mut rooms = Vec::new();
    for number in 0..7 {
        rooms.push(client.room(&format!("Room {number}")).await);
    }
    client.say(&rooms[2], "hello").await;
    let id = |view: &Value| view["room"]["roomId"].as_str().unwrap().to_owned();
    let active: Vec<_> = walk(&mut client, "room.list", json!({ "limit": 2 })).await.iter().map(id).collect();
    let newest_first: Vec<_> = [2, 6, 5, 4, 3, 1, 0].map(|number: usize| rooms[number].clone()).into();
    assert_eq!(active, newest_first);
    let by_id: Vec<_> =
        walk(&mut client, "room.list", json!({ "order": "Id", "limit": 3 })).await.iter().map(id).collect();
    assert_eq!(by_id.len(), 7);
    assert_eq!(by_id.iter().collect::<BTreeSet<_>>(), rooms.iter().collect());

    let reply = client.ok("room.list", json!({ "query": "ROOM 3" })).await;
    assert_eq!(items(&reply).iter().map(id).collect::<Vec<_>>(), [rooms[3].clone()]);
    let reply = client.ok("room.list", json!({ "query": "%" })).await;
    assert_eq!(items(&reply).len(), 0, "a sign of a search language is a sign");
    // A page that lacks the room asked for has it appended.
    let reply = client.ok("room.list", json!({ "limit": 1, "roomId": rooms[0] })).await;
    assert_eq!(items(&reply).iter().map(id).collect::<Vec<_>>(), [rooms[2].clone(), rooms[0].clone()]);
    let reply = client.ok("room.list", json!({ "limit": 1, "roomId": rooms[2] })).await;
    assert_eq!(items(&reply).len(), 1);
    assert_eq!(client.refused("room.list", json!({ "roomId": NOWHERE })).await, "forbidden");
    for cursor in ["nonsense", "AAAA", "999999999998227633539749999999"] {
        assert_eq!(client.refused("room.list", json!({ "cursor": cursor })).await, "bad_request", "{cursor:?}");
    }
    // A cursor belongs to its operation and arguments.
    let reply = client.ok("room.list", json!({ "limit": 2 })).await;
    let cursor = &reply["nextCursor"];
    assert_eq!(client.refused("room.list", json!({ "order": "Id", "cursor": cursor })).await, "bad_request");
    assert_eq!(client.refused("room.members", json!({ "roomId": rooms[0], "cursor": cursor })).await, "bad_request");
}

#[tokio::test]
async fn s_037_and_s_161_changing_a_room_tells_everybody_what_changed() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    assert_eq!(bob.refused("room.update", json!({ "roomId": room, "name": "Mine" })).await, "forbidden");
    assert_eq!(client.refused("room.update", json!({ "roomId": room })).await, "bad_request");

    let changes = json!({ "roomId": room, "topic": "leaves", "isReadOnly": true, "slowmodeMs": 1000 });
    let reply = client.ok("room.update", changes).await;
    assert_eq!((&reply["room"]["topic"], &reply["room"]["isReadOnly"]), (&json!("leaves"), &json!(true)));
    let event = bob.room_event().await;
    assert_eq!((&event["event"], &event["seq"]), (&json!("room.updated"), &json!(3)));
    assert_eq!(event["data"]["userId"], ada.id);
    let mut changed = event["data"]["changes"].clone();
    assert_eq!(changed["updatedAt"].take(), reply["room"]["updatedAt"]);
    assert_eq!(changed, json!({ "topic": "leaves", "isReadOnly": true, "slowmodeMs": 1000, "updatedAt": null }));

    // What is switched off is written out, what is cleared is null.
    client.ok("room.update", json!({ "roomId": room, "topic": null, "isReadOnly": false, "slowmodeMs": null })).await;
    let event = bob.room_event().await;
    let changes = &event["data"]["changes"];
    assert_eq!(changes["isReadOnly"], false);
    assert!(changes.get("topic").is_some_and(Value::is_null) && changes.get("slowmodeMs").is_some_and(Value::is_null));
    assert!(changes.get("name").is_none());

    // A new name leaves a line, the same name nothing.
    let reply = client.ok("room.update", json!({ "roomId": room, "name": "  Coffee " })).await;
    assert_eq!(reply["room"]["name"], "Coffee");
    let (event, line) = (bob.room_event().await, bob.room_event().await);
    assert_eq!((&event["event"], &event["seq"]), (&json!("room.updated"), &json!(5)));
    assert_eq!((&line["event"], &line["seq"]), (&json!("message.created"), &json!(6)));
    let message = &line["data"]["message"];
    assert_eq!((&message["type"], &message["message"]), (&json!("EditRoom"), &json!("Coffee")));
    assert_eq!(message["userId"], ada.id);
    let repeated = client.ok("room.update", json!({ "roomId": room, "name": "Coffee" })).await;
    assert_eq!(repeated["room"]["updatedAt"], reply["room"]["updatedAt"]);
    assert!(bob.is_quiet().await, "what changes nothing announces nothing");
}

#[tokio::test]
async fn s_164_leaving_ends_what_one_sees_and_leaves_a_line() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut client).await;
    ada.subscribe(&room).await;
    let mut second = Client::of(&server, &bob).await;
    let sub = second.subscribe(&room).await["sub"].clone();
    client.ok("room.leave", json!({ "roomId": room })).await;

    let event = ada.room_event().await;
    assert_eq!((&event["event"], &event["seq"]), (&json!("member.left"), &json!(3)));
    assert_eq!((&event["data"]["userId"], &event["data"]["reason"]), (&json!(bob.id), &json!("Left")));
    let line = ada.room_event().await;
    assert_eq!(line["seq"], 4);
    assert_eq!(
        (&line["data"]["message"]["type"], &line["data"]["message"]["userId"]),
        (&json!("System"), &json!(bob.id))
    );

    let end = second.room_event().await;
    assert_eq!(end["event"], "room.unsubscribed", "nothing of the leaving itself: {end}");
    assert_eq!((&end["sub"], &end["data"]["reason"]), (&sub, &json!("Left")));
    assert_eq!(second.event("room.removed").await["data"], json!({ "roomId": room, "reason": "Left" }));
    assert_eq!(second.refused("message.list", json!({ "roomId": room })).await, "forbidden");
    // A repeat of a leave finds the access gone: it is done.
    assert_eq!(client.refused("room.leave", json!({ "roomId": room })).await, "forbidden");
    ada.say(&room, "still here?").await;
    assert!(second.settled().await.iter().all(|event| event["event"] != "message.created"));
}

#[tokio::test]
async fn s_162_deleting_is_the_owners_and_ends_the_room_for_all() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    bob.settled().await;
    assert_eq!(bob.refused("room.delete", json!({ "roomId": room })).await, "forbidden");
    owner.ok("room.delete", json!({ "roomId": room })).await;
    let gone = bob.room_event().await;
    assert_eq!((&gone["event"], &gone["data"]["userId"]), (&json!("room.deleted"), &json!(ada.id)));
    let end = bob.room_event().await;
    assert_eq!((&end["event"], &end["data"]["reason"]), (&json!("room.unsubscribed"), &json!("Deleted")));
    assert_eq!(bob.event("room.removed").await["data"], json!({ "roomId": room, "reason": "Deleted" }));
    for client in [&mut owner, &mut bob] {
        assert_eq!(client.refused("message.list", json!({ "roomId": room })).await, "forbidden");
        assert_eq!(items(&client.ok("room.list", json!({})).await).len(), 0);
    }
}

#[tokio::test]
async fn s_164_the_owners_leaving_deletes_the_room() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    owner.ok("room.leave", json!({ "roomId": room })).await;
    assert_eq!(bob.event("room.unsubscribed").await["data"]["reason"], "Deleted");
    assert_eq!(bob.refused("room.get", json!({ "roomId": room })).await, "forbidden");
}

#[tokio::test]
async fn members_are_listed_by_the_time_of_joining() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let mut expected = vec![ada.id.clone()];
    let mut others = Vec::new();
    for name in ["Bob", "Cy", "Dan"] {
        let (user, mut client) = server.client(name).await;
        owner.bring(&room, &mut client).await;
        expected.push(user.id.clone());
        others.push((user, client));
    }
    let members = walk(&mut owner, "room.members", json!({ "roomId": room, "limit": 2 })).await;
    let ids: Vec<_> = members.iter().map(|member| member["userId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, expected);
    assert_eq!(members[1]["user"]["name"], others[0].0.name);
    let found = owner.ok("room.members", json!({ "roomId": room, "query": "CY" })).await;
    assert_eq!(items(&found)[0]["userId"], others[1].0.id);
    others[2].1.ok("membership.update", json!({ "roomId": room, "nickname": "Zorro" })).await;
    let found = owner.ok("room.members", json!({ "roomId": room, "query": "zor" })).await;
    assert_eq!(items(&found)[0]["userId"], others[2].0.id);
    let found = owner.ok("room.members", json!({ "roomId": room, "userIds": [others[0].0.id, NOWHERE] })).await;
    assert_eq!(items(&found).len(), 1);
}

#[tokio::test]
async fn s_146_a_new_room_has_the_everyone_role_alone() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    let view = bob.ok("room.get", json!({ "roomId": room })).await;
    assert_eq!((&view["permissions"], &view["topRolePosition"]), (&json!("75"), &json!(-1)));
    assert!(view.get("isRoomOwner").is_none());
    match bob.call("role.list", json!({ "roomIds": [room] })).await {
        Ok(reply) => {
            assert_eq!(items(&reply).len(), 1);
            assert_eq!(
                (&items(&reply)[0]["isEveryone"], &items(&reply)[0]["permissions"]),
                (&json!(true), &json!("75"))
            );
        }
        Err(error) => assert_eq!(error["code"], "unsupported"),
    }
}

#[tokio::test]
async fn bl_086_names_hold_one_line() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let name = format!("Tea\u{202e}\nroom {}", unique(""));
    let view = client.ok("room.create", json!({ "name": name, "nonce": nonce() })).await;
    let room = view["room"]["roomId"].as_str().unwrap();
    client.say(room, "hello").await;
    assert_eq!(texts(&client.ok("message.list", json!({ "roomId": room })).await), ["hello"]);
    assert!(server.log().lines().all(|line| !line.starts_with("room ")), "a log line stays one line");
}
