//! Verdicts, catch-up and folding, echo, falling behind, losing access.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Client, Server, nonce};

async fn send_many(client: &mut Client, room: &str, texts: impl Iterator<Item = String>) -> Vec<Value> {
    let mut ids = Vec::new();
    for text in texts {
        let data = json!({ "roomId": room, "message": text, "nonce": nonce() });
        ids.push(client.begin("message.send", data).await);
    }
    let mut messages = Vec::new();
    for id in ids {
        messages.push(client.reply(id).await.unwrap()["message"].take());
    }
    messages
}

fn kinds(entries: &[Value]) -> Vec<(&str, u64)> {
    entries.iter().map(|entry| (entry["event"].as_str().unwrap(), entry["seq"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn without_a_position_it_begins_at_the_head() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.say(&room, "before").await;
    let entry = client.subscribe(&room).await;
    assert_eq!((&entry["roomId"], &entry["seq"]), (&json!(room), &json!(1)));
    assert!(entry["sub"].as_u64().unwrap() > 0 && entry["epoch"].is_string());
    client.say(&room, "after").await;
    let event = client.room_event().await;
    assert_eq!((&event["seq"], &event["data"]["message"]["message"]), (&json!(2), &json!("after")));
}

#[tokio::test]
async fn bl_006_the_head_is_an_exact_position_however_little_happened() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let view = client.ok("room.get", json!({ "roomId": room })).await;
    let (entry, entries) = client.resume(&room, &view["head"]["epoch"], 0).await;
    assert_eq!((&entry["verdict"], entry.get("seq"), entries.len()), (&json!("exact"), None, 0));
    client.say(&room, "one").await;
    // bl_008
    let (entry, entries) = client.resume(&room, &view["head"]["epoch"], 1).await;
    assert_eq!((&entry["verdict"], entries.len()), (&json!("exact"), 0));
}

#[tokio::test]
async fn s_077_what_was_missed_comes_once_in_order_then_live() {
    let server = Server::shared().await;
    let (room, (ada, mut client), (_, mut bob)) = server.two_in_a_room().await;
    let head = client.subscribe(&room).await;
    let messages = send_many(&mut bob, &room, (0..5).map(|number| number.to_string())).await;
    // bl_001: another connection resumes from where the first one was.
    let mut second = Client::of(&server, &ada).await;
    let (entry, entries) = second.resume(&room, &head["epoch"], head["seq"].as_u64().unwrap()).await;
    assert_eq!((&entry["verdict"], &entry["seq"]), (&json!("exact"), &json!(7)));
    assert_eq!(entries.len(), 5);
    for (entry, message) in entries.iter().zip(&messages) {
        let expected = json!({
            "event": "message.created", "roomId": room, "seq": message["seq"], "data": { "message": message }
        });
        assert_eq!(entry, &expected);
    }
    bob.say(&room, "live").await;
    let event = second.room_event().await;
    assert_eq!((&event["event"], &event["seq"]), (&json!("message.created"), &json!(8)));
}

#[tokio::test]
async fn bl_010_a_session_resumes_again_and_again() {
    let server = Server::shared().await;
    let (room, (ada, mut client), (_, mut bob)) = server.two_in_a_room().await;
    let head = client.subscribe(&room).await;
    let mut position = head["seq"].as_u64().unwrap();
    let mut seen = Vec::new();
    for round in 0..20 {
        drop(client);
        bob.say(&room, &round.to_string()).await;
        client = Client::of(&server, &ada).await;
        let (entry, entries) = client.resume(&room, &head["epoch"], position).await;
        assert_eq!(entry["verdict"], "exact");
        seen.extend(entries.iter().map(|entry| entry["data"]["message"]["message"].as_str().unwrap().to_owned()));
        position = entry["seq"].as_u64().unwrap();
    }
    assert_eq!(seen, (0..20).map(|round| round.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_catch_up_is_folded() {
    let server = Server::shared().await;
    let (room, (_, mut client), (_, mut bob)) = server.two_in_a_room().await;
    let old = client.say(&room, "old").await; // 3
    let doomed = client.say(&room, "doomed").await; // 4
    let head = bob.subscribe(&room).await;
    assert_eq!(head["seq"], 4);
    let key = |message: &Value| json!({ "roomId": room, "rowKey": message["rowKey"] });
    let edit = |message: &Value, text: &str| json!({ "roomId": room, "rowKey": message["rowKey"], "message": text });
    let a = client.say(&room, "a").await; // 5
    let b = client.say(&room, "b").await; // 6
    client.ok("message.edit", edit(&old, "old, edited")).await; // 7
    client.ok("message.edit", edit(&a, "a, edited")).await; // 8
    client.ok("message.delete", key(&b)).await; // 9
    client.ok("message.delete", key(&doomed)).await; // 10
    client.ok("room.update", json!({ "roomId": room, "topic": "one" })).await; // 11
    client.ok("room.update", json!({ "roomId": room, "topic": "two" })).await; // 12
    client.ok("membership.update", json!({ "roomId": room, "nickname": "Countess" })).await; // 13
    client.ok("message.edit", edit(&old, "old, edited twice")).await; // 14

    let (entry, entries) = bob.resume(&room, &head["epoch"], 4).await;
    assert_eq!((&entry["verdict"], &entry["seq"]), (&json!("exact"), &json!(14)));
    assert_eq!(
        kinds(&entries),
        [
            ("message.created", 8),
            ("message.deleted", 10),
            ("room.updated", 11),
            ("room.updated", 12),
            ("member.updated", 13),
            ("message.updated", 14),
        ]
    );
    let created = &entries[0]["data"]["message"];
    assert_eq!(
        (&created["rowKey"], &created["message"], &created["rev"]),
        (&a["rowKey"], &json!("a, edited"), &json!(2))
    );
    assert_eq!(created["seq"], 5, "the position of its creation");
    assert_eq!(entries[1]["data"], json!({ "rowKey": doomed["rowKey"], "rev": 2 }));
    let whole = &entries[5]["data"];
    assert_eq!((&whole["rowKey"], &whole["rev"]), (&old["rowKey"], &json!(3)));
    let changes = &whole["changes"];
    assert_eq!(
        (&changes["message"], &changes["seq"], &changes["roomId"]),
        (&json!("old, edited twice"), &json!(3), &json!(room))
    );
    assert_eq!((&changes["rev"], &changes["bodyRev"], &changes["type"]), (&json!(3), &json!(3), &json!("Message")));
    // From the middle only what came after it is folded in.
    let (_, entries) = bob.resume(&room, &head["epoch"], 10).await;
    assert_eq!(
        kinds(&entries),
        [("room.updated", 11), ("room.updated", 12), ("member.updated", 13), ("message.updated", 14)]
    );
}

#[tokio::test]
async fn bl_015_a_flood_of_edits_does_not_push_a_message_out() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let head = client.subscribe(&room).await;
    let bot = client.say(&room, "0").await;
    client.say(&room, "a person").await;
    let mut ids = Vec::new();
    for round in 1..=150 {
        let edit = json!({ "roomId": room, "rowKey": bot["rowKey"], "message": round.to_string() });
        ids.push(client.begin("message.edit", edit).await);
    }
    for id in ids {
        client.reply(id).await.unwrap();
    }
    let (_, entries) = client.resume(&room, &head["epoch"], 0).await;
    assert_eq!(kinds(&entries), [("message.created", 2), ("message.created", 152)]);
    assert_eq!(entries[1]["data"]["message"]["rev"], 151);
}

#[tokio::test]
async fn a_long_catch_up_comes_in_pages() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let view = client.ok("room.get", json!({ "roomId": room })).await;
    send_many(&mut client, &room, (0..250).map(|number| number.to_string())).await;
    // `catch_up` holds every page to its bound.
    let (entry, entries) = client.resume(&room, &view["head"]["epoch"], 0).await;
    assert_eq!((&entry["verdict"], entries.len()), (&json!("exact"), 250));
    let seqs: Vec<_> = entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=250).collect::<Vec<_>>());
    client.say(&room, "live").await;
    assert_eq!(client.room_event().await["seq"], 251);
}

#[tokio::test]
async fn bl_016_too_long_a_catch_up_is_a_gap() {
    let server = Server::with(&[("PARLOUR_LIMITS_MAX_CATCH_UP", "20")]).await;
    let (_, mut client) = server.client("Ada").await;
    assert_eq!(client.hello["limits"]["maxCatchUp"], 20);
    let room = client.room("Tea").await;
    let view = client.ok("room.get", json!({ "roomId": room })).await;
    send_many(&mut client, &room, (0..21).map(|number| number.to_string())).await;
    let (entry, _) = client.resume(&room, &view["head"]["epoch"], 0).await;
    assert_eq!((&entry["verdict"], &entry["seq"]), (&json!("gap"), &json!(21)));
    let names = client.settled_names().await;
    assert!(!names.contains(&"room.catchUp".to_owned()), "{names:?}");
    client.say(&room, "live").await;
    assert_eq!(client.room_event().await["seq"], 22);
    let (entry, entries) = client.resume(&room, &view["head"]["epoch"], 2).await;
    assert_eq!((&entry["verdict"], entries.len()), (&json!("exact"), 20));
}

#[tokio::test]
async fn a_position_of_another_log_is_a_reset() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.say(&room, "one").await;
    let epoch = client.ok("room.get", json!({ "roomId": room })).await["head"]["epoch"].clone();
    for (other, seq) in [(json!("other"), 1), (json!("other"), 0), (epoch.clone(), 2), (json!(""), 1)] {
        let (entry, _) = client.resume(&room, &other, seq).await;
        assert_eq!((&entry["verdict"], &entry["seq"], &entry["epoch"]), (&json!("reset"), &json!(1), &epoch));
    }
    client.say(&room, "x").await;
    let live = client.room_event().await;
    client.ok("message.delete", json!({ "roomId": room, "rowKey": live["data"]["message"]["rowKey"] })).await;
    client.room_event().await;
    let (entry, _) = client.resume(&room, &epoch, 4).await;
    assert_eq!((&entry["verdict"], &entry["seq"]), (&json!("reset"), &json!(3)));
    for seq in [json!(-1), json!("1"), json!(1.5)] {
        let data = json!({ "rooms": [{ "roomId": room, "since": { "epoch": epoch, "seq": seq } }] });
        assert_eq!(client.refused("room.subscribe", data).await, "bad_request");
    }
    let data = json!({ "rooms": [{ "roomId": room, "since": { "epoch": "e".repeat(33), "seq": 1 } }] });
    assert_eq!(client.refused("room.subscribe", data).await, "bad_request");
}

