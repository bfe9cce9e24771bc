use super::*;

#[tokio::test]
async fn health_readiness_metrics_and_the_protocols_description_answer() {
    let server = TestServer::start().await;
    assert_eq!(server.get("/healthz").await.expect(200).json(), json!({"status": "ok"}));
    let ready = server.get("/readyz").await.expect(200).json();
    assert_eq!(ready, json!({"status": "ready", "backends": {"store": "ok", "bus": "ok"}}));
    let metrics = server.get("/metrics").await.expect(200);
    assert!(metrics.text.contains("parlour_connections") && metrics.text.contains("parlour_http_answers"));
    let description = server.get("/v1/asyncapi.json").await.expect(200);
    assert!(description.json()["asyncapi"].is_string());
    server.stop().await;
}

#[tokio::test]
async fn metrics_are_for_this_machine_the_operator_and_the_metrics_token() {
    let settings = [("rates.auth.points", "100"), ("metrics_token", "metrics-metrics-metrics")];
    let server = TestServer::with(&settings).await;
    let (operator, other) = (server.register("ada").await, server.register("bob").await);
    let ask = |token: Option<&str>| {
        let request = server.request(Method::GET, "/metrics").header("x-forwarded-for", "203.0.113.9");
        server.send(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
    };
    ask(None).await.refused(403, "forbidden");
    ask(Some(&other)).await.refused(403, "forbidden");
    ask(Some(&operator)).await.expect(200);
    ask(Some("metrics-metrics-metrics")).await.expect(200);
    ask(Some("metrics-metrics-metricz")).await.refused(403, "forbidden");
    server.stop().await;
}

#[tokio::test]
async fn unknown_addresses_and_methods_get_json_errors_with_security_headers() {
    let server = TestServer::start().await;
    for path in ["/no/such", "/v1/no", "/invite/", "/invite/a/b", "/../etc/passwd", "/assets/../../Cargo.toml"] {
        let answer = server.get(path).await.refused(404, "not_found");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.header("content-security-policy").contains("default-src 'none'"));
    }
    server.get("/v1/auth/login").await.refused(405, "bad_request");
    server.post("/", json!({})).await.refused(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn the_page_is_served_at_the_root_and_at_invites_under_a_strict_policy() {
    let server = TestServer::start().await;
    for path in ["/", "/invite/ABCDEFGH"] {
        let page = server.get(path).await.expect(200);
        assert!(page.header("content-type").starts_with("text/html"));
        assert!(page.text.to_lowercase().contains("<!doctype html>"));
        let policy = page.header("content-security-policy");
        assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), "DENY");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_file_of_the_page_that_is_known_is_not_sent_again() {
    let server = TestServer::start().await;
    let page = server.get("/").await.expect(200);
    let etag = page.header("etag").to_owned();
    if !etag.is_empty() {
        let request = server.request(Method::GET, "/").header("if-none-match", &etag);
        assert_eq!(server.send(request).await.expect(304).text, "");
        let asset = page.text.split('"').find(|part| part.starts_with("/assets/")).expect("an asset").to_owned();
        assert!(server.get(&asset).await.expect(200).header("cache-control").contains("immutable"));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_plain_request_to_the_socket_is_told_so() {
    let server = TestServer::start().await;
    server.get("/v1/ws").await.refused(400, "bad_request");
    server.stop().await;
}

#[tokio::test]
async fn a_draining_server_takes_nothing_new_and_ends_in_time() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    assert!(server.accepts(&token).await);
    let (address, client) = (server.address.clone(), server.client.clone());
    let begin = std::time::Instant::now();
    server.stop().await;
    assert!(begin.elapsed() < std::time::Duration::from_secs(10));
    assert!(client.get(format!("http://{address}/healthz")).send().await.is_err());
}
