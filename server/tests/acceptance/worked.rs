//! The worked exchanges of the protocol's annex, 6.1 to 6.5, frame by frame.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Client, Server, unique};

/// Replaces what differs from run to run: ids, keys, times, epochs, tokens.
struct Names(BTreeMap<String, String>);

impl Names {
    fn new(pairs: &[(&Value, &str)]) -> Self {
        Self(pairs.iter().map(|(value, name)| (value.as_str().unwrap().to_owned(), (*name).to_owned())).collect())
    }

    fn apply(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let is_time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
                let shown = self.0.get(text).cloned();
                shown.unwrap_or_else(|| if is_time { "<time>".to_owned() } else { text.clone() }).into()
            }
            Value::Array(items) => items.iter().map(|item| self.apply(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.apply(value))).collect(),
            other => other.clone(),
        }
    }
}

#[tokio::test]
async fn exchange_6_1_register_hello_room_invite_join() {
    let server = Server::shared().await;
    let (ada_name, bob_name) = (unique("Ada"), unique("Bob"));
    let register = |name: &str| json!({ "name": name, "password": "correct horse" });
    let answer = server.post("/v1/auth/register", None, &register(&ada_name)).await;
    assert_eq!(answer.status, 201);
    let ada = &answer.body["user"];
    let names = Names::new(&[
        (&answer.body["token"], "tA"),
        (&answer.body["sessionId"], "SESSION"),
        (&ada["userId"], "ADA"),
        (&ada["name"], "Ada"),
    ]);
    assert_eq!(
        names.apply(&answer.body),
        json!({
            "token": "tA", "expiresAt": "<time>", "sessionId": "SESSION",
            "user": { "userId": "ADA", "name": "Ada", "createdAt": "<time>", "updatedAt": "<time>" }
        })
    );

    let mut client = Client::open(&server).await;
    let hello = json!({ "token": answer.body["token"], "client": { "name": "demo", "version": "1.0" } });
    let mut hello = client.ok("session.hello", hello).await;
    hello["limits"].take();
    hello["server"]["version"].take();
    let connection = hello["connectionId"].take();
    assert!(connection.is_string());
    assert_eq!(
        names.apply(&hello),
        json!({
            "connectionId": null, "sessionId": "SESSION",
            "user": { "userId": "ADA", "name": "Ada", "createdAt": "<time>", "updatedAt": "<time>" },
            "server": { "version": null, "time": "<time>" }, "heartbeatMs": 15000, "limits": null
        })
    );

    let view = client.ok("room.create", json!({ "name": "Tea", "nonce": "n-room-1" })).await;
    let (room, epoch) = (view["room"]["roomId"].clone(), view["head"]["epoch"].clone());
    let mut names = names;
    names.0.extend(Names::new(&[(&room, "ROOM"), (&epoch, "EPOCH")]).0);
    let shown_room = json!({
        "roomId": "ROOM", "type": "Room", "name": "Tea", "userId": "ADA",
        "allowedMimeCategories": ["Audio", "Document", "Image", "Video"],
        "createdAt": "<time>", "updatedAt": "<time>", "lastActivityAt": "<time>"
    });
    assert_eq!(
        names.apply(&view),
        json!({
            "room": shown_room,
            "membership": { "roomId": "ROOM", "userId": "ADA", "notificationType": "DirectMessage", "createdAt": "<time>" },
            "permissions": "32767", "isRoomOwner": true, "topRolePosition": -1, "head": { "epoch": "EPOCH" }
        })
    );

    let rooms = json!([{ "roomId": room, "since": { "epoch": epoch, "seq": 0 } }]);
    let reply = client.ok("room.subscribe", json!({ "rooms": rooms })).await;
    assert_eq!(
        names.apply(&reply),
        json!({
            "rooms": [{ "roomId": "ROOM", "sub": 1, "epoch": "EPOCH", "verdict": "exact" }]
        })
    );
    assert_eq!(
        names.apply(&client.event("room.catchUp").await),
        json!({
            "event": "room.catchUp", "roomId": "ROOM", "sub": 1, "data": { "done": true }
        })
    );

    let reply = client.ok("invite.create", json!({ "roomId": room, "maxUses": 5, "nonce": "n-inv-1" })).await;
    let invite = reply["invite"]["inviteId"].clone();
    names.0.extend(Names::new(&[(&invite, "INVITE"), (&reply["invite"]["url"], "/invite/INVITE")]).0);
    assert_eq!(reply["invite"]["url"], format!("/invite/{}", invite.as_str().unwrap()));
    assert_eq!(
        names.apply(&reply),
        json!({ "invite": {
        "inviteId": "INVITE", "roomId": "ROOM", "userId": "ADA", "expiresAt": "<time>", "maxUses": 5,
        "createdAt": "<time>", "url": "/invite/INVITE"
    } })
    );

    let answer = server.post("/v1/auth/register", None, &register(&bob_name)).await;
    let bob = &answer.body["user"];
    names.0.extend(Names::new(&[(&bob["userId"], "BOB"), (&bob["name"], "Bob")]).0);
    let mut other = Client::open(&server).await;
    other.ok("session.hello", json!({ "token": answer.body["token"] })).await;
    let view = other.ok("invite.join", json!({ "inviteId": invite, "nonce": "n-join-1" })).await;
    assert_eq!(
        names.apply(&view),
        json!({
            "room": shown_room,
            "membership": { "roomId": "ROOM", "userId": "BOB", "notificationType": "DirectMessage", "createdAt": "<time>" },
            "permissions": "75", "topRolePosition": -1, "head": { "epoch": "EPOCH", "seq": 2 }
        })
    );

    assert_eq!(
        names.apply(&client.room_event().await),
        json!({
            "event": "member.joined", "roomId": "ROOM", "seq": 1, "data": { "member": {
                "userId": "BOB",
                "user": { "userId": "BOB", "name": "Bob", "createdAt": "<time>", "updatedAt": "<time>" },
                "createdAt": "<time>"
            } }
        })
    );
    let line = client.room_event().await;
    names.0.extend(Names::new(&[(&line["data"]["message"]["rowKey"], "KEY")]).0);
    names.0.insert(format!("{bob_name} joined"), "Bob joined".to_owned());
    assert_eq!(
        names.apply(&line),
        json!({
            "event": "message.created", "roomId": "ROOM", "seq": 2, "data": { "message": {
                "roomId": "ROOM", "rowKey": "KEY", "seq": 2, "rev": 1, "bodyRev": 1, "type": "System", "userId": "BOB",
                "message": "Bob joined", "createdAt": "<time>", "updatedAt": "<time>"
            } }
        })
    );
}

