//! A killed server comes back with everything that it acknowledged.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, texts};

#[tokio::test]
async fn bl_044_what_was_acknowledged_survives_a_kill() {
    let server = Server::with(&[]).await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let view = client.ok("room.get", json!({ "roomId": room })).await;
    let epoch = view["head"]["epoch"].clone();
    let mut acknowledged: Vec<Value> = Vec::new();
    let mut position = 0;
    for round in 0..3 {
        let mut ids = Vec::new();
        for number in 0..60 {
            let text = format!("{round}.{number}");
            let data = json!({ "roomId": room, "message": text, "nonce": text });
            ids.push(client.begin("message.send", data).await);
        }
        // Killed with half of them unanswered.
        for id in &ids[..30] {
            acknowledged.push(client.reply(*id).await.unwrap()["message"].take());
        }
        server.restart().await;
        client = Client::of(&server, &ada).await;
        let (entry, entries) = client.resume(&room, &epoch, position).await;
        assert_eq!(entry["verdict"], "exact", "the same log goes on");
        position = entry["seq"].as_u64().unwrap();
        assert_eq!(
            entries.len() as u64,
            entries.last().map_or(0, |last| last["seq"].as_u64().unwrap()) - (position - entries.len() as u64)
        );
        // The unanswered ones are repeated in order, and stand once.
        for number in 30..60 {
            let text = format!("{round}.{number}");
            let data = json!({ "roomId": room, "message": text, "nonce": text });
            acknowledged.push(client.ok("message.send", data).await["message"].take());
        }
    }
    let mut listed = Vec::new();
    let mut data = json!({ "roomId": room, "order": "Asc", "limit": 100 });
    loop {
        let page = client.ok("message.list", data.clone()).await;
        listed.extend(items(&page).iter().map(|message| message["rowKey"].clone()));
        if page["hasMore"] != true {
            break;
        }
        data["cursor"] = page["nextCursor"].clone();
    }
    assert_eq!(listed.len(), 180);
    let expected: Vec<_> = acknowledged.iter().map(|message| message["rowKey"].clone()).collect();
    assert_eq!(listed, expected, "every acknowledged message once and in order");
    let seqs: Vec<_> = acknowledged.iter().map(|message| message["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=180).collect::<Vec<_>>(), "no hole in the log");
}

#[tokio::test]
async fn accounts_rooms_and_invites_survive_a_kill() {
    let server = Server::with(&[]).await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let invite = client.ok("invite.create", json!({ "roomId": room, "nonce": nonce() })).await["invite"].take();
    client.ok("membership.update", json!({ "roomId": room, "nickname": "Countess" })).await;
    client.ok("room.update", json!({ "roomId": room, "topic": "leaves" })).await;
    let message = client.say(&room, "hello").await;
    server.restart().await;
    let mut client = Client::of(&server, &ada).await;
    let view = client.ok("room.get", json!({ "roomId": room })).await;
    assert_eq!((&view["room"]["topic"], &view["membership"]["nickname"]), (&json!("leaves"), &json!("Countess")));
    assert_eq!(client.ok("invite.mine", json!({ "roomId": room })).await["invite"], invite);
    assert_eq!(texts(&client.ok("message.list", json!({ "roomId": room })).await), ["hello"]);
    let (_, mut bob) = server.client("Bob").await;
    bob.ok("invite.join", json!({ "inviteId": invite["inviteId"] })).await;
    assert_eq!(
        bob.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await["items"][0],
        message
    );
}
