//! `/v1/auth/*`, sessions, and the cookie of the page.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, Server, items, unique};

async fn register(server: &Server, name: &str) -> Answer {
    server.post("/v1/auth/register", None, &json!({ "name": name, "password": "correct horse" })).await
}

async fn log_in(server: &Server, name: &str, password: &str) -> Answer {
    server.post("/v1/auth/login", None, &json!({ "name": name, "password": password })).await
}

/// Whether a token opens anything.
async fn works(server: &Server, token: &str) -> bool {
    server.get("/v1/auth/sessions", Some(token)).await.status == 200
}

#[tokio::test]
async fn registering_answers_a_session_and_the_account() {
    let server = Server::shared().await;
    let name = unique("Ada");
    let answer = register(&server, &format!("  {name} ")).await;
    assert_eq!(answer.status, 201);
    let body = answer.ok();
    assert_eq!(body["user"]["name"], name);
    for time in [&body["expiresAt"], &body["user"]["createdAt"], &body["user"]["updatedAt"]] {
        let time = time.as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    }
    let empty =
        body["user"].as_object().unwrap().keys().any(|key| ["image", "biography", "isDeleted"].contains(&&**key));
    assert!(!empty, "empty fields are left out: {body}");
    assert!(works(&server, body["token"].as_str().unwrap()).await);
    assert_eq!(answer.header("set-cookie"), "");
}

#[tokio::test]
async fn bl_084_a_name_is_unique_whatever_its_case_and_look() {
    let server = Server::shared().await;
    let name = unique("Mark");
    assert_eq!(register(&server, &name).await.status, 201);
    for alike in [
        name.clone(),
        name.to_lowercase(),
        name.to_uppercase(),
        format!(" {name}  "),
        name.replace('a', "\u{430}"),
        format!("{name}\u{200b}"),
        name.replace('M', "Ｍ"),
    ] {
        assert_eq!(register(&server, &alike).await.refused(), (409, "conflict"), "{alike:?}");
    }
}

#[tokio::test]
async fn bl_085_a_name_of_nothing_visible_is_refused() {
    let server = Server::shared().await;
    for name in ["", " ", "\u{200b}\u{200b}", "\u{200c}", "\u{3000}"] {
        assert_eq!(register(&server, name).await.refused(), (400, "bad_request"), "{name:?}");
    }
}

#[tokio::test]
async fn register_checks_its_fields_and_points_at_the_wrong_one() {
    let server = Server::shared().await;
    for (body, field) in [
        (json!({ "password": "correct horse" }), "/name"),
        (json!({ "name": unique("x") }), "/password"),
        (json!({ "name": unique("x"), "password": "1234567" }), "/password"),
        (json!({ "name": unique("x"), "password": "é".repeat(257) }), "/password"),
        (json!({ "name": unique("x"), "password": "12345678\0" }), "/password"),
        (json!({ "name": "x".repeat(101), "password": "correct horse" }), "/name"),
        (json!({ "name": "a\0b", "password": "correct horse" }), "/name"),
        (json!({ "name": 7, "password": "correct horse" }), "/name"),
        (json!({ "name": unique("x"), "password": "correct horse", "invite": "short" }), "/invite"),
        (json!({ "name": unique("x"), "password": "correct horse", "cookie": "yes" }), "/cookie"),
    ] {
        let answer = server.post("/v1/auth/register", None, &body).await;
        assert_eq!(answer.refused(), (400, "bad_request"), "{body}");
        assert_eq!(answer.body["field"], field, "{body}");
    }
    for length in [8, 256] {
        let body = json!({ "name": unique("x"), "password": "é".repeat(length) });
        assert_eq!(server.post("/v1/auth/register", None, &body).await.status, 201);
    }
}

#[tokio::test]
async fn what_is_no_json_is_refused_by_its_kind() {
    let server = Server::shared().await;
    let post = |body: String, content_type: &str| {
        Answer::of(server.request(Method::POST, "/v1/auth/login").header("content-type", content_type).body(body))
    };
    assert_eq!(post("{".into(), "application/json").await.refused(), (400, "bad_request"));
    assert_eq!(post("[]".into(), "application/json").await.refused(), (400, "bad_request"));
    assert_eq!(post("{}".into(), "text/plain").await.refused(), (415, "bad_request"));
    assert_eq!(post("name=a&password=b".into(), "application/x-www-form-urlencoded").await.refused().0, 415);
    let big = format!("{{\"name\":\"{}\"}}", "x".repeat(2_097_152));
    assert_eq!(post(big, "application/json").await.status, 413);
}

