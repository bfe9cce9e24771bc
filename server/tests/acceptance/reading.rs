//! Lists in both directions, cursors, around, get, threads.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, texts};

/// A room with messages `0` to `count - 1`, and their keys, oldest first.
async fn filled(client: &mut Client, count: usize) -> (String, Vec<Value>) {
    let room = client.room("Tea").await;
    let mut ids = Vec::new();
    for number in 0..count {
        let data = json!({ "roomId": room, "message": number.to_string(), "nonce": nonce() });
        ids.push(client.begin("message.send", data).await);
    }
    let mut keys = Vec::new();
    for id in ids {
        keys.push(client.reply(id).await.unwrap()["message"]["rowKey"].clone());
    }
    (room, keys)
}

fn numbers(range: impl Iterator<Item = usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

async fn walk(client: &mut Client, data: Value) -> Vec<String> {
    let mut data = data;
    let mut found = Vec::new();
    loop {
        let reply = client.ok("message.list", data.clone()).await;
        found.extend(texts(&reply).into_iter().map(str::to_owned));
        if reply["hasMore"] != true {
            return found;
        }
        data["cursor"] = reply["nextCursor"].clone();
    }
}

#[tokio::test]
async fn s_012_and_s_013_a_list_begins_with_the_newest() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (room, _) = filled(&mut client, 0).await;
    assert_eq!(client.ok("message.list", json!({ "roomId": room })).await, json!({}), "an empty room");
    let (room, keys) = filled(&mut client, 20).await;
    let reply = client.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(texts(&reply), numbers((5..20).rev()));
    assert_eq!((&reply["hasMore"], &reply["nextCursor"], &reply["asOf"]), (&json!(true), &keys[5], &json!(20)));
}

#[tokio::test]
async fn bl_045_a_walk_sees_everything_once_in_both_directions() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (room, _) = filled(&mut client, 45).await;
    for limit in [1, 7, 20, 44, 45, 46, 1000] {
        let down = walk(&mut client, json!({ "roomId": room, "limit": limit })).await;
        assert_eq!(down, numbers((0..45).rev()), "{limit}");
        let up = walk(&mut client, json!({ "roomId": room, "limit": limit, "order": "Asc" })).await;
        assert_eq!(up, numbers(0..45), "{limit}");
    }
}

#[tokio::test]
async fn s_014_and_s_015_a_cursor_is_a_position() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (room, keys) = filled(&mut client, 5).await;
    let list = |more: Value| {
        let mut data = json!({ "roomId": room });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let at = |reply: &Value| texts(reply).join(" ");
    let reply = client.ok("message.list", list(json!({ "cursor": keys[2] }))).await;
    assert_eq!(at(&reply), "1 0");
    let reply = client.ok("message.list", list(json!({ "cursor": keys[2], "includeCursor": true }))).await;
    assert_eq!(at(&reply), "2 1 0");
    let reply = client.ok("message.list", list(json!({ "cursor": keys[2], "order": "Asc" }))).await;
    assert_eq!(at(&reply), "3 4");
    let ascending = json!({ "cursor": keys[2], "order": "Asc", "includeCursor": true, "limit": 2 });
    let reply = client.ok("message.list", list(ascending)).await;
    assert_eq!((at(&reply).as_str(), &reply["hasMore"], &reply["nextCursor"]), ("2 3", &json!(true), &keys[3]));
    // bl_049: the position of a deleted message stays one, and so is any other.
    client.ok("message.delete", json!({ "roomId": room, "rowKey": keys[2] })).await;
    for more in [json!({ "cursor": keys[2] }), json!({ "cursor": keys[2], "includeCursor": true })] {
        assert_eq!(at(&client.ok("message.list", list(more)).await), "1 0");
    }
    let (zero, nines) = ("0".repeat(30), "9".repeat(30));
    assert_eq!(at(&client.ok("message.list", list(json!({ "cursor": zero }))).await), "4 3 1 0");
    assert_eq!(at(&client.ok("message.list", list(json!({ "cursor": nines }))).await), "");
    assert_eq!(at(&client.ok("message.list", list(json!({ "cursor": nines, "order": "Asc" }))).await), "0 1 3 4");
    for cursor in ["", "1", "nonsense", &"9".repeat(31), &"x".repeat(30), "-99999999999999999999999999999"] {
        let answer = server.rpc(&ada, "message.list", &list(json!({ "cursor": cursor }))).await;
        assert_eq!(answer.refused(), (400, "bad_request"), "{cursor}");
        assert_eq!(answer.body["field"], "/cursor");
    }
}

