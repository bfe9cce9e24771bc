//! Friends: requests, answers, the list, and who is told.

use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items, nonce};

/// The next `friend.changed`: what, and the other party's id.
async fn changed(client: &mut Client) -> (String, String) {
    let event = client.event("friend.changed").await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&event["data"]["change"]), text(&event["data"]["user"]["userId"]))
}

async fn befriend(ada: &User, one: &mut Client, bob: &User, other: &mut Client) {
    one.befriend(ada, other, bob).await;
    for (client, about) in [(one, bob), (other, ada)] {
        assert_eq!(changed(client).await, ("Requested".to_owned(), about.id.clone()));
        assert_eq!(changed(client).await, ("Accepted".to_owned(), about.id.clone()));
    }
}

#[tokio::test]
async fn s_169_a_request_is_taken_and_both_are_told() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    let data = json!({ "userId": bob.id, "nonce": nonce() });
    let made = one.ok("friend.request", data.clone()).await;
    assert_eq!(made["request"]["user"]["name"], bob.name);
    assert_eq!(made["request"]["direction"], "Outgoing");
    assert_eq!(changed(&mut one).await, ("Requested".to_owned(), bob.id.clone()));
    assert_eq!(changed(&mut other).await, ("Requested".to_owned(), ada.id.clone()));

    // By the same nonce, by another one, and by name: the same request, announced once.
    assert_eq!(one.ok("friend.request", data).await, made);
    assert_eq!(one.ok("friend.request", json!({ "userId": bob.id, "nonce": nonce() })).await, made);
    assert_eq!(one.ok("friend.request", json!({ "name": bob.name.to_uppercase() })).await, made);
    let waiting = other.ok("friend.list", json!({})).await;
    assert_eq!(waiting["requests"][0]["user"]["userId"], ada.id);
    assert_eq!(waiting["requests"][0]["direction"], "Incoming");
    assert!(waiting.get("items").is_none());

    // The sender cannot take it, nor can a stranger answer it.
    assert_eq!(one.refused("friend.accept", json!({ "userId": bob.id })).await, "not_found");
    let friend = other.ok("friend.accept", json!({ "userId": ada.id })).await["friend"].take();
    assert_eq!(friend["user"]["userId"], ada.id);
    assert_eq!(friend["status"]["status"], "Online");
    assert_eq!(changed(&mut one).await, ("Accepted".to_owned(), bob.id.clone()));
    assert_eq!(changed(&mut other).await, ("Accepted".to_owned(), ada.id.clone()));
    // A repeat answers what is and announces nothing.
    assert_eq!(other.ok("friend.accept", json!({ "userId": ada.id })).await["friend"], friend);
    let listed = one.ok("friend.list", json!({})).await;
    assert_eq!(items(&listed)[0]["user"]["userId"], bob.id);
    assert!(listed.get("requests").is_none());

    other.ok("friend.remove", json!({ "userId": ada.id })).await;
    assert_eq!(changed(&mut one).await, ("Removed".to_owned(), bob.id.clone()));
    assert_eq!(changed(&mut other).await, ("Removed".to_owned(), ada.id.clone()));
    assert_eq!(one.refused("friend.remove", json!({ "userId": bob.id })).await, "not_found");
    for client in [&mut one, &mut other] {
        assert_eq!(client.ok("friend.list", json!({})).await, json!({}));
        assert!(!client.settled_names().await.contains(&"friend.changed".to_owned()));
    }
}

#[tokio::test]
async fn s_169_a_request_is_declined_or_taken_back() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    one.ok("friend.request", json!({ "userId": bob.id })).await;
    assert_eq!(one.refused("friend.decline", json!({ "userId": bob.id })).await, "not_found");
    other.ok("friend.decline", json!({ "userId": ada.id })).await;
    assert_eq!(other.refused("friend.decline", json!({ "userId": ada.id })).await, "not_found");
    one.ok("friend.request", json!({ "userId": bob.id })).await;
    assert_eq!(other.refused("friend.cancel", json!({ "userId": ada.id })).await, "not_found");
    one.ok("friend.cancel", json!({ "userId": bob.id })).await;
    assert_eq!(one.refused("friend.cancel", json!({ "userId": bob.id })).await, "not_found");
    for (client, about) in [(&mut one, &bob), (&mut other, &ada)] {
        for change in ["Requested", "Declined", "Requested", "Cancelled"] {
            assert_eq!(changed(client).await, (change.to_owned(), about.id.clone()));
        }
        assert_eq!(client.ok("friend.list", json!({})).await, json!({}));
    }
}

#[tokio::test]
async fn s_169_a_request_that_cannot_be_is_refused() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    assert_eq!(one.refused("friend.request", json!({ "userId": ada.id })).await, "bad_request");
    let nobody = uuid::Uuid::new_v4().to_string();
    assert_eq!(one.refused("friend.request", json!({ "userId": nobody })).await, "not_found");
    assert_eq!(one.refused("friend.request", json!({ "name": nobody })).await, "not_found");
    assert_eq!(one.refused("friend.request", json!({})).await, "bad_request");
    assert_eq!(one.refused("friend.request", json!({ "name": bob.name, "userId": bob.id })).await, "bad_request");
    one.ok("friend.request", json!({ "userId": bob.id })).await;
    assert_eq!(other.refused("friend.request", json!({ "userId": ada.id })).await, "bad_request", "theirs is pending");
    other.ok("friend.accept", json!({ "userId": ada.id })).await;
    assert_eq!(one.refused("friend.request", json!({ "userId": bob.id })).await, "bad_request", "friends already");
}

#[tokio::test]
async fn two_requests_that_cross_leave_one() {
    let server = Server::shared().await;
    for _ in 0..10 {
        let (ada, mut one) = server.client("Ada").await;
        let (bob, mut other) = server.client("Bob").await;
        let (there, back) = tokio::join!(
            one.call("friend.request", json!({ "userId": bob.id })),
            other.call("friend.request", json!({ "userId": ada.id })),
        );
        assert_eq!(u8::from(there.is_ok()) + u8::from(back.is_ok()), 1);
        let refused = there.err().or(back.err()).unwrap();
        assert_eq!(refused["code"], "bad_request");
        assert_eq!(one.ok("friend.list", json!({})).await["requests"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn friends_come_by_name_page_by_page() {
    let server = Server::shared().await;
    let (ada, mut one) = server.client("Ada").await;
    for name in ["Cid", "bob", "Dan"] {
        let (friend, mut other) = server.client(name).await;
        befriend(&ada, &mut one, &friend, &mut other).await;
    }
    let (eve, _other) = server.client("Eve").await;
    one.ok("friend.request", json!({ "userId": eve.id })).await;
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    for page in 0..2 {
        let mut data = json!({ "limit": 2 });
        if page > 0 {
            data["cursor"] = cursor;
        }
        let reply = one.ok("friend.list", data).await;
        assert_eq!(reply.get("requests").is_some(), page == 0, "requests come with the first page alone");
        assert_eq!(reply["hasMore"] == true, page == 0);
        names.extend(items(&reply).iter().map(|friend| friend["user"]["name"].as_str().unwrap()[..3].to_owned()));
        cursor = reply["nextCursor"].clone();
    }
    assert_eq!(names, ["bob", "Cid", "Dan"]);
    assert_eq!(one.refused("friend.list", json!({ "cursor": "junk" })).await, "bad_request");
}