#[tokio::test]
async fn logging_in_fails_alike_for_every_reason() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    assert_eq!(log_in(&server, &user.name, &user.password).await.status, 200);
    assert_eq!(log_in(&server, &user.name.to_uppercase(), &user.password).await.status, 200);
    let wrong = log_in(&server, &user.name, "wrong horse").await;
    let unknown = log_in(&server, &unique("nobody"), "wrong horse").await;
    assert_eq!(wrong.refused(), (401, "unauthenticated"));
    assert_eq!(unknown.refused(), (401, "unauthenticated"));
    assert_eq!(wrong.body["message"], unknown.body["message"]);
}

#[tokio::test]
async fn every_log_in_is_a_session_of_its_own() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    let second = log_in(&server, &user.name, &user.password).await;
    let second_token = second.ok()["token"].as_str().unwrap().to_owned();
    assert_ne!(second.body["sessionId"], user.session_id);
    let answer = server.get("/v1/auth/sessions", Some(&user.token)).await;
    let sessions = items(answer.ok());
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let current: Vec<_> = sessions.iter().filter(|session| session["isCurrent"] == true).collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["sessionId"], user.session_id);
    assert_eq!(current[0]["address"], "127.0.0.1");

    // Somebody else's session is not found, one's own is ended.
    let stranger = server.user("Eve").await;
    let path = format!("/v1/auth/sessions/{}", second.body["sessionId"].as_str().unwrap());
    let delete = |token: &str| Answer::of(server.request(Method::DELETE, &path).bearer_auth(token));
    assert_eq!(delete(&stranger.token).await.refused(), (404, "not_found"));
    assert_eq!(delete(&user.token).await.status, 204);
    assert_eq!(delete(&user.token).await.refused(), (404, "not_found"));
    assert!(!works(&server, &second_token).await);
    assert!(works(&server, &user.token).await);
}

#[tokio::test]
async fn refreshing_keeps_the_session_and_the_old_token_for_a_while() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    let answer = server.post("/v1/auth/refresh", Some(&user.token), &json!({})).await;
    let token = answer.ok()["token"].as_str().unwrap();
    assert_ne!(token, user.token);
    assert_eq!(answer.body["sessionId"], user.session_id);
    assert!(works(&server, token).await);
    assert!(works(&server, &user.token).await);
}

#[tokio::test]
async fn without_a_token_nothing_opens() {
    let server = Server::shared().await;
    for token in [None, Some("nonsense"), Some("")] {
        assert_eq!(server.get("/v1/auth/sessions", token).await.refused(), (401, "unauthenticated"));
        assert_eq!(server.post("/v1/rpc/room.list", token, &json!({})).await.refused(), (401, "unauthenticated"));
        for path in ["refresh", "logout", "password"] {
            let body = json!({ "password": "correct horse", "newPassword": "correct horse 2" });
            let answer = server.post(&format!("/v1/auth/{path}"), token, &body).await;
            assert_eq!(answer.refused(), (401, "unauthenticated"), "{path}");
        }
    }
    // A token in the address is none.
    let user = server.user("Ada").await;
    let answer = server.get(&format!("/v1/auth/sessions?token={}&access_token={}", user.token, user.token), None).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn logging_out_ends_the_session_and_its_sockets() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    let other = log_in(&server, &user.name, &user.password).await;
    assert_eq!(server.post("/v1/auth/logout", Some(&user.token), &json!({})).await.status, 204);
    assert_eq!(client.closed().await.0, 4401);
    assert!(!works(&server, &user.token).await);
    assert!(works(&server, other.ok()["token"].as_str().unwrap()).await);
}

#[tokio::test]
async fn a_new_password_ends_all_other_sessions() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    let other = log_in(&server, &user.name, &user.password).await;
    let other_token = other.ok()["token"].as_str().unwrap();
    let change = |password: &str, new: &str| json!({ "password": password, "newPassword": new });
    let wrong = server.post("/v1/auth/password", Some(other_token), &change("wrong horse", "battery staple")).await;
    assert_eq!(wrong.refused(), (401, "unauthenticated"));
    let short = server.post("/v1/auth/password", Some(other_token), &change(&user.password, "short")).await;
    assert_eq!(short.refused(), (400, "bad_request"));
    let done = server.post("/v1/auth/password", Some(other_token), &change(&user.password, "battery staple")).await;
    assert_eq!(done.status, 204);
    assert_eq!(client.closed().await.0, 4401);
    assert!(!works(&server, &user.token).await);
    assert!(works(&server, other_token).await);
    assert_eq!(log_in(&server, &user.name, &user.password).await.status, 401);
    assert_eq!(log_in(&server, &user.name, "battery staple").await.status, 200);
}

