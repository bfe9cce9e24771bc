//! Inbound webhooks: who manages them, and what callers get.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server, items, nonce, texts};

async fn call(server: &Server, url: &Value, body: &Value) -> Answer {
    server.post(url.as_str().unwrap(), None, body).await
}

#[tokio::test]
async fn s_137_a_room_has_ten_webhooks_made_by_those_who_manage_them() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (_, mut eve) = server.client("Eve").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    let create = json!({ "roomId": room, "nonce": nonce() });
    let made = owner.ok("webhook.create", create.clone()).await;
    assert_eq!((&made["webhook"]["name"], &made["webhook"]["isActive"]), (&json!("Webhook"), &json!(true)));
    let url = made["url"].as_str().unwrap();
    assert!(url.ends_with(made["token"].as_str().unwrap()), "{url}");
    let again = owner.ok("webhook.create", create).await;
    assert_eq!(again, json!({ "webhook": made["webhook"] }), "a repeat shows no token");
    for _ in 0..9 {
        owner.ok("webhook.create", json!({ "roomId": room, "name": "x" })).await;
    }
    assert_eq!(owner.refused("webhook.create", json!({ "roomId": room })).await, "bad_request");
    let list = owner.ok("webhook.list", json!({ "roomId": room })).await;
    assert_eq!((items(&list).len(), &items(&list)[9]), (10, &made["webhook"]));
    let id = &made["webhook"]["webhookId"];
    for other in [&mut bob, &mut eve] {
        for (op, data) in [
            ("webhook.create", json!({ "roomId": room })),
            ("webhook.list", json!({ "roomId": room })),
            ("webhook.update", json!({ "roomId": room, "webhookId": id, "name": "x" })),
            ("webhook.rotate", json!({ "roomId": room, "webhookId": id })),
            ("webhook.delete", json!({ "roomId": room, "webhookId": id })),
        ] {
            assert_eq!(other.refused(op, data).await, "forbidden", "{op}");
        }
    }
}

#[tokio::test]
async fn s_138_update_rotate_delete() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (room, other) = (owner.room("Tea").await, owner.room("Coffee").await);
    let made = owner.ok("webhook.create", json!({ "roomId": room, "name": "CI" })).await;
    let named = json!({ "roomId": room, "webhookId": made["webhook"]["webhookId"] });
    let with = |field: &str, value: Value| {
        let mut data = named.clone();
        data[field] = value;
        data
    };
    let updated = owner.ok("webhook.update", with("name", json!("Build"))).await;
    assert_eq!((&updated["webhook"]["name"], &updated["webhook"]["appUser"]["name"]), (&json!("Build"), &json!("CI")));
    assert_eq!(owner.refused("webhook.update", named.clone()).await, "bad_request");
    owner.ok("webhook.update", with("isActive", json!(false))).await;
    let body = json!({ "content": "hi" });
    assert_eq!(call(&server, &made["url"], &body).await.refused(), (404, "not_found"));
    owner.ok("webhook.update", with("isActive", json!(true))).await;
    call(&server, &made["url"], &body).await.ok();
    let rotated = owner.ok("webhook.rotate", with("nonce", json!(nonce()))).await;
    assert_ne!(rotated["token"], made["token"]);
    assert_eq!(call(&server, &made["url"], &body).await.refused(), (404, "not_found"));
    call(&server, &rotated["url"], &body).await.ok();
    let foreign = json!({ "roomId": other, "webhookId": made["webhook"]["webhookId"] });
    for op in ["webhook.rotate", "webhook.delete"] {
        assert_eq!(owner.refused(op, foreign.clone()).await, "not_found", "{op}");
    }
    let app_user = json!({ "roomId": room, "appUserIds": [made["webhook"]["appUser"]["appUserId"]] });
    assert_eq!(items(&owner.ok("appUser.get", app_user.clone()).await), [made["webhook"]["appUser"].clone()]);
    owner.ok("webhook.delete", named.clone()).await;
    assert_eq!(owner.refused("webhook.delete", named).await, "not_found");
    assert_eq!(call(&server, &rotated["url"], &body).await.refused(), (404, "not_found"));
    assert_eq!(owner.ok("appUser.get", app_user).await, json!({}));
    let list = owner.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(texts(&list).len(), 2, "its messages stay");
}

