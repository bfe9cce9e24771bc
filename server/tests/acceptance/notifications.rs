//! Push addresses over a real socket; what is pushed to whom is tested beside the code.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items};

/// The keys of RFC 8291's example.
fn address(endpoint: &str) -> Value {
    let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    json!({ "endpoint": endpoint, "keys": { "auth": "BTBZMqHH6r4Tts7J_aSIgg", "p256dh": p256dh } })
}

#[tokio::test]
async fn s_132_the_same_address_is_one_and_ends_when_it_is_taken_back() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let first = client.ok("push.subscribe", address("https://1.1.1.1/a")).await;
    let second = client.ok("push.subscribe", address("https://1.1.1.1/a")).await;
    assert_eq!(first["subscription"]["createdAt"], second["subscription"]["createdAt"]);
    let listed = client.ok("push.list", json!({})).await;
    assert_eq!(items(&listed).len(), 1);
    assert_eq!(items(&listed)[0]["endpoint"], "https://1.1.1.1/a");
    client.ok("push.unsubscribe", json!({ "endpoint": "https://1.1.1.1/a" })).await;
    assert_eq!(client.refused("push.unsubscribe", json!({ "endpoint": "https://1.1.1.1/a" })).await, "not_found");
    assert!(items(&client.ok("push.list", json!({})).await).is_empty());
}

#[tokio::test]
async fn bl_122_private_addresses_and_keys_that_are_none_are_refused() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    for endpoint in [
        "http://1.1.1.1/a",
        "https://127.0.0.1/a",
        "https://10.1.2.3/a",
        "https://[::1]/a",
        "https://169.254.169.254/latest",
        "https://localhost/a",
        "https://1.1.1.1:22/a",
        "https://ada:secret@1.1.1.1/a",
    ] {
        let error = client.error("push.subscribe", address(endpoint)).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/endpoint")), "{endpoint}");
    }
    let mut bad = address("https://1.1.1.1/a");
    bad["keys"]["p256dh"] = json!("BCVx");
    assert_eq!(client.error("push.subscribe", bad).await["field"], "/keys/p256dh");
    let mut bad = address("https://1.1.1.1/a");
    bad["keys"]["auth"] = json!("BTBZ");
    assert_eq!(client.error("push.subscribe", bad).await["field"], "/keys/auth");
}

#[tokio::test]
async fn an_address_ends_with_its_session() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    client.ok("push.subscribe", address("https://1.1.1.1/a")).await;
    let login = json!({ "name": user.name, "password": user.password });
    let other = server.post("/v1/auth/login", None, &login).await;
    let token = other.ok()["token"].as_str().unwrap().to_owned();
    let ended = server.post("/v1/rpc/session.revoke", Some(&token), &json!({ "sessionId": user.session_id })).await;
    ended.ok();
    let listed = server.post("/v1/rpc/push.list", Some(&token), &json!({})).await;
    assert!(items(listed.ok()).is_empty());
}

#[tokio::test]
async fn the_key_survives_a_restart() {
    let server = Server::with(&[]).await;
    let (user, mut client) = server.client("Ada").await;
    let key = client.ok("push.key", json!({})).await;
    assert_eq!(key["publicKey"].as_str().unwrap().len(), 87);
    server.restart().await;
    let mut client = Client::of(&server, &user).await;
    assert_eq!(client.ok("push.key", json!({})).await, key);
}