#[tokio::test]
async fn bl_048_new_messages_do_not_move_a_walk() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (room, _) = filled(&mut client, 10).await;
    let first = client.ok("message.list", json!({ "roomId": room, "limit": 4 })).await;
    for _ in 0..5 {
        client.say(&room, "late").await;
    }
    let rest = json!({ "roomId": room, "limit": 100, "cursor": first["nextCursor"] });
    assert_eq!(texts(&client.ok("message.list", rest).await), numbers((0..6).rev()));
}

#[tokio::test]
async fn around_shows_both_sides_of_a_message() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (room, keys) = filled(&mut client, 21).await;
    let around = |key: &Value, limit: usize| json!({ "roomId": room, "around": key, "limit": limit });
    let reply = client.ok("message.list", around(&keys[10], 5)).await;
    assert_eq!(texts(&reply), ["12", "11", "10", "9", "8"]);
    assert_eq!((&reply["hasMore"], &reply["hasMoreNewer"]), (&json!(true), &json!(true)));
    let older = json!({ "roomId": room, "cursor": reply["nextCursor"], "limit": 2 });
    assert_eq!(texts(&client.ok("message.list", older).await), ["7", "6"]);
    let newer = json!({ "roomId": room, "cursor": reply["prevCursor"], "limit": 2, "order": "Asc" });
    assert_eq!(texts(&client.ok("message.list", newer).await), ["13", "14"]);
    let reply = client.ok("message.list", around(&keys[20], 5)).await;
    assert_eq!(texts(&reply)[0], "20");
    assert!(reply.get("hasMoreNewer").is_none());
    let reply = client.ok("message.list", around(&keys[0], 1000)).await;
    assert_eq!(texts(&reply), numbers((0..21).rev()));
    assert!(reply.get("hasMore").is_none() && reply.get("hasMoreNewer").is_none());
    assert_eq!(client.refused("message.list", around(&json!("0".repeat(30)), 5)).await, "not_found");
    client.ok("message.delete", json!({ "roomId": room, "rowKey": keys[10] })).await;
    assert_eq!(client.refused("message.list", around(&keys[10], 5)).await, "not_found");
    for other in [json!({ "cursor": keys[1] }), json!({ "order": "Asc" }), json!({ "isPinned": true })] {
        let mut data = around(&keys[9], 5);
        data.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        assert_eq!(client.refused("message.list", data).await, "bad_request", "{other}");
    }
}

#[tokio::test]
async fn s_019_messages_are_got_by_their_keys_newest_first() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (room, keys) = filled(&mut client, 5).await;
    client.ok("message.delete", json!({ "roomId": room, "rowKey": keys[2] })).await;
    let get = |keys: Value| json!({ "roomId": room, "rowKeys": keys });
    let reply = client.ok("message.get", get(json!([keys[0], keys[4], keys[2], "0".repeat(30), keys[3]]))).await;
    assert_eq!(texts(&reply), ["4", "3", "0"]);
    assert!(reply.get("rest").is_none(), "neither in items nor in rest: deleted");
    assert_eq!(reply["asOf"], 6);
    assert_eq!(client.refused("message.get", get(json!([]))).await, "bad_request");
    assert_eq!(client.refused("message.get", get(json!([keys[0], keys[0]]))).await, "bad_request");
    // Keys of another room are not there.
    let other = client.room("Coffee").await;
    let reply = client.ok("message.get", json!({ "roomId": other, "rowKeys": [keys[0]] })).await;
    assert_eq!(items(&reply).len(), 0);
}

