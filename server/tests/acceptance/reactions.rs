//! Reactions: sets of people for each emoji.

use serde_json::{Value, json};

use crate::harness::{Server, items};

fn reactions(message: &Value) -> Vec<(&str, u64)> {
    let reactions = message["reactions"].as_array().map_or(&[][..], Vec::as_slice);
    reactions.iter().map(|r| (r["emoji"].as_str().unwrap(), r["count"].as_u64().unwrap())).collect()
}

#[tokio::test]
async fn s_103_a_reaction_is_added_once() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = owner.say(&room, "hi").await;
    owner.subscribe(&room).await;
    let add = json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": "👍" });
    let first = owner.ok("reaction.add", add.clone()).await;
    assert_eq!(first["reaction"], json!({ "emoji": "👍", "count": 1, "userIds": [ada.id] }));
    assert_eq!(first["rev"], 2);
    let event = owner.event("reaction.added").await;
    let data = json!({ "rowKey": message["rowKey"], "rev": 2, "emoji": "👍", "userId": ada.id, "count": 1,
        "userIds": [ada.id] });
    assert_eq!(event["data"], data);
    // Again, it answers the present state and announces nothing.
    assert_eq!(owner.ok("reaction.add", add.clone()).await, first);
    assert!(owner.is_quiet().await);
    let listed = owner.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(items(&listed)[0]["mine"], json!({ "reactions": ["👍"] }));
    for emoji in ["x", "👍👍", ":tea:", "custom:nothing"] {
        let add = json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": emoji });
        let error = owner.error("reaction.add", add).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/emoji")), "{emoji}");
    }
}

#[tokio::test]
async fn s_104_others_join_and_leave_a_reaction() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let message = owner.say(&room, "hi").await;
    let data = json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": "🎉" });
    owner.ok("reaction.add", data.clone()).await;
    let both = client.ok("reaction.add", data.clone()).await;
    assert_eq!(both["reaction"]["userIds"], json!([ada.id, bob.id]));
    let list = json!({ "roomId": room, "rowKey": message["rowKey"], "limit": 1 });
    let page = owner.ok("reaction.list", list.clone()).await;
    assert_eq!((&items(&page)[0]["userId"], &page["hasMore"]), (&json!(ada.id), &json!(true)));
    let mut rest = list;
    rest["cursor"] = page["nextCursor"].clone();
    assert_eq!(items(&owner.ok("reaction.list", rest).await)[0]["userId"], json!(bob.id));
    owner.subscribe(&room).await;
    let one = client.ok("reaction.remove", data.clone()).await;
    assert_eq!(one["reaction"], json!({ "emoji": "🎉", "count": 1, "userIds": [ada.id] }));
    owner.ok("reaction.remove", data.clone()).await;
    assert_eq!(owner.event("reaction.removed").await["data"]["count"], 1);
    let last = owner.event("reaction.removed").await;
    assert!(last["data"].get("count").is_none(), "no count = gone: {last}");
    // What is not there is removed already.
    assert_eq!(owner.ok("reaction.remove", data).await["reaction"], json!({ "emoji": "🎉" }));
    let got = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    assert_eq!(reactions(&items(&got)[0]), []);
    assert!(items(&got)[0].get("mine").is_none());
}

#[tokio::test]
async fn s_106_skin_tones_are_different_reactions_and_twenty_are_enough() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = owner.say(&room, "hi").await;
    let data = |emoji: &str| json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": emoji });
    let many = [
        "👍", "👍🏽", "👍🏿", "😀", "😁", "😂", "🤣", "😃", "😄", "😅", "😆", "😉", "😊", "😋", "😎", "😍", "😘", "🥰",
        "😗", "😙",
    ];
    for emoji in many {
        owner.ok("reaction.add", data(emoji)).await;
    }
    assert_eq!(owner.refused("reaction.add", data("🎉")).await, "bad_request");
    owner.ok("reaction.add", data("👍")).await;
    let got = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    let shown: Vec<_> = reactions(&items(&got)[0]).into_iter().map(|(emoji, _)| emoji).collect();
    assert_eq!(shown, many, "first come, first shown");
}

#[tokio::test]
async fn bl_059_watchers_end_with_what_the_server_holds() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let message = owner.say(&room, "hi").await;
    let position = owner.subscribe(&room).await;
    let data = json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": "👍" });
    let mut ids = Vec::new();
    for round in 0..51 {
        let op = if round % 2 == 0 { "reaction.add" } else { "reaction.remove" };
        ids.push(client.begin(op, data.clone()).await);
    }
    for id in ids {
        client.reply(id).await.unwrap();
    }
    // Commands are answered in any order: what counts is that all agree, and that no count is ever above one.
    let mut count = 0;
    let mut rev = 1;
    for event in owner.settled().await {
        if event["data"]["emoji"] == "👍" {
            count = event["data"]["count"].as_u64().unwrap_or(0);
            assert!(count <= 1, "{event}");
            assert_eq!(event["data"]["rev"], rev + 1);
            rev += 1;
        }
    }
    let got = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    assert_eq!(reactions(&items(&got)[0]).first().map_or(0, |(_, count)| *count), count);
    assert_eq!(items(&got)[0]["rev"], rev);
    // A watcher that was away gets the present state.
    let (_, entries) = client.resume(&room, &position["epoch"], position["seq"].as_u64().unwrap()).await;
    let changes = &entries.last().unwrap()["data"]["changes"];
    assert_eq!(reactions(changes).first().map_or(0, |(_, count)| *count), count);
}

#[tokio::test]
async fn who_may_not_read_may_not_react() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut eve) = server.client("Eve").await;
    let room = owner.room("Tea").await;
    let message = owner.say(&room, "hi").await;
    let data = json!({ "roomId": room, "rowKey": message["rowKey"], "emoji": "👍" });
    for op in ["reaction.add", "reaction.remove", "reaction.list"] {
        assert_eq!(eve.refused(op, data.clone()).await, "forbidden", "{op}");
    }
    owner.ok("reaction.add", data.clone()).await;
    owner.ok("message.delete", json!({ "roomId": room, "rowKey": message["rowKey"] })).await;
    for op in ["reaction.add", "reaction.remove", "reaction.list"] {
        assert_eq!(owner.refused(op, data.clone()).await, "not_found", "{op}");
    }
    // The server's own lines can be reacted to.
    let (_, mut bob) = server.client("Bob").await;
    owner.bring(&room, &mut bob).await;
    let list = owner.ok("message.list", json!({ "roomId": room, "limit": 1 })).await;
    assert_eq!(items(&list)[0]["type"], "System");
    bob.ok("reaction.add", json!({ "roomId": room, "rowKey": items(&list)[0]["rowKey"], "emoji": "👋" })).await;
}