#[tokio::test]
async fn many_rooms_are_one_frame_and_each_has_its_verdict() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let foreign = bob.room("Coffee").await;
    let mut rooms = Vec::new();
    for number in 0..20 {
        let room = client.room(&number.to_string()).await;
        client.say(&room, "one").await;
        rooms.push(room);
    }
    let epoch = client.ok("room.get", json!({ "roomId": rooms[0] })).await["head"]["epoch"].clone();
    let mut asked: Vec<_> = rooms.iter().map(|room| json!({ "roomId": room })).collect();
    asked[0]["since"] = json!({ "epoch": epoch, "seq": 0 });
    asked[1]["since"] = json!({ "epoch": "other", "seq": 0 });
    asked.insert(2, json!({ "roomId": foreign }));
    let reply = client.ok("room.subscribe", json!({ "rooms": asked })).await;
    let entries = reply["rooms"].as_array().unwrap();
    let ids: Vec<_> = entries.iter().map(|entry| &entry["roomId"]).collect();
    assert_eq!(ids, asked.iter().map(|room| &room["roomId"]).collect::<Vec<_>>());
    let verdicts: Vec<_> = entries.iter().map(|entry| entry["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[..4], ["exact", "reset", "error", "live"]);
    assert_eq!((&entries[2]["error"]["code"], entries[2].get("sub")), (&json!("forbidden"), None));
    let mut subs: Vec<_> = entries.iter().filter_map(|entry| entry["sub"].as_u64()).collect();
    subs.sort_unstable();
    subs.dedup();
    assert_eq!(subs.len(), 20, "a sub is new for every subscription");
    assert_eq!(client.catch_up(&entries[0]).await.len(), 1);
    for room in &rooms {
        client.say(room, "two").await;
        let event = client.room_event().await;
        assert_eq!((&event["roomId"], &event["seq"]), (&json!(room), &json!(2)));
    }
    let twice = json!({ "rooms": [{ "roomId": rooms[0] }, { "roomId": rooms[0] }] });
    assert_eq!(client.refused("room.subscribe", twice).await, "bad_request");
    assert_eq!(client.refused("room.subscribe", json!({ "rooms": [] })).await, "bad_request");
}

#[tokio::test]
async fn a_second_subscribe_takes_the_place_of_the_first() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let first = client.subscribe(&room).await;
    let second = client.subscribe(&room).await;
    assert_ne!(first["sub"], second["sub"]);
    client.say(&room, "one").await;
    assert_eq!(client.event("message.created").await["data"]["message"]["message"], "one");
    client.say(&room, "two").await;
    assert_eq!(client.event("message.created").await["data"]["message"]["message"], "two", "delivered once");
}

