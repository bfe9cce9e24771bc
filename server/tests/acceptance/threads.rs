//! Threads: replies, their count, and who follows.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, texts};

async fn reply(client: &mut Client, room: &str, root: &Value, text: &str) -> Value {
    let data = json!({ "roomId": room, "message": text, "replyRowKey": root["rowKey"], "nonce": nonce() });
    client.ok("message.send", data).await["message"].take()
}

async fn followed(client: &mut Client, room: &str) -> Value {
    client.ok("thread.followed", json!({ "roomId": room })).await
}

#[tokio::test]
async fn bl_063_the_reply_count_follows_the_replies() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let root = owner.say(&room, "root").await;
    let mut last = Value::Null;
    for text in ["one", "two", "three"] {
        last = reply(&mut owner, &room, &root, text).await;
    }
    let thread = json!({ "roomId": room, "rowKey": root["rowKey"] });
    let read = owner.ok("message.thread", thread.clone()).await;
    assert_eq!((&read["root"]["replyCount"], texts(&read)), (&json!(3), vec!["three", "two", "one"]));
    let key = json!({ "roomId": room, "rowKey": last["rowKey"] });
    owner.ok("message.delete", key.clone()).await;
    assert_eq!(owner.ok("message.thread", thread.clone()).await["root"]["replyCount"], 2);
    assert_eq!(owner.refused("message.delete", key).await, "not_found");
    assert_eq!(owner.ok("message.thread", thread.clone()).await["root"]["replyCount"], 2);
    owner.ok("message.delete", thread.clone()).await;
    let read = owner.ok("message.thread", thread).await;
    assert!(read.get("root").is_none());
    assert_eq!(items(&read).len(), 2, "replies outlive their root");
}

#[tokio::test]
async fn s_098_s_099_threads_are_followed_and_left() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let first = owner.say(&room, "first").await;
    let second = owner.say(&room, "second").await;
    let key = |root: &Value| json!({ "roomId": room, "rowKey": root["rowKey"] });
    client.ok("thread.follow", key(&second)).await;
    client.ok("thread.follow", key(&first)).await;
    client.ok("thread.follow", key(&second)).await;
    let shown = followed(&mut client, &room).await;
    assert_eq!(shown["rowKeys"], json!([first["rowKey"], second["rowKey"]]), "newest follow first");
    let roots: Vec<_> = items(&shown).iter().map(|summary| &summary["root"]["message"]).collect();
    assert_eq!(roots, ["second", "first"], "newest root first");
    client.ok("thread.unfollow", key(&second)).await;
    owner.ok("message.delete", key(&first)).await;
    let shown = followed(&mut client, &room).await;
    assert_eq!((&shown["rowKeys"], items(&shown).len()), (&json!([first["rowKey"]]), 0), "a deleted root stays a key");
    client.ok("thread.unfollow", key(&first)).await;
    assert_eq!(followed(&mut client, &room).await, json!({}));
    let (_, mut eve) = server.client("Eve").await;
    for op in ["thread.follow", "thread.unfollow", "thread.followed"] {
        assert_eq!(eve.refused(op, key(&second)).await, "forbidden", "{op}");
    }
}

#[tokio::test]
async fn s_100_a_reply_follows_for_both() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let root = owner.say(&room, "root").await;
    let key = json!({ "roomId": room, "rowKey": root["rowKey"] });
    let last = reply(&mut client, &room, &root, "re").await;
    for who in [&mut owner, &mut client] {
        let shown = followed(who, &room).await;
        let summary = &items(&shown)[0];
        assert_eq!((&summary["replyCount"], &summary["userIds"]), (&json!(1), &json!([bob.id])));
        assert_eq!((&summary["lastReplyRowKey"], &summary["lastReplyAt"]), (&last["rowKey"], &last["createdAt"]));
    }
    // Who has left stays out while others answer; answering oneself brings back.
    owner.ok("thread.unfollow", key.clone()).await;
    reply(&mut client, &room, &root, "again").await;
    assert_eq!(followed(&mut owner, &room).await, json!({}));
    reply(&mut owner, &room, &root, "mine").await;
    let shown = followed(&mut owner, &room).await;
    assert_eq!(items(&shown)[0]["userIds"], json!([ada.id, bob.id]), "latest first");
    client.ok("thread.unfollow", key.clone()).await;
    client.ok("thread.follow", key).await;
    assert_eq!(items(&followed(&mut client, &room).await).len(), 1);
}
