//! Forwards: each target is a send of its own.

use serde_json::{Value, json};

use crate::harness::{Server, items, nonce, texts};

fn results(reply: &Value) -> &[Value] {
    reply["results"].as_array().unwrap()
}

#[tokio::test]
async fn s_063_a_forward_is_a_copy_with_a_note_after_it() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let source = owner.room("Source").await;
    let (one, two) = (owner.room("One").await, owner.room("Two").await);
    let root = owner.say(&source, "root").await;
    let data = json!({ "roomId": source, "message": "**hi** <all>", "format": "Markdown",
        "replyRowKey": root["rowKey"], "nonce": nonce() });
    let message = owner.ok("message.send", data).await["message"].take();
    owner.subscribe(&one).await;
    let forward = json!({ "roomId": source, "rowKey": message["rowKey"], "roomIds": [one, two], "message": "look",
        "nonce": nonce() });
    let reply = owner.ok("message.forward", forward.clone()).await;
    assert_eq!(results(&reply).iter().map(|result| &result["roomId"]).collect::<Vec<_>>(), [&json!(one), &json!(two)]);
    let copy = &results(&reply)[0]["message"];
    assert_eq!((&copy["message"], &copy["userId"]), (&message["message"], &json!(ada.id)));
    assert_eq!((&copy["isForward"], copy.get("replyRowKey"), copy.get("nonce")), (&json!(true), None, None));
    let note = &results(&reply)[0]["note"];
    assert_eq!((&note["message"], note.get("isForward")), (&json!("look"), None));
    for room in [&one, &two] {
        let list = owner.ok("message.list", json!({ "roomId": room })).await;
        assert_eq!(texts(&list), ["look", message["message"].as_str().unwrap()], "the note is the newest");
    }
    let first = owner.event("message.created").await;
    assert_eq!(first["data"]["message"], *copy);
    assert_eq!(owner.event("message.created").await["data"]["message"], *note);
    // A repeat answers the same and posts nothing, also when the source has gone meanwhile.
    assert_eq!(owner.ok("message.forward", forward.clone()).await, reply);
    owner.ok("message.delete", json!({ "roomId": source, "rowKey": message["rowKey"] })).await;
    assert_eq!(owner.ok("message.forward", forward.clone()).await, reply);
    assert_eq!(items(&owner.ok("message.list", json!({ "roomId": one })).await).len(), 2);
    let mut fresh = forward;
    fresh["nonce"] = json!(nonce());
    assert_eq!(owner.refused("message.forward", fresh).await, "not_found");
}

#[tokio::test]
async fn s_064_s_068_each_room_has_its_own_outcome() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let rooms = [owner.room("Open").await, owner.room("Closed").await, owner.room("Slow").await];
    for room in &rooms {
        owner.bring(room, &mut client).await;
    }
    let foreign = owner.room("Foreign").await;
    owner.ok("room.update", json!({ "roomId": rooms[1], "isReadOnly": true })).await;
    owner.ok("room.update", json!({ "roomId": rooms[2], "slowmodeMs": 60_000 })).await;
    let message = client.say(&rooms[0], "news").await;
    let forward = |note: &str| {
        let room_ids = [&foreign, &rooms[1], &rooms[2], &rooms[0]];
        json!({ "roomId": rooms[0], "rowKey": message["rowKey"], "roomIds": room_ids, "message": note, "nonce": nonce() })
    };
    let reply = client.ok("message.forward", forward("see")).await;
    let codes: Vec<_> = results(&reply).iter().map(|result| &result["error"]["code"]).collect();
    assert_eq!(codes, [&json!("forbidden"), &json!("read_only"), &Value::Null, &Value::Null]);
    // The clock moves once a room: the note is not slowed by its copy.
    assert_eq!(results(&reply)[2]["note"]["message"], "see");
    // s_051
    let reply = client.ok("message.forward", forward("")).await;
    assert_eq!(results(&reply)[2]["error"]["code"], "slowmode");
    assert!(results(&reply)[2].get("message").is_none());
    assert_eq!(items(&owner.ok("message.list", json!({ "roomId": foreign })).await).len(), 0);
    // Only messages and webhooks' messages have it.
    let list = owner.ok("message.list", json!({ "roomId": rooms[0], "order": "Asc", "limit": 1 })).await;
    assert_eq!(items(&list)[0]["type"], "System");
    let line = json!({ "roomId": rooms[0], "rowKey": items(&list)[0]["rowKey"], "roomIds": [rooms[0]] });
    assert_eq!(client.refused("message.forward", line).await, "bad_request");
    let (_, mut eve) = server.client("Eve").await;
    let own = eve.room("Own").await;
    let stolen = json!({ "roomId": rooms[0], "rowKey": message["rowKey"], "roomIds": [own] });
    assert_eq!(eve.refused("message.forward", stolen).await, "forbidden");
}

#[tokio::test]
async fn s_066_body_and_note_are_judged_together() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let (source, target) = (owner.room("Source").await, owner.room("Target").await);
    owner.bring(&source, &mut client).await;
    owner.bring(&target, &mut client).await;
    let words = json!({ "roomId": target, "words": [{ "word": "coffee" }] });
    owner.ok("filter.set", words).await;
    let (clean, dirty) = (client.say(&source, "tea").await, client.say(&source, "coffee").await);
    let forward = |message: &Value, note: &str| {
        json!({ "roomId": source, "rowKey": message["rowKey"], "roomIds": [target, source], "message": note,
            "nonce": nonce() })
    };
    for (message, note) in [(&dirty, ""), (&dirty, "clean"), (&clean, "more coffee")] {
        let reply = client.ok("message.forward", forward(message, note)).await;
        assert_eq!(results(&reply)[0]["error"]["code"], "word_filtered", "{note}");
        assert!(results(&reply)[0].get("message").is_none());
        assert!(results(&reply)[1].get("message").is_some(), "the other room has no filter");
    }
    let reply = client.ok("message.forward", forward(&clean, "clean")).await;
    assert!(results(&reply)[0].get("note").is_some());
    let list = owner.ok("message.list", json!({ "roomId": target })).await;
    assert_eq!(texts(&list)[..2], ["clean", "tea"]);
    // A poll is judged by what it asks.
    for (question, label) in [("coffee?", "no"), ("which?", "coffee")] {
        let poll = json!({ "question": question, "options": [{ "label": "yes" }, { "label": label }] });
        let data = json!({ "roomId": target, "type": "Poll", "poll": poll, "nonce": nonce() });
        assert_eq!(client.refused("message.send", data).await, "word_filtered");
    }
}
