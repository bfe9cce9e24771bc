//! Custom emoji of a room.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, Server, items, nonce};

const GIF: &[u8] = b"GIF89a a small teapot";

async fn upload(server: &Server, client: &mut Client, room: &str) -> Value {
    let data = json!({ "roomId": room, "mimetype": "image/gif", "size": GIF.len(), "nonce": nonce() });
    let upload = client.ok("emoji.createUpload", data).await;
    let request = server.request(Method::PUT, upload["uploadUrl"].as_str().unwrap());
    assert_eq!(Answer::of(request.header("content-type", "image/gif").body(GIF)).await.status, 201);
    upload["emojiId"].clone()
}

#[tokio::test]
async fn s_172_an_emoji_is_uploaded_named_renamed_and_deleted() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    let start = |mimetype: &str, size: u64| json!({ "roomId": room, "mimetype": mimetype, "size": size });
    assert_eq!(owner.refused("emoji.createUpload", start("text/html", 1)).await, "bad_request");
    assert_eq!(owner.refused("emoji.createUpload", start("image/png", 262_145)).await, "bad_request");
    assert_eq!(bob.refused("emoji.createUpload", start("image/png", 1)).await, "forbidden");
    let create = |id: &Value, name: &str| json!({ "roomId": room, "emojiId": id, "name": name, "nonce": nonce() });
    let empty = owner.ok("emoji.createUpload", start("image/png", 1)).await;
    assert_eq!(owner.refused("emoji.create", create(&empty["emojiId"], "teapot_x")).await, "bad_request");
    let id = upload(&server, &mut owner, &room).await;
    assert_eq!(bob.refused("emoji.create", create(&id, "teapot_x")).await, "forbidden");
    assert_eq!(owner.refused("emoji.create", create(&id, "rocket")).await, "bad_request", "Unicode has it");
    assert_eq!(owner.refused("emoji.create", create(&id, "Tea Pot")).await, "bad_request");
    let unknown = json!(uuid::Uuid::new_v4().to_string());
    assert_eq!(owner.refused("emoji.create", create(&unknown, "teapot_x")).await, "not_found");
    let data = create(&id, "teapot_x");
    let made = owner.ok("emoji.create", data.clone()).await["emoji"].clone();
    assert_eq!(
        (&made["name"], &made["userId"], &made["mimetype"]),
        (&json!("teapot_x"), &json!(ada.id), &json!("image/gif"))
    );
    let told = bob.event("emoji.created").await["data"]["emoji"].clone();
    assert_eq!((&told["emojiId"], told.get("url")), (&id, None));
    let again = owner.ok("emoji.create", data).await["emoji"].clone();
    assert_eq!((&again["emojiId"], &again["createdAt"]), (&id, &made["createdAt"]));
    assert!(bob.is_quiet().await, "a repeat announces nothing");
    let image = server.request(Method::GET, made["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(image.bytes().await.unwrap(), GIF);
    let said = owner.say(&room, "hi").await;
    let react =
        json!({ "roomId": room, "rowKey": said["rowKey"], "emoji": format!("custom:{}", id.as_str().unwrap()) });
    bob.ok("reaction.add", react).await;
    // A name is one emoji's.
    let second = upload(&server, &mut owner, &room).await;
    assert_eq!(owner.refused("emoji.create", create(&second, "teapot_x")).await, "conflict");
    owner.ok("emoji.create", create(&second, "other_x")).await;
    let rename = |id: &Value, name: &str| json!({ "roomId": room, "emojiId": id, "name": name });
    assert_eq!(owner.refused("emoji.update", rename(&second, "teapot_x")).await, "conflict");
    assert_eq!(owner.refused("emoji.update", rename(&unknown, "new_x")).await, "not_found");
    let renamed = owner.ok("emoji.update", rename(&id, "kettle_x")).await["emoji"].clone();
    assert_eq!((&renamed["emojiId"], &renamed["name"]), (&id, &json!("kettle_x")));
    let told = bob.event("emoji.updated").await;
    assert_eq!(told["data"], json!({ "emojiId": id, "changes": { "name": "kettle_x" } }));
    let list = bob.ok("emoji.list", json!({ "roomId": room })).await;
    assert_eq!(items(&list).iter().map(|emoji| &emoji["name"]).collect::<Vec<_>>(), ["kettle_x", "other_x"]);
    let named = json!({ "roomId": room, "emojiId": id });
    assert_eq!(bob.refused("emoji.delete", named.clone()).await, "forbidden");
    owner.ok("emoji.delete", named.clone()).await;
    assert_eq!(bob.event("emoji.deleted").await["data"], json!({ "emojiId": id }));
    assert_eq!(owner.refused("emoji.delete", named).await, "not_found");
    let image = server.request(Method::GET, made["url"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(image.status(), 404);
}
