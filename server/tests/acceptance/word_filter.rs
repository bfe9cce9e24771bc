//! The word filter: what it finds, what follows, and that a repeat is not punished twice.

use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items, nonce};

const AUTOMOD: &str = "00000000-0000-4000-8000-000000000000";

/// A room of Ada with Bob in it and a filter.
async fn filtered(server: &Server, action: Value) -> (String, Client, User, Client) {
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let mut data = json!({ "roomId": room, "words": [{ "word": "spam" }, { "word": "ass", "matchWholeWord": true }] });
    data.as_object_mut().unwrap().extend(action.as_object().unwrap().clone());
    owner.ok("filter.set", data).await;
    owner.subscribe(&room).await;
    (room, owner, bob, client)
}

fn send(room: &str, text: &str) -> Value {
    json!({ "roomId": room, "message": text, "nonce": nonce() })
}

#[tokio::test]
async fn s_055_a_filtered_word_is_refused_and_managers_are_exempt() {
    let server = Server::shared().await;
    let (room, mut owner, bob, mut client) = filtered(&server, json!({})).await;
    for text in ["SPAM", "no sp\u{430}m here", "s\u{200b}pam", "ｓｐａｍ", "spám", "spammer", "what an ass!"] {
        assert_eq!(client.refused("message.send", send(&room, text)).await, "word_filtered", "{text}");
    }
    for (text, format) in [("s<b>p</b>am", "Html"), ("s**p**am", "Markdown"), ("[s](https://x.org)pam", "Markdown")] {
        let mut data = send(&room, text);
        data["format"] = json!(format);
        assert_eq!(client.refused("message.send", data).await, "word_filtered", "{text}");
    }
    for text in ["s p a m", "s.p.a.m", "class", "so span", "sp\nam"] {
        client.ok("message.send", send(&room, text)).await;
    }
    let mut hidden = send(&room, r#"<a href="https://x.org/spam">clean</a>"#);
    hidden["format"] = json!("Html");
    client.ok("message.send", hidden).await;
    assert_eq!(server.rpc(&bob, "message.send", &send(&room, "spam")).await.refused(), (403, "word_filtered"));
    let poll = |question: &str, label: &str| {
        json!({ "roomId": room, "type": "Poll", "nonce": nonce(),
            "poll": { "question": question, "options": [{ "label": label }, { "label": "b" }] } })
    };
    assert_eq!(client.refused("message.send", poll("spam?", "a")).await, "word_filtered");
    assert_eq!(client.refused("message.send", poll("eggs?", "spam")).await, "word_filtered");
    client.ok("message.send", poll("eggs?", "a")).await;
    owner.say(&room, "spam, says the owner").await;
    let log = owner.ok("moderation.log", json!({ "roomId": room })).await;
    assert!(items(&log).is_empty(), "a rejection is nothing more");
}

#[tokio::test]
async fn an_edit_and_a_forward_are_filtered_too() {
    let server = Server::shared().await;
    let (room, mut owner, _, mut client) = filtered(&server, json!({ "action": "Warn" })).await;
    let sent = client.say(&room, "fine").await;
    let edit = json!({ "roomId": room, "rowKey": sent["rowKey"], "message": "spam" });
    for _ in 0..2 {
        assert_eq!(client.refused("message.edit", edit.clone()).await, "word_filtered");
    }
    let log = |reply: &Value| items(reply).len();
    let entries = owner.ok("moderation.log", json!({ "roomId": room })).await;
    assert_eq!(log(&entries), 1, "the same edit is the same");
    let other = client.room("Coffee").await;
    let source = client.say(&other, "clean").await["rowKey"].clone();
    let forward = |note: &str| json!({ "roomId": other, "rowKey": source, "roomIds": [room, other], "message": note, "nonce": nonce() });
    let reply = client.ok("message.forward", forward("spam")).await;
    assert_eq!(reply["results"][0]["error"]["code"], "word_filtered", "{reply}");
    assert!(reply["results"][0].get("message").is_none(), "s_066: neither the copy nor the note");
    assert!(reply["results"][1].get("error").is_none(), "s_064: no filter there");
    let dirty = client.say(&other, "some spam").await["rowKey"].clone();
    let data = json!({ "roomId": other, "rowKey": dirty, "roomIds": [room], "message": "clean", "nonce": nonce() });
    assert_eq!(client.ok("message.forward", data).await["results"][0]["error"]["code"], "word_filtered");
}

#[tokio::test]
async fn s_056_a_timeout_follows_once_and_is_never_shortened() {
    let server = Server::shared().await;
    let action = json!({ "action": "Timeout", "timeoutDurationMs": 60_000 });
    let (room, mut owner, bob, mut client) = filtered(&server, action).await;
    let dirty = send(&room, "spam");
    assert_eq!(client.refused("message.send", dirty.clone()).await, "word_filtered");
    let acted = client.event("moderation.action").await;
    assert_eq!((&acted["data"]["type"], &acted["data"]["durationMs"]), (&json!("TimeoutUser"), &json!(60_000)));
    let told = client.event("membership.updated").await["data"]["membership"]["timeoutUntil"].clone();
    let updated = owner.event("member.updated").await;
    assert_eq!(updated["data"], json!({ "userId": bob.id, "changes": { "timeoutUntil": told } }));
    assert_eq!(client.refused("message.send", send(&room, "clean")).await, "timed_out");
    // The moderator lets them write again: the repeat is refused and not punished.
    let lift = json!({ "roomId": room, "userId": bob.id, "type": "TimeoutUser", "durationMs": 1, "nonce": nonce() });
    owner.ok("moderation.execute", lift.clone()).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    client.settled().await;
    assert_eq!(client.refused("message.send", dirty).await, "word_filtered");
    client.ok("message.send", send(&room, "clean")).await;
    assert!(!client.settled_names().await.contains(&"moderation.action".to_owned()));
    let log = owner.ok("moderation.log", json!({ "roomId": room, "actorUserId": AUTOMOD })).await;
    assert_eq!(items(&log).len(), 1);
    let entry = &items(&log)[0];
    assert_eq!(
        (&entry["type"], &entry["targetUserId"], &entry["durationMs"]),
        (&json!("TimeoutUser"), &json!(bob.id), &json!(60_000))
    );
}

#[tokio::test]
async fn what_was_sent_before_the_filter_answers_its_repeat() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let data = send(&room, "spam");
    let first = client.ok("message.send", data.clone()).await;
    let filter = json!({ "roomId": room, "words": [{ "word": "spam" }], "action": "Warn" });
    owner.ok("filter.set", filter).await;
    assert_eq!(client.ok("message.send", data).await, first);
    assert!(items(&owner.ok("moderation.log", json!({ "roomId": room })).await).is_empty());
}