#[tokio::test]
async fn unsubscribing_ends_delivery_without_a_word() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let other = client.room("Coffee").await;
    client.subscribe(&room).await;
    client.settled().await;
    assert_eq!(client.ok("room.unsubscribe", json!({ "roomIds": [room, other] })).await, json!({}));
    client.say(&room, "one").await;
    let names = client.settled_names().await;
    assert!(!names.iter().any(|name| name == "message.created" || name == "room.unsubscribed"), "{names:?}");
    let head = client.subscribe(&room).await;
    assert_eq!(head["seq"], 1);
}

#[tokio::test]
async fn s_081_without_echo_ones_own_sends_only_advance() {
    let server = Server::shared().await;
    let (room, (ada, mut client), (_, mut bob)) = server.two_in_a_room().await;
    let mut second = Client::of(&server, &ada).await;
    second.subscribe(&room).await;
    let data = json!({ "rooms": [{ "roomId": room }], "echo": false });
    let sub = client.ok("room.subscribe", data).await["rooms"][0]["sub"].clone();
    let message = client.say(&room, "mine").await;
    let event = client.room_event().await;
    assert_eq!(event, json!({ "event": "room.advanced", "roomId": room, "sub": sub, "seq": 3 }));
    assert_eq!(second.room_event().await["event"], "message.created", "other connections of the same user see it");
    client.ok("typing.start", json!({ "roomId": room })).await;
    second.event("typing.started").await;
    // Edits and the lines that the server writes come as to everybody (s_082).
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "mine!" });
    client.ok("message.edit", edit).await;
    assert_eq!(client.room_event().await["event"], "message.updated");
    client.ok("room.update", json!({ "roomId": room, "name": "Coffee" })).await;
    assert_eq!(client.room_event().await["event"], "room.updated");
    let line = client.room_event().await;
    assert_eq!((&line["event"], &line["data"]["message"]["type"]), (&json!("message.created"), &json!("EditRoom")));
    bob.say(&room, "theirs").await;
    assert_eq!(client.room_event().await["event"], "message.created");
    assert!(client.settled().await.iter().all(|event| event["event"] != "typing.started"));
    // The last subscribe frame says it for the whole connection.
    let other = client.room("Milk").await;
    client.ok("room.subscribe", json!({ "rooms": [{ "roomId": other }] })).await;
    client.say(&room, "mine again").await;
    assert_eq!(client.room_event().await["event"], "message.created");
    // A catch-up holds one's own whatever echo says.
    let rooms = json!([{ "roomId": room, "since": { "epoch": client.ok("room.get", json!({ "roomId": room })).await["head"]["epoch"], "seq": 2 } }]);
    let reply = client.ok("room.subscribe", json!({ "rooms": rooms, "echo": false })).await;
    let entries = client.catch_up(&reply["rooms"][0]).await;
    assert_eq!(entries.iter().filter(|entry| entry["event"] == "message.created").count(), 4);
}

