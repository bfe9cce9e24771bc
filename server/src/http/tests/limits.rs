use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::*;

#[tokio::test]
async fn log_in_is_throttled_by_name_and_by_address() {
    let proxied = [("rates.auth.points", "3"), ("trusted_proxies", "127.0.0.1")];
    let server = TestServer::with(&proxied).await;
    let attempt = |name: &str, address: &str| {
        let request = server.request(Method::POST, "/v1/auth/login").header("x-forwarded-for", address);
        server.send(request.json(&json!({"name": name, "password": "wrong wrong"})))
    };
    for number in 0..3 {
        attempt("ada", &format!("203.0.113.{number}")).await.refused(401, "unauthenticated");
    }
    let refused = attempt("\u{410}da", "203.0.113.99").await.refused(429, "rate_limited");
    let wait = refused.json()["retryAfterMs"].as_u64().unwrap();
    assert!((1..=60_000).contains(&wait));
    assert_eq!(refused.header("retry-after"), wait.div_ceil(1000).to_string());
    for number in 0..3 {
        attempt(&format!("user {number}"), "203.0.113.50").await.refused(401, "unauthenticated");
    }
    attempt("user 9", "203.0.113.50").await.refused(429, "rate_limited");
    server.stop().await;
}

#[tokio::test]
async fn commands_are_charged_to_the_user() {
    let server = TestServer::with(&[("rates.auth.points", "100"), ("rates.standard.points", "5")]).await;
    let (ada, bob) = (server.register("ada").await, server.register("bob").await);
    for _ in 0..5 {
        server.post_as(&ada, "/v1/rpc/session.list", json!({})).await.expect(200);
    }
    server.post_as(&ada, "/v1/rpc/session.list", json!({})).await.refused(429, "rate_limited");
    server.post_as(&bob, "/v1/rpc/session.list", json!({})).await.expect(200);
    server.stop().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_announced_or_not() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let long = "x".repeat(3_000_000);
    let post = |body: reqwest::Body| {
        let request = server.request(Method::POST, "/v1/rpc/user.get").bearer_auth(&token);
        server.send(request.header("content-type", "application/json").body(body))
    };
    post(long.into()).await.refused(413, "payload_too_large");
    server.stop().await;
}

#[tokio::test]
async fn bad_bodies_are_told_what_is_wrong_with_them() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let post = |kind: &'static str, body: &'static str| {
        let request = server.request(Method::POST, "/v1/rpc/user.get").bearer_auth(&token);
        server.send(request.header("content-type", kind).body(body))
    };
    post("application/json", "{").await.refused(400, "bad_request");
    post("application/json; charset=utf-8", "[]").await.refused(400, "bad_request");
    post("text/plain", "{}").await.refused(415, "bad_request");
    post("application/x-www-form-urlencoded", "a=b").await.refused(415, "bad_request");
    let answer = post("application/json", r#"{"userIds": ["x"]}"#).await.refused(400, "bad_request");
    assert_eq!(answer.json()["field"], "/userIds/0");
    let answer = post("application/json", "{}").await.refused(400, "bad_request");
    assert_eq!(answer.json()["field"], "/userIds");
    let short = json!({"name": "bob", "password": "short"});
    let answer = server.post("/v1/auth/register", short).await.refused(400, "bad_request");
    assert_eq!(answer.json()["field"], "/password");
    server.stop().await;
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_done() {
    let server = TestServer::start().await;
    server.post("/v1/rpc/session.list", json!({})).await.refused(401, "unauthenticated");
    for token in ["", "x", "a.b.c", "\u{e4}"] {
        let request = server.request(Method::POST, "/v1/rpc/session.list").header(
            "authorization",
            reqwest::header::HeaderValue::from_bytes(format!("Bearer {token}").as_bytes()).unwrap(),
        );
        server.send(request.json(&json!({}))).await.refused(401, "unauthenticated");
    }
    server.post("/v1/auth/refresh", json!({})).await.refused(401, "unauthenticated");
    server.post("/v1/auth/logout", json!({})).await.refused(401, "unauthenticated");
    server.get("/v1/auth/sessions").await.refused(401, "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn unknown_and_socket_only_operations_are_unsupported_over_http() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    for op in ["no.such", "session.hello", "session.ping", "session.refresh", "room.subscribe", "room.unsubscribe"] {
        server.post_as(&token, &format!("/v1/rpc/{op}"), json!({})).await.refused(400, "unsupported");
    }
    server.post_as(&token, "/v1/rpc/%FF", json!({})).await.refused(400, "bad_request");
    server.stop().await;
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_writing_and_keeps_the_connection() {
    let server = TestServer::start().await;
    let mut stream = BufReader::new(TcpStream::connect(&server.address).await.unwrap());
    for (length, status) in [(100, 401), (3_000_000, 401), (100, 401)] {
        let head = format!(
            "POST /v1/rpc/user.get HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        // The server can answer from the head alone; this lets it.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        for piece in vec![b'x'; length].chunks(1000) {
            stream.write_all(piece).await.unwrap();
        }
        let (mut answer, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "closed after {answer}");
            answer += &line;
        }
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        let body = answer.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; body.parse().unwrap()]).await.unwrap();
    }
    server.stop().await;
}