#[tokio::test]
async fn slowmode_is_said_before_a_filtered_word_and_punishes_nobody() {
    let server = Server::shared().await;
    let (room, mut owner, _, mut client) = filtered(&server, json!({ "action": "Warn" })).await;
    owner.ok("room.update", json!({ "roomId": room, "slowmodeMs": 60_000 })).await;
    client.say(&room, "clean").await;
    assert_eq!(client.refused("message.send", send(&room, "spam")).await, "slowmode");
    owner.ok("filter.set", json!({ "roomId": room, "words": [{ "word": "spam" }] })).await;
    assert_eq!(client.refused("message.send", send(&room, "spam")).await, "slowmode");
    assert!(items(&owner.ok("moderation.log", json!({ "roomId": room })).await).is_empty());
}

#[tokio::test]
async fn s_158_a_filter_is_set_whole() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let get = json!({ "roomId": room });
    assert_eq!(owner.ok("filter.get", get.clone()).await, json!({}));
    assert_eq!(client.refused("filter.get", get.clone()).await, "forbidden");
    let timeout =
        json!({ "roomId": room, "words": [{ "word": " a b " }], "action": "Timeout", "timeoutDurationMs": 5 });
    let set = owner.ok("filter.set", timeout.clone()).await;
    assert_eq!(
        (&set["filter"]["words"], &set["filter"]["timeoutDurationMs"]),
        (&json!([{ "word": "a b" }]), &json!(5))
    );
    assert_eq!(owner.ok("filter.set", timeout).await, set, "a set");
    assert_eq!(owner.ok("filter.get", get.clone()).await, set);
    let warn = json!({ "roomId": room, "words": [{ "word": "c", "matchWholeWord": true }], "action": "Warn" });
    let set = owner.ok("filter.set", warn).await;
    assert!(set["filter"].get("timeoutDurationMs").is_none());
    assert_eq!(set["filter"]["words"], json!([{ "word": "c", "matchWholeWord": true }]));
    let words = |words: Value| json!({ "roomId": room, "words": words });
    let error = owner.error("filter.set", words(json!([{ "word": "spam" }, { "word": "ѕраm" }]))).await;
    assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/words/1/word")));
    for bad in [json!([{ "word": " " }]), json!([{ "word": "\u{200b}" }]), json!([{ "word": "x".repeat(101) }])] {
        assert_eq!(owner.error("filter.set", words(bad)).await["field"], "/words/0/word");
    }
    let alone = json!({ "roomId": room, "words": [], "timeoutDurationMs": 5 });
    assert_eq!(owner.error("filter.set", alone).await["field"], "/timeoutDurationMs");
    owner.ok("filter.set", words(json!([]))).await;
    client.say(&room, "c").await;
}