#[tokio::test]
async fn s_078_what_is_sent_while_a_catch_up_runs_is_seen_once() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let epoch = client.ok("room.get", json!({ "roomId": room })).await["head"]["epoch"].clone();
    send_many(&mut client, &room, (0..300).map(|number| number.to_string())).await;
    for _ in 0..5 {
        let mut second = Client::of(&server, &ada).await;
        let rooms = json!([{ "roomId": room, "since": { "epoch": epoch, "seq": 0 } }]);
        let id = second.begin("room.subscribe", json!({ "rooms": rooms })).await;
        let sent = send_many(&mut client, &room, (0..20).map(|number| format!("more {number}"))).await;
        let last = sent.last().unwrap()["seq"].as_u64().unwrap();
        second.reply(id).await.unwrap();
        let mut position = 0;
        while position < last {
            let event = second.room_event().await;
            if event["event"] == "room.catchUp" {
                for entry in event["data"]["entries"].as_array().into_iter().flatten() {
                    let seq = entry["seq"].as_u64().unwrap();
                    assert_eq!(seq, position + 1, "nothing is missing, nothing comes twice");
                    position = seq;
                }
            } else {
                let seq = event["seq"].as_u64().unwrap();
                assert_eq!(seq, position + 1, "{event}");
                position = seq;
            }
        }
    }
}

