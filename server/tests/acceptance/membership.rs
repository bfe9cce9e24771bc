//! What a member sets and what is counted for them.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, unique};

async fn membership(client: &mut Client, room: &str) -> Value {
    client.ok("membership.get", json!({ "roomIds": [room] })).await["items"][0].take()
}

#[tokio::test]
async fn a_nickname_is_told_to_the_room_and_to_oneself() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut client).await;
    ada.subscribe(&room).await;
    let reply = client.ok("membership.update", json!({ "roomId": room, "nickname": " Bobby " })).await;
    let nickname = reply["membership"]["nickname"].as_str().unwrap().to_owned();
    assert_eq!(nickname.trim(), "Bobby");
    let event = ada.room_event().await;
    assert_eq!(event["event"], "member.updated");
    assert_eq!(event["data"], json!({ "userId": bob.id, "changes": { "nickname": nickname } }));
    assert_eq!(client.event("membership.updated").await["data"]["membership"]["nickname"], nickname);
    // The same again changes and announces nothing; clearing is told as null.
    client.ok("membership.update", json!({ "roomId": room, "nickname": nickname })).await;
    client.ok("membership.update", json!({ "roomId": room, "nickname": null })).await;
    let event = ada.room_event().await;
    assert_eq!(event["data"]["changes"], json!({ "nickname": null }));
    assert!(ada.is_quiet().await);
    let error = client.error("membership.update", json!({ "roomId": room, "nickname": "x".repeat(33) })).await;
    assert_eq!(error["field"], "/nickname");
}

#[tokio::test]
async fn anothers_nickname_needs_the_right_to_it() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let rename = |user: &str| json!({ "roomId": room, "userId": user, "nickname": "Bobby" });
    assert_eq!(client.refused("membership.update", rename(&ada.id)).await, "forbidden");
    let reply = owner.ok("membership.update", rename(&bob.id)).await;
    assert_eq!((&reply["member"]["userId"], &reply["member"]["nickname"]), (&json!(bob.id), &json!("Bobby")));
    assert!(reply.get("membership").is_none());
    let stranger = server.user("Eve").await;
    assert_eq!(owner.refused("membership.update", rename(&stranger.id)).await, "not_found");
    let more = json!({ "roomId": room, "userId": bob.id, "nickname": "x", "notificationType": "All" });
    assert_eq!(owner.refused("membership.update", more).await, "bad_request");
}

#[tokio::test]
async fn s_174_notifications_are_ones_own() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for choice in ["All", "Never", "DirectMessage"] {
        client.ok("membership.update", json!({ "roomId": room, "notificationType": choice })).await;
        assert_eq!(membership(&mut client, &room).await["notificationType"], choice);
    }
    assert_eq!(
        client.refused("membership.update", json!({ "roomId": room, "notificationType": "Some" })).await,
        "bad_request"
    );
}

#[tokio::test]
async fn unread_messages_are_those_of_others_after_the_marker() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.say(&room, "before bob joined").await;
    ada.bring(&room, &mut bob).await;
    assert!(membership(&mut bob, &room).await.get("unreadCount").is_none(), "the joining line does not count");
    let first = ada.say(&room, "one").await;
    let second = ada.say(&room, "two").await;
    assert_eq!(membership(&mut bob, &room).await["unreadCount"], 2);
    assert!(membership(&mut ada, &room).await.get("unreadCount").is_none(), "one's own do not count");
    // The marker can be set anywhere, also back.
    let mark = |time: &Value| json!({ "roomId": room, "lastReadAt": time });
    let reply = bob.ok("membership.update", mark(&first["createdAt"])).await;
    assert_eq!(reply["membership"]["lastReadAt"], first["createdAt"]);
    let left = reply["membership"]["unreadCount"].as_u64().unwrap_or(0);
    assert!(left <= 1 || first["createdAt"] == second["createdAt"], "{reply}");
    let reply = bob.ok("membership.update", mark(&json!("2100-01-01T00:00:00Z"))).await;
    assert!(reply["membership"].get("unreadCount").is_none());
    assert!(reply["membership"]["lastReadAt"].as_str().unwrap() < "2100", "the future is now");
    let reply = bob.ok("membership.update", mark(&json!("2020-01-01T01:00:00+01:00"))).await;
    assert_eq!(reply["membership"]["lastReadAt"], "2020-01-01T00:00:00.000Z");
    // A deleted message does not count, and sending reads everything.
    let before = reply["membership"]["unreadCount"].as_u64().unwrap();
    ada.ok("message.delete", json!({ "roomId": room, "rowKey": second["rowKey"] })).await;
    assert_eq!(membership(&mut bob, &room).await["unreadCount"], before - 1);
    let sent = bob.say(&room, "three").await;
    let now = membership(&mut bob, &room).await;
    assert!(now.get("unreadCount").is_none());
    assert_eq!((&now["lastReadAt"], &now["lastMessageAt"]), (&sent["createdAt"], &sent["createdAt"]), "s_061");
    assert_eq!(membership(&mut ada, &room).await["unreadCount"], 1);
}

