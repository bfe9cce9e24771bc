//! Pins and what else changes a part of a message.

use serde_json::json;

use crate::harness::{Server, items};

#[tokio::test]
async fn s_032_s_033_a_pin_is_announced_and_an_unpin_is_not() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let (_, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let message = client.say(&room, "keep this").await;
    client.subscribe(&room).await;
    let key = json!({ "roomId": room, "rowKey": message["rowKey"] });
    assert_eq!(owner.ok("message.pin", key.clone()).await, json!({ "rev": 2 }));
    let updated = client.event("message.updated").await;
    assert_eq!(updated["data"]["rev"], 2);
    assert_eq!(updated["data"]["changes"]["isPinned"], true);
    let line = client.event("message.created").await["data"]["message"].take();
    assert_eq!((&line["type"], &line["userId"]), (&json!("PinMessage"), &json!(ada.id)));
    assert_eq!((&line["replyRowKey"], line.get("message")), (&message["rowKey"], None));
    assert_eq!(owner.ok("message.pin", key.clone()).await, json!({ "rev": 2 }));
    assert!(client.is_quiet().await, "a message that is pinned is not pinned again");
    let pinned = json!({ "roomId": room, "isPinned": true });
    let list = client.ok("message.list", pinned.clone()).await;
    assert_eq!(items(&list).len(), 1);
    assert!(items(&list)[0].get("replyCount").is_none(), "the line is no reply");
    client.ok("message.unpin", key.clone()).await;
    assert_eq!(client.event("message.updated").await["data"]["changes"]["isPinned"], false);
    assert!(client.is_quiet().await);
    assert_eq!(items(&owner.ok("message.list", pinned).await).len(), 0);
    // s_034: the line itself has none of this; nor may a member pin what is not theirs.
    let of_line = json!({ "roomId": room, "rowKey": line["rowKey"] });
    for op in ["message.pin", "message.unpin", "message.delete", "preview.delete"] {
        assert_eq!(owner.refused(op, of_line.clone()).await, "bad_request", "{op}");
    }
    let own = owner.say(&room, "mine").await;
    let key = json!({ "roomId": room, "rowKey": own["rowKey"] });
    for op in ["message.pin", "message.unpin", "message.delete", "preview.delete"] {
        assert_eq!(client.refused(op, key.clone()).await, "forbidden", "{op}");
    }
}

#[tokio::test]
async fn bl_064_a_deleted_message_is_no_pin() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = owner.say(&room, "keep this").await;
    let key = json!({ "roomId": room, "rowKey": message["rowKey"] });
    owner.ok("message.pin", key.clone()).await;
    owner.ok("message.delete", key.clone()).await;
    let list = owner.ok("message.list", json!({ "roomId": room, "isPinned": true })).await;
    assert_eq!(items(&list).len(), 0);
    // s_035: it is absent to every operation.
    for op in ["message.pin", "message.unpin", "message.delete", "preview.delete", "thread.follow"] {
        assert_eq!(owner.refused(op, key.clone()).await, "not_found", "{op}");
    }
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "x" });
    assert_eq!(owner.refused("message.edit", edit).await, "not_found");
    let forward = json!({ "roomId": room, "rowKey": message["rowKey"], "roomIds": [room] });
    assert_eq!(owner.refused("message.forward", forward).await, "not_found");
    let reply = json!({ "roomId": room, "message": "re", "replyRowKey": message["rowKey"] });
    assert_eq!(owner.refused("message.send", reply).await, "not_found");
}

#[tokio::test]
async fn s_031_a_message_without_a_preview_has_none_to_delete() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = owner.say(&room, "no link").await;
    let key = json!({ "roomId": room, "rowKey": message["rowKey"] });
    assert_eq!(owner.ok("preview.delete", key).await, json!({ "rev": 1 }));
}