#[tokio::test]
async fn exchange_6_2_a_send_whose_reply_is_lost() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    let head = bob.subscribe(&room).await;
    let send = json!({ "roomId": room, "message": "hello <all>", "nonce": "n-77" });
    client.begin("message.send", send.clone()).await;
    let seen = bob.room_event().await;
    drop(client);

    let mut client = Client::of(&server, &ada).await;
    let rooms = json!([{ "roomId": room, "since": { "epoch": head["epoch"], "seq": 2 } }]);
    let subscribe = client.begin("room.subscribe", json!({ "rooms": rooms })).await;
    let again = client.begin("message.send", send.clone()).await;
    let message = client.reply(again).await.unwrap()["message"].take();
    assert_eq!(message, seen["data"]["message"]);
    assert_eq!(message["seq"], 3);
    let reply = client.reply(subscribe).await.unwrap();
    assert_eq!(
        reply,
        json!({
            "rooms": [{ "roomId": room, "sub": 1, "epoch": head["epoch"], "seq": 3, "verdict": "exact" }]
        })
    );
    let page = client.event("room.catchUp").await;
    assert_eq!(
        page,
        json!({
            "event": "room.catchUp", "roomId": room, "sub": 1, "data": {
                "entries": [{ "event": "message.created", "roomId": room, "seq": 3, "data": { "message": message } }],
                "seq": 3, "done": true
            }
        })
    );
    assert!(bob.is_quiet().await, "nobody sees a second event");
    client.ok("message.delete", json!({ "roomId": room, "rowKey": message["rowKey"] })).await;
    let error = client.error("message.send", send).await;
    assert_eq!((&error["code"], &error["rowKey"]), (&json!("not_found"), &message["rowKey"]));
}

