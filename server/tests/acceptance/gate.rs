//! Who may write when: membership, read-only, slowmode, in this order.

use serde_json::json;

use crate::harness::{Server, items, nonce};

#[tokio::test]
async fn s_053_a_read_only_room_is_for_those_who_manage_messages() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (bob, mut client)) = server.two_in_a_room().await;
    let before = client.say(&room, "before").await;
    owner.ok("room.update", json!({ "roomId": room, "isReadOnly": true })).await;
    let send = json!({ "roomId": room, "message": "x", "nonce": nonce() });
    assert_eq!(client.refused("message.send", send.clone()).await, "read_only");
    assert_eq!(server.rpc(&bob, "message.send", &send).await.refused(), (403, "read_only"));
    let edit = json!({ "roomId": room, "rowKey": before["rowKey"], "message": "x" });
    assert_eq!(client.refused("message.edit", edit).await, "read_only");
    owner.say(&room, "the owner can").await;
    // Deleting and typing are not writing.
    client.ok("typing.start", json!({ "roomId": room })).await;
    client.ok("message.delete", json!({ "roomId": room, "rowKey": before["rowKey"] })).await;
    // The refusal has stored nothing: the same nonce sends when the room is open again.
    owner.ok("room.update", json!({ "roomId": room, "isReadOnly": false })).await;
    client.ok("message.send", send).await;
}

#[tokio::test]
async fn s_049_slowmode_tells_how_long_to_wait() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (bob, mut client)) = server.two_in_a_room().await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 60_000 })).await;
    let first = json!({ "roomId": room, "message": "one", "nonce": nonce() });
    let sent = client.ok("message.send", first.clone()).await;
    let second = json!({ "roomId": room, "message": "two", "nonce": nonce() });
    let error = client.error("message.send", second.clone()).await;
    assert_eq!(error["code"], "slowmode");
    let wait = error["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 40_000 && wait <= 60_000, "{wait}");
    let answer = server.rpc(&bob, "message.send", &second).await;
    assert_eq!(answer.refused(), (429, "slowmode"));
    let wait = answer.body["retryAfterMs"].as_u64().unwrap();
    assert_eq!(answer.header("retry-after"), wait.div_ceil(1000).to_string());
    // A repeat is looked up before it; edits are not slowed; the owner is exempt (s_052).
    assert_eq!(client.ok("message.send", first).await, sent);
    let edit = json!({ "roomId": room, "rowKey": sent["message"]["rowKey"], "message": "one!" });
    client.ok("message.edit", edit).await;
    owner.say(&room, "a").await;
    owner.say(&room, "b").await;
    // Switched off, the refused nonce sends.
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": null })).await;
    client.ok("message.send", second).await;
}

#[tokio::test]
async fn s_059_of_many_sends_at_once_in_a_window_one_lands() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (bob, _)) = server.two_in_a_room().await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 60_000 })).await;
    let sends: Vec<_> =
        (0..10).map(|number| json!({ "roomId": room, "message": format!("{number}"), "nonce": nonce() })).collect();
    let answers = futures_util::future::join_all(sends.iter().map(|data| server.rpc(&bob, "message.send", data))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert!(answers.iter().filter(|answer| answer.status != 200).all(|answer| answer.refused() == (429, "slowmode")));
    let list = owner.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(items(&list).iter().filter(|message| message["type"] == "Message").count(), 1);
}

#[tokio::test]
async fn s_050_the_window_ends_at_its_end() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut client)) = server.two_in_a_room().await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 1 })).await;
    client.say(&room, "one").await;
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    client.say(&room, "two").await;
}

#[tokio::test]
async fn read_only_comes_before_slowmode() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut client)) = server.two_in_a_room().await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 60_000 })).await;
    client.say(&room, "one").await;
    owner.ok("room.update", json!({ "roomId": room, "isReadOnly": true })).await;
    let send = json!({ "roomId": room, "message": "two", "nonce": nonce() });
    assert_eq!(client.refused("message.send", send).await, "read_only");
    // What is malformed is said first, who is no member before the room's state.
    let error = client.error("message.send", json!({ "roomId": room, "message": 7 })).await;
    assert_eq!(error["code"], "bad_request");
    let (_, mut eve) = server.client("Eve").await;
    let send = json!({ "roomId": room, "message": "three", "nonce": nonce() });
    assert_eq!(eve.refused("message.send", send).await, "forbidden");
}

#[tokio::test]
async fn the_repeat_of_a_punished_message_answers_that_it_was_filtered() {
    let server = Server::shared().await;
    let (room, (_, mut owner), (_, mut client)) = server.two_in_a_room().await;
    let filter =
        json!({ "roomId": room, "words": [{ "word": "spam" }], "action": "Timeout", "timeoutDurationMs": 60_000 });
    owner.ok("filter.set", filter).await;
    let send = json!({ "roomId": room, "message": "spam", "nonce": nonce() });
    assert_eq!(client.refused("message.send", send.clone()).await, "word_filtered");
    // By now the member is timed out, but this message was answered before.
    assert_eq!(client.refused("message.send", send).await, "word_filtered");
    let other = json!({ "roomId": room, "message": "tea", "nonce": nonce() });
    assert_eq!(client.refused("message.send", other).await, "timed_out");
    let log = owner.ok("moderation.log", json!({ "roomId": room })).await;
    assert_eq!(items(&log).len(), 1, "punished once: {log}");
}