#[tokio::test]
async fn sessions_can_be_listed_and_ended_on_the_socket() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    let second = log_in(&server, &user.name, &user.password).await;
    let third = log_in(&server, &user.name, &user.password).await;
    assert_eq!(items(&client.ok("session.list", json!({})).await).len(), 3);
    client.ok("session.revoke", json!({ "sessionId": second.ok()["sessionId"] })).await;
    assert_eq!(client.refused("session.revoke", json!({ "sessionId": second.ok()["sessionId"] })).await, "not_found");
    assert!(!works(&server, second.ok()["token"].as_str().unwrap()).await);
    let mut doomed = Client::open(&server).await;
    doomed.ok("session.hello", json!({ "token": third.ok()["token"] })).await;
    client.ok("session.revoke", json!({ "others": true })).await;
    assert_eq!(doomed.closed().await.0, 4401);
    assert_eq!(items(&client.ok("session.list", json!({})).await).len(), 1);
    assert_eq!(client.refused("session.revoke", json!({})).await, "bad_request");
}

#[tokio::test]
async fn a_socket_can_swap_its_token() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    let stranger = server.user("Eve").await;
    assert_eq!(client.refused("session.refresh", json!({ "token": "nonsense" })).await, "unauthenticated");
    assert_eq!(client.refused("session.refresh", json!({ "token": stranger.token })).await, "forbidden");
    let second = log_in(&server, &user.name, &user.password).await;
    let reply = client.ok("session.refresh", json!({ "token": second.ok()["token"] })).await;
    assert_eq!(reply["sessionId"], second.ok()["sessionId"]);
    // The socket now belongs to the second session alone.
    server.post("/v1/auth/logout", Some(&user.token), &json!({})).await;
    client.ok("room.list", json!({})).await;
    server.post("/v1/auth/logout", second.ok()["token"].as_str(), &json!({})).await;
    assert_eq!(client.closed().await.0, 4401);
}

struct Page {
    cookie: String,
    origin: String,
}

