//! Blocks: what they end, whom they hide.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items};

async fn finds(client: &mut Client, name: &str) -> bool {
    let found = client.ok("user.search", json!({ "query": name })).await;
    items(&found).iter().any(|user| user["name"] == name)
}

#[tokio::test]
async fn s_170_a_block_ends_friendship_and_requests() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    one.befriend(&ada, &mut other, &bob).await;
    one.settled().await;
    other.settled().await;
    one.ok("block.add", json!({ "userId": bob.id })).await;
    for (client, about) in [(&mut one, &bob), (&mut other, &ada)] {
        let event = client.event("friend.changed").await;
        assert_eq!((&event["data"]["change"], &event["data"]["user"]["userId"]), (&json!("Removed"), &json!(about.id)));
        assert_eq!(client.ok("friend.list", json!({})).await, json!({}));
    }
    // Again: nothing more.
    one.ok("block.add", json!({ "userId": bob.id })).await;
    assert_eq!(items(&one.ok("block.list", json!({})).await).len(), 1);
    assert!(one.settled_names().await.is_empty());

    // Neither can ask the other, and a pending request goes too.
    assert_eq!(one.refused("friend.request", json!({ "userId": bob.id })).await, "bad_request");
    assert_eq!(other.refused("friend.request", json!({ "userId": ada.id })).await, "bad_request");
    one.ok("block.remove", json!({ "userId": bob.id })).await;
    one.ok("friend.request", json!({ "userId": bob.id })).await;
    other.ok("block.add", json!({ "userId": ada.id })).await;
    assert_eq!(one.ok("friend.list", json!({})).await, json!({}));
    assert_eq!(other.refused("friend.accept", json!({ "userId": ada.id })).await, "not_found");
}

#[tokio::test]
async fn s_170_a_block_of_oneself_or_nobody_is_refused_and_so_is_the_end_of_none() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let bob = server.user("Bob").await;
    assert_eq!(one.refused("block.add", json!({ "userId": ada.id })).await, "bad_request");
    let nobody = uuid::Uuid::new_v4().to_string();
    assert_eq!(one.refused("block.add", json!({ "userId": nobody })).await, "not_found");
    assert_eq!(one.refused("block.remove", json!({ "userId": nobody })).await, "not_found");
    assert_eq!(one.refused("block.remove", json!({ "userId": bob.id })).await, "not_found");
}

#[tokio::test]
async fn s_170_the_search_hides_both_ways() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    assert!(finds(&mut one, &bob.name).await && finds(&mut other, &ada.name).await);
    one.ok("block.add", json!({ "userId": bob.id })).await;
    assert!(!finds(&mut one, &bob.name).await);
    assert!(!finds(&mut other, &ada.name).await);
    one.ok("block.remove", json!({ "userId": bob.id })).await;
    assert!(finds(&mut one, &bob.name).await && finds(&mut other, &ada.name).await);
}

#[tokio::test]
async fn blocks_are_listed_newest_first_page_by_page() {
    let server = Server::shared().await;
    let (_, mut one) = server.client("Ada").await;
    let mut blocked = Vec::new();
    for name in ["Bob", "Cid", "Dan"] {
        let user = server.user(name).await;
        one.ok("block.add", json!({ "userId": user.id })).await;
        blocked.insert(0, user.id);
    }
    let first = one.ok("block.list", json!({ "limit": 2 })).await;
    let second = one.ok("block.list", json!({ "limit": 2, "cursor": first["nextCursor"] })).await;
    let ids =
        |page: &Value| items(page).iter().map(|user| user["userId"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!((ids(&first).len(), second.get("hasMore")), (2, None));
    let mut all = [ids(&first), ids(&second)].concat();
    all.sort();
    blocked.sort();
    assert_eq!(all, blocked);
}