#[tokio::test]
async fn a_slow_reader_falls_behind_and_catches_up_without_being_cut_off() {
    let server = Server::shared().await;
    let (room, (_, mut client), (bob, _)) = server.two_in_a_room().await;
    let mut slow = Client::with_small_buffer(&server, &bob).await;
    let head = slow.subscribe(&room).await;
    let start = head["seq"].as_u64().unwrap();
    // About 8 MB that nobody reads: more than any socket buffer and queue.
    let text = "x".repeat(9_900);
    let count = 800;
    for chunk in 0..8 {
        send_many(&mut client, &room, (0..100).map(|number| format!("{} {text}", chunk * 100 + number))).await;
    }
    let last = start + count;
    let (mut position, mut behind) = (start, 0);
    while position < last {
        let event = slow.room_event().await;
        match event["event"].as_str().unwrap() {
            "room.behind" => {
                behind += 1;
                assert_eq!(event["sub"], head["sub"]);
                assert_eq!(event["data"]["seq"], position, "it tells what was delivered last");
                if event["data"]["verdict"] == "gap" {
                    position = event["data"]["head"].as_u64().unwrap();
                } else {
                    assert_eq!(event["data"]["verdict"], "exact");
                }
            }
            "room.catchUp" => {
                assert_eq!(event["sub"], head["sub"]);
                for entry in event["data"]["entries"].as_array().into_iter().flatten() {
                    assert_eq!(entry["seq"], position + 1);
                    position += 1;
                }
            }
            _ => {
                assert_eq!(event["seq"], position + 1, "no hole");
                position += 1;
            }
        }
    }
    assert!(behind > 0, "the reader was not slow enough");
    client.say(&room, "live again").await;
    assert_eq!(slow.room_event().await["seq"], last + 1);
}

#[tokio::test]
async fn a_slow_reader_does_not_hold_up_the_others() {
    let server = Server::shared().await;
    let (room, (_, mut client), (bob, mut quick)) = server.two_in_a_room().await;
    let mut slow = Client::with_small_buffer(&server, &bob).await;
    slow.subscribe(&room).await;
    quick.subscribe(&room).await;
    let text = "x".repeat(9_900);
    let began = Instant::now();
    for number in 0..300 {
        client.say(&room, &format!("{number} {text}")).await;
        quick.event("message.created").await;
    }
    assert!(began.elapsed() < Duration::from_secs(20));
    drop(slow);
}

#[tokio::test]
async fn bl_068_nothing_reaches_who_has_left() {
    let server = Server::shared().await;
    let (room, (_, mut client), (bob, _)) = server.two_in_a_room().await;
    let mut listeners = Vec::new();
    for _ in 0..3 {
        let mut listener = Client::of(&server, &bob).await;
        listener.subscribe(&room).await;
        listeners.push(listener);
    }
    client.say(&room, "seen").await;
    server.rpc(&bob, "room.leave", &json!({ "roomId": room })).await.ok();
    client.say(&room, "not seen").await;
    for listener in &mut listeners {
        assert_eq!(listener.room_event().await["data"]["message"]["message"], "seen");
        let end = listener.room_event().await;
        assert_eq!((&end["event"], &end["data"]["reason"]), (&json!("room.unsubscribed"), &json!("Left")));
        let after = listener.settled().await;
        assert!(after.iter().all(|event| event.get("roomId").is_none()), "{after:?}");
        let reply = listener.ok("room.subscribe", json!({ "rooms": [{ "roomId": room }] })).await;
        assert_eq!(reply["rooms"][0]["verdict"], "error");
        for op in ["message.send", "typing.start", "message.list"] {
            assert_eq!(listener.refused(op, json!({ "roomId": room, "message": "x" })).await, "forbidden");
        }
    }
}

#[tokio::test]
async fn bl_024_who_comes_back_subscribes_at_once() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    for _ in 0..3 {
        client.bring(&room, &mut bob).await;
        bob.subscribe(&room).await;
        client.say(&room, "hello").await;
        assert_eq!(bob.room_event().await["event"], "message.created");
        bob.ok("room.leave", json!({ "roomId": room })).await;
        assert_eq!(bob.room_event().await["event"], "room.unsubscribed");
    }
}

#[tokio::test]
async fn a_revoked_session_loses_its_socket_within_a_second() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    let answer = server.post("/v1/auth/login", None, &json!({ "name": ada.name, "password": ada.password })).await;
    let token = answer.ok()["token"].as_str();
    let began = Instant::now();
    server.post("/v1/rpc/session.revoke", token, &json!({ "sessionId": ada.session_id })).await.ok();
    assert_eq!(client.closed().await.0, 4401);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn user_events_reach_all_connections_of_one_user_alone() {
    let server = Server::shared().await;
    let (ada, mut first) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let mut second = Client::of(&server, &ada).await;
    let room = first.room("Tea").await;
    for client in [&mut first, &mut second] {
        let event = client.event("room.added").await;
        assert_eq!(
            (&event["data"]["room"]["roomId"], event.get("roomId"), event.get("seq")),
            (&json!(room), None, None)
        );
    }
    assert!(!bob.settled_names().await.contains(&"room.added".to_owned()));
}