async fn page(server: &Server) -> Page {
    let body = json!({ "name": unique("Ada"), "password": "correct horse", "cookie": true });
    let origin = format!("http://{}", server.address);
    let answer =
        Answer::of(server.request(Method::POST, "/v1/auth/register").header("origin", &origin).json(&body)).await;
    assert_eq!(answer.status, 201);
    assert!(answer.body.get("token").is_none(), "{:?}", answer.body);
    let cookie = answer.header("set-cookie").to_owned();
    assert!(cookie.starts_with("parlour_session="), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert!(!cookie.contains("Secure"), "plain http: {cookie}");
    Page { cookie: cookie.split(';').next().unwrap().to_owned(), origin }
}

#[tokio::test]
async fn the_cookie_needs_an_origin_that_is_known() {
    let server = Server::shared().await;
    let page = page(&server).await;
    let create = |origin: Option<&str>| {
        let mut request = server
            .request(Method::POST, "/v1/rpc/room.create")
            .header("cookie", &page.cookie)
            .json(&json!({ "name": "Tea" }));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        Answer::of(request)
    };
    assert_eq!(create(Some(&page.origin)).await.status, 200);
    for origin in
        [None, Some("http://evil.example"), Some("null"), Some("http://127.0.0.1:1"), Some("https://127.0.0.1")]
    {
        assert_eq!(create(origin).await.refused(), (403, "forbidden"), "{origin:?}");
    }
    // Nothing was made by the refused ones.
    let rooms = Answer::of(
        server
            .request(Method::POST, "/v1/rpc/room.list")
            .header("cookie", &page.cookie)
            .header("origin", &page.origin)
            .json(&json!({})),
    );
    assert_eq!(items(rooms.await.ok()).len(), 1);
}

#[tokio::test]
async fn the_cookie_needs_json() {
    let server = Server::shared().await;
    let page = page(&server).await;
    let request = server
        .request(Method::POST, "/v1/rpc/room.create")
        .header("cookie", &page.cookie)
        .header("origin", &page.origin)
        .header("content-type", "text/plain")
        .body(r#"{"name":"Tea"}"#);
    assert_eq!(Answer::of(request).await.refused().0, 415);
}

#[tokio::test]
async fn the_cookie_opens_a_socket_from_the_own_page_alone() {
    let server = Server::shared().await;
    let page = page(&server).await;
    let refused = Client::open_with(&server, &[("cookie", &page.cookie), ("origin", "http://evil.example")]).await;
    assert_eq!(refused.err().map(|refused| refused.status), Some(403));
    let refused = Client::open_with(&server, &[("cookie", &page.cookie)]).await;
    assert_eq!(refused.err().map(|refused| refused.status), Some(403));
    let mut client = Client::open_with(&server, &[("cookie", &page.cookie), ("origin", &page.origin)]).await.unwrap();
    let hello = client.ok("session.hello", json!({})).await;
    assert!(hello["user"]["userId"].is_string());
}

#[tokio::test]
async fn a_bearer_header_of_the_upgrade_takes_the_place_of_the_token() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    let bearer = format!("Bearer {}", user.token);
    let mut client = Client::open_with(&server, &[("authorization", &bearer)]).await.unwrap();
    let hello = client.ok("session.hello", json!({})).await;
    assert_eq!(hello["user"]["userId"], user.id);
}

#[tokio::test]
async fn registration_can_be_closed_but_for_the_first_account() {
    let server = Server::with(&[("PARLOUR_REGISTRATION", "closed")]).await;
    assert_eq!(register(&server, "Ada").await.status, 201);
    assert_eq!(register(&server, "Bob").await.refused(), (403, "forbidden"));
}

#[tokio::test]
async fn registration_can_need_an_invite() {
    let server = Server::with(&[("PARLOUR_REGISTRATION", "invite")]).await;
    let (_, mut ada) = server.client("Ada").await;
    let room = ada.room("Tea").await;
    let reply = ada.ok("invite.create", json!({ "roomId": room, "maxUses": 1 })).await;
    let with = |invite: Value| json!({ "name": unique("Bob"), "password": "correct horse", "invite": invite });
    let server = &server;
    let register = |body: Value| async move { server.post("/v1/auth/register", None, &body).await };
    assert_eq!(register(with(Value::Null)).await.refused(), (403, "forbidden"));
    assert_eq!(register(with(json!("AAAAAAAA"))).await.refused(), (403, "forbidden"));
    let answer = register(with(reply["invite"]["inviteId"].clone())).await;
    assert_eq!(answer.status, 201);
    // It opened registration, and did not join the room.
    let token = answer.body["token"].as_str();
    assert_eq!(items(server.post("/v1/rpc/room.list", token, &json!({})).await.ok()).len(), 0);
    let joined = server.post("/v1/rpc/invite.join", token, &json!({ "inviteId": reply["invite"]["inviteId"] })).await;
    assert_eq!(joined.status, 200);
}

#[tokio::test]
async fn logging_in_is_throttled() {
    let server = Server::with(&[("PARLOUR_RATES_AUTH_POINTS", "5")]).await;
    let mut refused = None;
    for _ in 0..7 {
        let answer = log_in(&server, "Ada", "wrong horse").await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
        assert_eq!(answer.status, 401);
    }
    let answer = refused.expect("a throttle");
    assert_eq!(answer.refused(), (429, "rate_limited"));
    let wait = answer.body["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 0 && wait <= 60_000, "{wait}");
    assert_eq!(answer.header("retry-after"), wait.div_ceil(1000).to_string());
}

#[tokio::test]
async fn accounts_can_be_looked_up_searched_and_changed() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let bob = server.user("Bob").await;
    let unknown = "00000000-0000-4000-8000-000000000001";
    let reply = client.ok("user.get", json!({ "userIds": [bob.id, unknown, ada.id] })).await;
    assert_eq!(items(&reply).len(), 2, "unknown ones are left out: {reply}");
    let reply = client.ok("user.search", json!({ "query": bob.name[..8].to_uppercase() })).await;
    assert_eq!(items(&reply)[0]["userId"], bob.id);
    let reply = client.ok("user.search", json!({ "query": ada.name })).await;
    assert_eq!(items(&reply).len(), 0, "oneself is not found: {reply}");

    let name = unique("Countess");
    let update = json!({ "name": name, "biography": "tea", "image": "https://example.org/a.png" });
    let reply = client.ok("user.update", update).await;
    assert_eq!((&reply["user"]["name"], &reply["user"]["biography"]), (&json!(name), &json!("tea")));
    assert_eq!(client.event("user.updated").await["data"]["user"], reply["user"]);
    let reply = client.ok("user.update", json!({ "biography": null })).await;
    assert!(reply["user"].get("biography").is_none());
    assert_eq!(reply["user"]["image"], "https://example.org/a.png");
    assert_eq!(client.refused("user.update", json!({ "name": bob.name })).await, "conflict");
    assert_eq!(client.refused("user.update", json!({})).await, "bad_request");
    assert_eq!(log_in(&server, &name, &ada.password).await.status, 200);
}

#[tokio::test]
async fn bl_117_a_socket_is_told_before_its_token_ends() {
    // The shortest lifetime of a session is a minute, which is also when the warning comes.
    let server = Server::with(&[("PARLOUR_SESSION_LIFETIME", "60s")]).await;
    let (user, mut client) = server.client("Ada").await;
    let expiring = client.event("session.expiring").await;
    let wait = expiring["data"]["inMs"].as_u64().unwrap();
    assert!(wait > 0 && wait <= 60_000, "{wait}");
    assert!(works(&server, &user.token).await);
}