#[tokio::test]
async fn exchange_6_3_resume_with_a_folded_catch_up_then_live() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (bob_user, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut bob).await;
    let m = bob.say(&room, "tea at three?").await;
    let n = bob.say(&room, "never mind").await;
    let head = ada.subscribe(&room).await;
    let position = head["seq"].as_u64().unwrap();
    ada.ok("room.unsubscribe", json!({ "roomIds": [room] })).await;
    let edit = |message: &Value, text: &str| json!({ "roomId": room, "rowKey": message["rowKey"], "message": text });
    let a = bob.say(&room, "yes").await; // + 1
    let b = bob.say(&room, "no").await; // + 2
    bob.ok("message.edit", edit(&m, "tea at four?")).await; // + 3
    bob.ok("message.edit", edit(&a, "yes, four")).await; // + 4
    bob.ok("message.delete", json!({ "roomId": room, "rowKey": b["rowKey"] })).await; // + 5
    bob.ok("message.delete", json!({ "roomId": room, "rowKey": n["rowKey"] })).await; // + 6

    let rooms = json!([{ "roomId": room, "since": { "epoch": head["epoch"], "seq": position } }]);
    let reply = ada.ok("room.subscribe", json!({ "rooms": rooms })).await;
    let entry = &reply["rooms"][0];
    assert_eq!((&entry["seq"], &entry["verdict"]), (&json!(position + 6), &json!("exact")));
    let page = ada.event("room.catchUp").await;
    let names = Names::new(&[
        (&json!(room), "ROOM"),
        (&m["rowKey"], "M"),
        (&a["rowKey"], "A"),
        (&n["rowKey"], "N"),
        (&json!(bob_user.id), "BOB"),
    ]);
    let strip = |mut page: Value| {
        for entry in page["data"]["entries"].as_array_mut().unwrap() {
            for place in ["/data/changes", "/data/message"] {
                if let Some(Value::Object(message)) = entry.pointer_mut(place) {
                    message.remove("nonce");
                }
            }
        }
        page
    };
    assert_eq!(
        names.apply(&strip(page)),
        json!({
            "event": "room.catchUp", "roomId": "ROOM", "sub": entry["sub"], "data": { "entries": [
                { "event": "message.updated", "roomId": "ROOM", "seq": position + 3, "data": {
                    "rowKey": "M", "rev": 2, "changes": {
                        "roomId": "ROOM", "rowKey": "M", "seq": m["seq"], "rev": 2, "bodyRev": 2, "type": "Message",
                        "userId": "BOB", "message": "tea at four?", "isEdited": true, "createdAt": "<time>", "updatedAt": "<time>"
                    }
                } },
                { "event": "message.created", "roomId": "ROOM", "seq": position + 4, "data": { "message": {
                    "roomId": "ROOM", "rowKey": "A", "seq": position + 1, "rev": 2, "bodyRev": 2, "type": "Message",
                    "userId": "BOB", "message": "yes, four", "isEdited": true, "createdAt": "<time>", "updatedAt": "<time>"
                } } },
                { "event": "message.deleted", "roomId": "ROOM", "seq": position + 6, "data": { "rowKey": "N", "rev": 2 } }
            ], "seq": position + 6, "done": true }
        })
    );
    bob.say(&room, "see you").await;
    assert_eq!(ada.room_event().await["seq"], position + 7);
}

#[tokio::test]
async fn exchange_6_5_slowmode() {
    let server = Server::shared().await;
    let (ada_user, mut ada) = server.client("Ada").await;
    let (bob_user, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    ada.ok("room.update", json!({ "roomId": room, "slowmodeMs": 5000 })).await;
    let mut event = bob.room_event().await;
    assert!(event["data"]["changes"]["updatedAt"].take().is_string());
    assert_eq!(
        event,
        json!({
            "event": "room.updated", "roomId": room, "seq": 3,
            "data": { "changes": { "slowmodeMs": 5000, "updatedAt": null }, "userId": ada_user.id }
        })
    );
    let one = json!({ "roomId": room, "message": "one", "nonce": "b-1" });
    let first = bob.ok("message.send", one.clone()).await;
    let event = bob.room_event().await;
    assert_eq!((&event["seq"], &event["data"]["message"]), (&json!(4), &first["message"]));
    let two = json!({ "roomId": room, "message": "two", "nonce": "b-2" });
    let error = bob.error("message.send", two.clone()).await;
    let wait = error["retryAfterMs"].as_u64().unwrap();
    assert_eq!(error["code"], "slowmode");
    assert!(wait > 0 && wait <= 5000, "{wait}");
    assert_eq!(bob.ok("message.send", one).await, first);
    let answer = server.rpc(&bob_user, "message.send", &two).await;
    assert_eq!(answer.refused(), (429, "slowmode"));
    let wait = answer.body["retryAfterMs"].as_u64().unwrap();
    assert_eq!(answer.header("retry-after"), wait.div_ceil(1000).to_string());
    // The refusal stored nothing, so the nonce may be used again.
    tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
    bob.ok("message.send", two).await;
}