#[tokio::test]
async fn pages_are_cut_at_their_bytes() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let mut keys = Vec::new();
    for number in 0..12 {
        let text = format!("{number} {}", "茶".repeat(9_990));
        keys.push(client.say(&room, &text).await["rowKey"].clone());
    }
    let list = server.rpc(&ada, "message.list", &json!({ "roomId": room, "limit": 1000 })).await;
    let first = items(list.ok()).len();
    assert!(first < 12 && list.body["hasMore"] == true, "{first}");
    assert!(list.body.to_string().len() <= 262_144 + 40_000);
    let all = walk(&mut client, json!({ "roomId": room, "limit": 1000 })).await;
    assert_eq!(all.len(), 12);
    let up = walk(&mut client, json!({ "roomId": room, "limit": 1000, "order": "Asc" })).await;
    assert_eq!(up.len(), 12);
    // By key: what was not looked at is named, so that nothing seems deleted.
    let mut wanted = keys.clone();
    let mut got = 0;
    while !wanted.is_empty() {
        let reply = client.ok("message.get", json!({ "roomId": room, "rowKeys": wanted })).await;
        got += items(&reply).len();
        wanted = reply["rest"].as_array().cloned().unwrap_or_default();
        assert!(got > 0 && got + wanted.len() == 12);
    }
}

#[tokio::test]
async fn a_thread_is_a_root_and_its_live_replies() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let root = client.say(&room, "root").await;
    let mut replies = Vec::new();
    for number in 0..3 {
        let data = json!({
            "roomId": room, "message": format!("r{number}"), "replyRowKey": root["rowKey"], "nonce": nonce()
        });
        let reply = client.ok("message.send", data).await["message"].take();
        assert_eq!(reply["replyRowKey"], root["rowKey"]);
        replies.push(reply);
    }
    client.say(&room, "aside").await;
    let thread = json!({ "roomId": room, "rowKey": root["rowKey"], "limit": 2 });
    let reply = client.ok("message.thread", thread.clone()).await;
    assert_eq!(texts(&reply), ["r2", "r1"]);
    assert_eq!((&reply["root"]["message"], &reply["root"]["replyCount"]), (&json!("root"), &json!(3)));
    assert_eq!((&reply["hasMore"], &reply["asOf"]), (&json!(true), &json!(5)));
    let mut more = thread.clone();
    more["cursor"] = reply["nextCursor"].clone();
    assert_eq!(texts(&client.ok("message.thread", more).await), ["r0"]);
    // bl_063: a deleted reply is counted no longer, and only once.
    let key = json!({ "roomId": room, "rowKey": replies[1]["rowKey"] });
    client.ok("message.delete", key.clone()).await;
    assert_eq!(client.refused("message.delete", key).await, "not_found");
    let reply = client.ok("message.thread", thread.clone()).await;
    assert_eq!((texts(&reply), &reply["root"]["replyCount"]), (vec!["r2", "r0"], &json!(2)));
    let list = client.ok("message.list", json!({ "roomId": room, "order": "Asc", "limit": 1 })).await;
    assert_eq!(list["items"][0]["replyCount"], 2);
    // The replies of a deleted root stay.
    client.ok("message.delete", json!({ "roomId": room, "rowKey": root["rowKey"] })).await;
    let reply = client.ok("message.thread", thread).await;
    assert_eq!(texts(&reply), ["r2", "r0"]);
    assert!(reply.get("root").is_none());
    let absent = client.ok("message.thread", json!({ "roomId": room, "rowKey": "0".repeat(30) })).await;
    assert_eq!((items(&absent).len(), absent.get("root")), (0, None));
}

#[tokio::test]
async fn reply_counts_stand_in_replies_alone() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let head = client.subscribe(&room).await;
    let root = client.say(&room, "root").await;
    let data = json!({ "roomId": room, "message": "r", "replyRowKey": root["rowKey"], "nonce": nonce() });
    client.ok("message.send", data).await;
    let events = client.settled().await;
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "message.updated").count(), 0, "a reply changes no root");
    client.ok("message.edit", json!({ "roomId": room, "rowKey": root["rowKey"], "message": "root 2" })).await;
    let (_, entries) = client.resume(&room, &head["epoch"], 0).await;
    assert!(entries.iter().all(|entry| !entry.to_string().contains("replyCount")), "{entries:?}");
}