#[tokio::test]
async fn s_060_the_slowmode_clock_cannot_be_set() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let data = json!({ "roomId": room, "lastMessageAt": "2020-01-01T00:00:00Z", "notificationType": "All" });
    let reply = client.ok("membership.update", data).await;
    assert!(reply["membership"].get("lastMessageAt").is_none(), "{reply}");
}

#[tokio::test]
async fn counts_stop_at_a_hundred() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut bob).await;
    let mut ids = Vec::new();
    for number in 0..103 {
        let data = json!({ "roomId": room, "message": format!("{number}"), "nonce": nonce() });
        ids.push(ada.begin("message.send", data).await);
    }
    for id in ids {
        ada.reply(id).await.unwrap();
    }
    assert_eq!(membership(&mut bob, &room).await["unreadCount"], 100);
}

#[tokio::test]
async fn s_095_clearing_no_mentions_tells_nothing() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let reply = client.ok("membership.clearMentions", json!({ "roomId": room })).await;
    assert!(reply["membership"].get("mentionCount").is_none());
    assert!(!client.settled_names().await.contains(&"membership.updated".to_owned()));
}

#[tokio::test]
async fn an_update_of_nothing_answers_the_present_state() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let reply = client.ok("membership.update", json!({ "roomId": room })).await;
    assert_eq!(reply["membership"], membership(&mut client, &room).await);
    assert!(!client.settled_names().await.contains(&"membership.updated".to_owned()));
}

#[tokio::test]
async fn memberships_of_rooms_one_is_in_alone() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (mine, theirs) = (ada.room("Tea").await, bob.room("Coffee").await);
    assert_eq!(ada.refused("membership.get", json!({ "roomIds": [mine, theirs] })).await, "forbidden");
    assert_eq!(items(&ada.ok("membership.get", json!({ "roomIds": [mine] })).await).len(), 1);
}

#[tokio::test]
async fn s_167_categories_are_placed_last_and_reordered_at_once_or_not() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let mut ids = Vec::new();
    for name in ["Work", "Play", "Rest"] {
        let reply = ada.ok("category.create", json!({ "name": name, "nonce": nonce() })).await;
        ids.push(reply["category"]["categoryId"].clone());
    }
    let names = |reply: &Value| -> Vec<String> {
        items(reply).iter().map(|category| category["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&ada.ok("category.list", json!({})).await), ["Work", "Play", "Rest"]);
    ada.ok("category.reorder", json!({ "categoryIds": [ids[2], ids[0], ids[1]] })).await;
    assert_eq!(names(&ada.ok("category.list", json!({})).await), ["Rest", "Work", "Play"]);
    let foreign = bob.ok("category.create", json!({ "name": unique("x") })).await["category"]["categoryId"].clone();
    assert_eq!(ada.refused("category.reorder", json!({ "categoryIds": [ids[0], foreign] })).await, "not_found");
    assert_eq!(names(&ada.ok("category.list", json!({})).await), ["Rest", "Work", "Play"], "nothing moved");
    let reply = ada.ok("category.update", json!({ "categoryId": ids[0], "name": " Toil " })).await;
    assert_eq!(reply["category"]["name"], "Toil");
    assert_eq!(ada.refused("category.update", json!({ "categoryId": foreign, "name": "x" })).await, "not_found");

    let room = ada.room("Tea").await;
    let put = |id: &Value| json!({ "roomId": room, "categoryId": id });
    assert_eq!(ada.ok("membership.update", put(&ids[0])).await["membership"]["categoryId"], ids[0]);
    assert_eq!(ada.refused("membership.update", put(&foreign)).await, "not_found");
    ada.ok("category.delete", json!({ "categoryId": ids[0] })).await;
    assert_eq!(ada.refused("category.delete", json!({ "categoryId": ids[0] })).await, "not_found");
    assert!(membership(&mut ada, &room).await.get("categoryId").is_none(), "its rooms become uncategorised");
    ada.ok("membership.update", put(&ids[1])).await;
    let reply = ada.ok("membership.update", put(&Value::Null)).await;
    assert!(reply["membership"].get("categoryId").is_none());
}
