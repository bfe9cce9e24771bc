//! Polls and their votes.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce};

async fn poll(client: &mut Client, room: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| json!({ "label": label })).collect();
    let poll = json!({ "question": "Tea?", "options": options });
    let data = json!({ "roomId": room, "type": "Poll", "poll": poll, "nonce": nonce() });
    client.ok("message.send", data).await["message"].take()
}

fn counts(poll: &Value) -> Vec<u64> {
    let options = poll["options"].as_array().unwrap();
    options.iter().map(|option| option["count"].as_u64().unwrap_or(0)).collect()
}

fn option(message: &Value, at: usize) -> Value {
    message["poll"]["options"][at]["id"].clone()
}

#[tokio::test]
async fn s_038_a_poll_is_checked_and_starts_without_votes() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = poll(&mut owner, &room, &["yes", "no"]).await;
    assert_eq!((&message["type"], &message["poll"]["question"]), (&json!("Poll"), &json!("Tea?")));
    assert_eq!(message["poll"]["options"][1]["label"], "no");
    assert!(message.get("message").is_none() && message["poll"].get("votes").is_none());
    let many = vec![json!({ "label": "a" }); 11];
    let long = "x".repeat(101);
    let same = uuid::Uuid::new_v4();
    for bad in [
        json!({ "question": "?", "options": [{ "label": "one" }] }),
        json!({ "question": "?", "options": many }),
        json!({ "question": " ", "options": [{ "label": "a" }, { "label": "b" }] }),
        json!({ "question": "?", "options": [{ "label": "a" }, { "label": long }] }),
        json!({ "question": "?", "options": [{ "label": "a", "id": same }, { "label": "b", "id": same }] }),
    ] {
        let data = json!({ "roomId": room, "type": "Poll", "poll": bad, "nonce": nonce() });
        assert_eq!(owner.refused("message.send", data).await, "bad_request", "{bad}");
    }
    // s_042: nobody edits a poll.
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "x" });
    assert_eq!(owner.refused("message.edit", edit).await, "bad_request");
}

#[tokio::test]
async fn s_039_a_vote_can_be_changed_and_withdrawn() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let message = poll(&mut owner, &room, &["yes", "no"]).await;
    owner.subscribe(&room).await;
    let vote = |at: usize| json!({ "roomId": room, "rowKey": message["rowKey"], "optionId": option(&message, at) });
    let reply = client.ok("poll.vote", vote(0)).await;
    assert_eq!(counts(&reply["poll"]), [1, 0]);
    assert_eq!(reply["poll"]["votes"], json!({ bob.id.clone(): option(&message, 0) }));
    assert_eq!((&reply["rev"], &reply["mine"]), (&json!(2), &json!({ "optionId": option(&message, 0) })));
    let event = owner.event("poll.voted").await;
    assert_eq!((&event["data"]["userId"], &event["data"]["rev"]), (&json!(bob.id), &json!(2)));
    assert_eq!(counts(&event["data"]), [1, 0]);
    owner.ok("poll.vote", vote(1)).await;
    assert_eq!(client.ok("poll.vote", vote(1)).await["rev"], 4);
    assert_eq!(client.ok("poll.vote", vote(1)).await["rev"], 4, "the same vote stores nothing");
    let list = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    let read = &items(&list)[0];
    assert_eq!(counts(&read["poll"]), [0, 2]);
    assert!(read.get("isEdited").is_none() && read["updatedAt"] == message["updatedAt"]);
    assert_eq!(read["mine"]["optionId"], option(&message, 1));
    assert_eq!(
        read["poll"]["votes"],
        json!({ ada.id.clone(): option(&message, 1), bob.id.clone(): option(&message, 1) })
    );
    let withdraw = json!({ "roomId": room, "rowKey": message["rowKey"], "optionId": null });
    let reply = client.ok("poll.vote", withdraw.clone()).await;
    assert_eq!(counts(&reply["poll"]), [0, 1]);
    assert!(reply.get("mine").is_none());
    // s_041
    let unknown = json!({ "roomId": room, "rowKey": message["rowKey"], "optionId": uuid::Uuid::new_v4() });
    assert_eq!(client.refused("poll.vote", unknown).await, "bad_request");
    let plain = owner.say(&room, "no poll").await;
    let wrong = json!({ "roomId": room, "rowKey": plain["rowKey"], "optionId": option(&message, 0) });
    assert_eq!(client.refused("poll.vote", wrong).await, "bad_request");
    owner.ok("message.delete", json!({ "roomId": room, "rowKey": message["rowKey"] })).await;
    assert_eq!(client.refused("poll.vote", withdraw).await, "not_found");
}

#[tokio::test]
async fn s_040_votes_at_once_are_all_kept() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = poll(&mut owner, &room, &["yes", "no"]).await;
    let mut people = Vec::new();
    for n in 0..6 {
        let (user, mut client) = server.client("Voter").await;
        owner.bring(&room, &mut client).await;
        people.push((user, n % 2));
    }
    let votes = people.iter().map(|(user, at)| {
        let data = json!({ "roomId": room, "rowKey": message["rowKey"], "optionId": option(&message, *at) });
        let server = &server;
        async move { server.rpc(user, "poll.vote", &data).await }
    });
    for answer in futures_util::future::join_all(votes).await {
        answer.ok();
    }
    let list = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    assert_eq!(counts(&items(&list)[0]["poll"]), [3, 3]);
    assert_eq!(items(&list)[0]["poll"]["votes"].as_object().unwrap().len(), 6);
}

#[tokio::test]
async fn a_catch_up_brings_a_poll_with_its_votes() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let position = owner.subscribe(&room).await;
    let message = poll(&mut owner, &room, &["yes", "no"]).await;
    let vote = json!({ "roomId": room, "rowKey": message["rowKey"], "optionId": option(&message, 1) });
    client.ok("poll.vote", vote).await;
    let (_, entries) = client.resume(&room, &position["epoch"], position["seq"].as_u64().unwrap()).await;
    assert_eq!(entries.len(), 1);
    let created = &entries[0]["data"]["message"];
    assert_eq!((&created["rev"], counts(&created["poll"])), (&json!(2), vec![0, 1]));
    assert_eq!(created["poll"]["votes"], json!({ bob.id.clone(): option(&message, 1) }));
    assert!(created.get("mine").is_none(), "shared frames are nobody's");
}