#[tokio::test]
async fn s_139_members_see_the_senders_of_their_room_only() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (room, other) = (owner.room("Tea").await, owner.room("Coffee").await);
    let made = owner.ok("webhook.create", json!({ "roomId": room })).await;
    let get = |room: &str| json!({ "roomId": room, "appUserIds": [made["webhook"]["appUser"]["appUserId"]] });
    assert_eq!(bob.refused("appUser.get", get(&room)).await, "forbidden");
    owner.bring(&room, &mut bob).await;
    assert_eq!(items(&bob.ok("appUser.get", get(&room)).await).len(), 1);
    assert_eq!(owner.ok("appUser.get", get(&other)).await, json!({}));
}

#[tokio::test]
async fn s_140_a_call_posts_once_and_tells_strangers_nothing() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    owner.subscribe(&room).await;
    let made = owner.ok("webhook.create", json!({ "roomId": room, "name": "CI" })).await;
    let (id, token) = (made["webhook"]["webhookId"].as_str().unwrap(), made["token"].as_str().unwrap());
    let path = |id: &str, token: &str| json!(format!("/v1/webhooks/{id}/{token}"));
    let body = json!({
        "content": "**hi** <script>alert(1)</script>", "username": "Robot", "avatar_url": "https://a.example/b.png",
        "tts": true, "embeds": [{ "title": "Build", "description": "green" }],
    });
    assert_eq!(call(&server, &path("nonsense", token), &body).await.refused(), (400, "bad_request"));
    assert_eq!(call(&server, &path(id, "short"), &body).await.refused(), (400, "bad_request"));
    let unknown = call(&server, &path(&uuid::Uuid::new_v4().to_string(), token), &body).await;
    let wrong = call(&server, &path(id, &"a".repeat(43)), &body).await;
    assert_eq!((unknown.refused(), &unknown.body), ((404, "not_found"), &wrong.body));
    let malformed = server.request(Method::POST, made["url"].as_str().unwrap());
    let malformed = malformed.header("content-type", "application/json").body("{\"content\":");
    assert_eq!(Answer::of(malformed).await.refused(), (400, "bad_request"));
    let long = call(&server, &made["url"], &json!({ "content": "x".repeat(2001) })).await;
    assert_eq!((long.refused(), &long.body["field"]), ((400, "bad_request"), &json!("/content")));
    assert!(owner.is_quiet().await);
    let answer = call(&server, &made["url"], &body).await;
    assert_eq!((answer.status, &answer.body["roomId"]), (202, &json!(room)));
    let message = owner.event("message.created").await["data"]["message"].clone();
    assert_eq!(message["rowKey"], answer.body["rowKey"]);
    assert_eq!(message["type"], "Webhook");
    assert!(message.get("userId").is_none() && message.get("nonce").is_none());
    let app_user = json!({
        "id": made["webhook"]["appUser"]["appUserId"], "name": "Robot", "image": "https://a.example/b.png",
    });
    assert_eq!(message["appUser"], app_user);
    let html = message["message"].as_str().unwrap();
    assert!(html.contains("<strong>hi</strong>") && html.contains("Build") && html.contains("green"), "{html}");
    assert!(!html.contains("<script"), "{html}");
    let read = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    assert_eq!(read["items"][0], message);
}

#[tokio::test]
async fn bl_105_a_call_that_is_repeated_posts_once() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let made = owner.ok("webhook.create", json!({ "roomId": room })).await;
    let other = owner.ok("webhook.create", json!({ "roomId": room })).await;
    let post = |url: &Value, key: &str| {
        let request = server.request(Method::POST, url.as_str().unwrap()).header("idempotency-key", key);
        Answer::of(request.json(&json!({ "content": "once" })))
    };
    let answers = futures_util::future::join_all((0..10).map(|_| post(&made["url"], "k-1"))).await;
    assert!(answers.iter().all(|answer| answer.status == 202 && answer.body == answers[0].body), "{answers:?}");
    // A key is its webhook's own, and must be one.
    post(&other["url"], "k-1").await.ok();
    post(&made["url"], "k-2").await.ok();
    assert_eq!(post(&made["url"], &"k".repeat(65)).await.refused(), (400, "bad_request"));
    let list = owner.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(texts(&list).len(), 3);
}

#[tokio::test]
async fn s_142_the_thirty_first_call_of_a_minute_waits() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let made = owner.ok("webhook.create", json!({ "roomId": room })).await;
    let other = owner.ok("webhook.create", json!({ "roomId": room })).await;
    for _ in 0..30 {
        call(&server, &made["url"], &json!({ "content": "x" })).await.ok();
    }
    let refused = call(&server, &made["url"], &json!({ "content": "x" })).await;
    assert_eq!(refused.refused(), (429, "rate_limited"));
    assert!(refused.header("retry-after").parse::<u64>().unwrap() <= 60);
    call(&server, &other["url"], &json!({ "content": "x" })).await.ok();
}
