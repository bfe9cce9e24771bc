use super::*;

#[tokio::test]
async fn a_registered_user_logs_in_lists_sessions_and_logs_out() {
    let server = TestServer::start().await;
    let first = server.register("Ada Lovelace").await;
    let login = server.log_in("ada  LOVELACE", PASSWORD).await.expect(200);
    assert_eq!(login.json()["user"]["name"], "Ada Lovelace");
    let second = login.text_of("token");
    let listed = server.send(server.request(Method::GET, "/v1/auth/sessions").bearer_auth(&second)).await.expect(200);
    let sessions = listed.json()["items"].as_array().unwrap().clone();
    assert_eq!(sessions.len(), 2);
    let current: Vec<_> = sessions.iter().filter(|session| session["isCurrent"] == true).collect();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0]["sessionId"], login.json()["sessionId"]);
    assert_eq!(current[0]["address"], "127.0.0.1");
    server.post_as(&second, "/v1/auth/logout", json!({})).await.expect(204);
    assert!(!server.accepts(&second).await);
    assert!(server.accepts(&first).await);
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_password_an_unknown_name_and_a_disabled_account_look_alike() {
    let server = TestServer::start().await;
    server.register("ada").await;
    let token = server.register("bob").await;
    let (db, disable) = (&server.state.db, crate::accounts::AccountAction::Disable);
    crate::accounts::act_on_account(db, "BOB", disable).await.unwrap();
    let answers = [
        server.log_in("ada", "wrong wrong wrong").await,
        server.log_in("nobody", PASSWORD).await,
        server.log_in("\u{200b}", PASSWORD).await,
        server.log_in("bob", PASSWORD).await,
    ];
    for answer in answers {
        let answer = answer.refused(401, "unauthenticated");
        assert_eq!(answer.json()["message"], "the name or the password is wrong");
    }
    assert!(until_refused(&server, &token).await);
    server.stop().await;
}

/// Whether a token stops to count. The protocol gives a second; a busy machine may take longer.
async fn until_refused(server: &TestServer, token: &str) -> bool {
    let begin = std::time::Instant::now();
    while begin.elapsed() < std::time::Duration::from_secs(5) {
        if !server.accepts(token).await {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test]
async fn bl_084_a_name_that_looks_like_anothers_is_taken() {
    let server = TestServer::start().await;
    server.register("Mark").await;
    for twin in ["mark", "M\u{430}rk", "Mark \u{200b}", "\u{202e}Mark"] {
        let answer = server.post("/v1/auth/register", json!({"name": twin, "password": PASSWORD})).await;
        assert_eq!(answer.refused(409, "conflict").json()["field"], "/name");
    }
    server.stop().await;
}

#[tokio::test]
async fn bl_085_a_name_that_cannot_be_seen_is_refused() {
    let server = TestServer::start().await;
    for name in ["\u{200b}\u{200c}", "\u{3164}", "\u{2800}\u{feff}"] {
        let answer = server.post("/v1/auth/register", json!({"name": name, "password": PASSWORD})).await;
        assert_eq!(answer.refused(400, "bad_request").json()["field"], "/name", "{name:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn bl_086_controls_and_line_breaks_are_not_part_of_a_name() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let name = "a\u{202e}d\na";
    let answer = server.post_as(&token, "/v1/rpc/user.update", json!({"name": name})).await.expect(200);
    assert_eq!(answer.json()["user"]["name"], "ad a");
    server.stop().await;
}

#[tokio::test]
async fn a_refreshed_session_stays_the_same_and_its_old_token_lives_a_little_longer() {
    let server = TestServer::start().await;
    let registered = server.post("/v1/auth/register", json!({"name": "ada", "password": PASSWORD})).await.expect(201);
    let old = registered.text_of("token");
    let refreshed = server.post_as(&old, "/v1/auth/refresh", json!({})).await.expect(200);
    assert_eq!(refreshed.text_of("sessionId"), registered.text_of("sessionId"));
    let new = refreshed.text_of("token");
    assert_ne!(old, new);
    assert!(server.accepts(&old).await && server.accepts(&new).await);
    let sql = "select count(*) from session_token where expires_at <= $1";
    let soon = parlour_protocol::Timestamp::now().plus_millis(60_000);
    let (ending,): (i64,) = server.state.db.read(sql).bind(soon).one().await.unwrap();
    assert_eq!(ending, 1, "the old token ends within a minute");
    server.post_as(&old, "/v1/auth/refresh", json!({})).await.expect(200);
    server.stop().await;
}

#[tokio::test]
async fn a_changed_password_ends_all_other_sessions() {
    let server = TestServer::start().await;
    let other = server.register("ada").await;
    let own = server.log_in("ada", PASSWORD).await.text_of("token");
    let change = |password: &str| json!({"password": password, "newPassword": "a new long password"});
    server.post_as(&own, "/v1/auth/password", change("wrong")).await.refused(401, "unauthenticated");
    assert!(server.accepts(&other).await);
    server.post_as(&own, "/v1/auth/password", change(PASSWORD)).await.expect(204);
    assert!(server.accepts(&own).await);
    assert!(!server.accepts(&other).await);
    server.log_in("ada", PASSWORD).await.refused(401, "unauthenticated");
    server.log_in("ada", "a new long password").await.expect(200);
    server.stop().await;
}

#[tokio::test]
async fn sessions_are_revoked_by_id_or_all_others_and_never_those_of_somebody_else() {
    let server = TestServer::start().await;
    let ada = server.register("ada").await;
    let second = server.log_in("ada", PASSWORD).await;
    let third = server.log_in("ada", PASSWORD).await.text_of("token");
    let bob = server.post("/v1/auth/register", json!({"name": "bob", "password": PASSWORD})).await;
    let revoke = |data: Value| server.post_as(&ada, "/v1/rpc/session.revoke", data);
    revoke(json!({"sessionId": bob.text_of("sessionId")})).await.refused(404, "not_found");
    revoke(json!({})).await.refused(400, "bad_request");
    revoke(json!({"sessionId": second.text_of("sessionId"), "others": true})).await.refused(400, "bad_request");
    revoke(json!({"sessionId": second.text_of("sessionId")})).await.expect(200);
    revoke(json!({"sessionId": second.text_of("sessionId")})).await.refused(404, "not_found");
    assert!(!server.accepts(&second.text_of("token")).await && server.accepts(&third).await);
    revoke(json!({"others": true})).await.expect(200);
    assert!(!server.accepts(&third).await && server.accepts(&ada).await && server.accepts(&bob.text_of("token")).await);
    let path = format!("/v1/auth/sessions/{}", bob.text_of("sessionId"));
    let end = |token: String| server.send(server.request(Method::DELETE, &path).bearer_auth(token));
    end(ada).await.refused(404, "not_found");
    end(bob.text_of("token")).await.expect(204);
    server.stop().await;
}

#[tokio::test]
async fn the_first_account_is_the_operators_however_many_register_at_once() {
    let server = TestServer::with(&[("rates.auth.points", "1000"), ("registration", "closed")]).await;
    let attempts = (0..8).map(|number| {
        server.post("/v1/auth/register", json!({"name": format!("user {number}"), "password": PASSWORD}))
    });
    let mut outcomes: Vec<u16> =
        futures_util::future::join_all(attempts).await.iter().map(|answer| answer.status.as_u16()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [201, 403, 403, 403, 403, 403, 403, 403]);
    let sql = "select count(*) from account where is_operator";
    let (operators,): (i64,) = server.state.db.read(sql).one().await.unwrap();
    assert_eq!(operators, 1);
    server.stop().await;
}

#[tokio::test]
async fn in_mode_invite_a_usable_invite_opens_registration_and_joins_nothing() {
    let server = TestServer::with(&[("rates.auth.points", "1000"), ("registration", "invite")]).await;
    let operator =
        server.post("/v1/auth/register", json!({"name": "ada", "password": PASSWORD})).await.expect(201).json();
    let register = |name: &str, invite: Value| {
        server.post("/v1/auth/register", json!({"name": name, "password": PASSWORD, "invite": invite}))
    };
    register("bob", Value::Null).await.refused(403, "forbidden");
    register("bob", json!("ABCDEFGH")).await.refused(403, "forbidden");
    let owner: parlour_protocol::UserId = operator["user"]["userId"].as_str().unwrap().parse().unwrap();
    let room = parlour_protocol::RoomId::new();
    let mut tx = server.state.db.begin().await.unwrap();
    let sql = "insert into room (room_id, type, name, topic, image, user_id, is_read_only, is_invite_paused, \
               allowed_mime_categories, created_at, updated_at) \
               values ($1, 'Room', 'r', '', '', $2, false, false, '[]', 0, 0)";
    tx.query(sql).bind(room).bind(owner).execute().await.unwrap();
    for (invite, expires_at, max_uses) in
        [("ABCDEFGH", None, 0_u64), ("EXPIRED1", Some(1_u64), 0), ("USEDUP11", None, 1)]
    {
        let sql = "insert into invite (invite_id, room_id, user_id, expires_at, max_uses, uses, created_at) \
                   values ($1, $2, $3, $4, $5, 1, 0)";
        let by = parlour_protocol::UserId::new();
        tx.query(sql).bind(invite).bind(room).bind(by).bind(expires_at).bind(max_uses).execute().await.unwrap();
    }
    tx.commit().await.unwrap();
    register("bob", json!("EXPIRED1")).await.refused(403, "forbidden");
    register("bob", json!("USEDUP11")).await.refused(403, "forbidden");
    register("bob", json!("ABCDEFGH")).await.expect(201);
    let (members,): (i64,) = server.state.db.read("select count(*) from member").one().await.unwrap();
    assert_eq!(members, 0);
    server.stop().await;
}

#[tokio::test]
async fn the_cookie_counts_for_pages_of_this_server_alone() {
    let server = TestServer::start().await;
    let body = json!({"name": "ada", "password": PASSWORD, "cookie": true});
    let registered = server.post("/v1/auth/register", body).await.expect(201);
    assert!(registered.json().get("token").is_none());
    let set = registered.header("set-cookie").to_owned();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && set.contains("Path=/"), "{set}");
    assert!(!set.contains("Secure"), "plain http here");
    let cookie = registered.cookie();
    let path = "/v1/rpc/session.list";
    server.post_with_cookie(&cookie, path, json!({})).await.expect(200);
    let with = |origin: Option<&str>, kind: Option<&str>| {
        let mut request = server.request(Method::POST, path).header("cookie", &cookie);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        server.send(request.body("{}"))
    };
    let own = format!("http://{}", server.address);
    with(None, Some("application/json")).await.refused(403, "forbidden");
    with(Some("http://evil.example"), Some("application/json")).await.refused(403, "forbidden");
    with(Some("http://evil.example"), Some("text/plain")).await.refused(403, "forbidden");
    with(Some(&own), Some("text/plain")).await.refused(415, "bad_request");
    with(Some(&own), None).await.refused(415, "bad_request");
    let refreshed = server.post_with_cookie(&cookie, "/v1/auth/refresh", json!({})).await.expect(200);
    assert!(refreshed.json().get("token").is_none() && refreshed.cookie() != cookie);
    let left = server.post_with_cookie(&refreshed.cookie(), "/v1/auth/logout", json!({})).await.expect(204);
    assert!(left.header("set-cookie").contains("Max-Age=0"));
    server.post_with_cookie(&cookie, path, json!({})).await.refused(401, "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn behind_a_trusted_tls_proxy_the_cookie_is_secure_and_the_address_the_clients() {
    let server = TestServer::with(&[("rates.auth.points", "1000"), ("trusted_proxies", "127.0.0.1")]).await;
    let request = server
        .request(Method::POST, "/v1/auth/register")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-forwarded-proto", "https")
        .json(&json!({"name": "ada", "password": PASSWORD, "cookie": true}));
    let registered = server.send(request).await.expect(201);
    assert!(registered.header("set-cookie").contains("Secure"));
    let (address,): (String,) = server.state.db.read("select address from session").one().await.unwrap();
    assert_eq!(address, "203.0.113.9");
    server.stop().await;
}

#[tokio::test]
async fn an_account_is_described_changed_and_found_by_the_start_of_its_name() {
    let server = TestServer::start().await;
    let ada = server.register("Ada").await;
    for name in ["Bert_1", "bertA", "bert%", "Alice"] {
        server.register(name).await;
    }
    let change = json!({"biography": "counts", "image": "https://example.org/a.png"});
    let updated = server.post_as(&ada, "/v1/rpc/user.update", change).await.expect(200).json()["user"].clone();
    assert_eq!(updated["biography"], "counts");
    server.post_as(&ada, "/v1/rpc/user.update", json!({})).await.refused(400, "bad_request");
    server.post_as(&ada, "/v1/rpc/user.update", json!({"name": "ALICE"})).await.refused(409, "conflict");
    let same = server.post_as(&ada, "/v1/rpc/user.update", json!({"name": "ADA"})).await.expect(200);
    assert_eq!(same.json()["user"]["name"], "ADA", "one's own name is no obstacle");
    let cleared = server.post_as(&ada, "/v1/rpc/user.update", json!({"biography": null})).await.expect(200);
    assert!(cleared.json()["user"].get("biography").is_none());
    let search = |data: Value| server.post_as(&ada, "/v1/rpc/user.search", data);
    let names = |answer: Answer| -> Vec<String> {
        let items = answer.json()["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|user| user["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(search(json!({"query": "a"})).await), ["Alice"], "without oneself");
    assert_eq!(names(search(json!({"query": "bert_"})).await), ["Bert_1"]);
    assert_eq!(names(search(json!({"query": "BERT%"})).await), ["bert%"]);
    let page = search(json!({"query": "bert", "limit": 2})).await.expect(200);
    assert_eq!(page.json()["hasMore"], true);
    let cursor = page.text_of("nextCursor");
    let first = names(page);
    let rest = names(search(json!({"query": "bert", "limit": 2, "cursor": cursor})).await);
    let all: std::collections::BTreeSet<String> = first.into_iter().chain(rest).collect();
    assert_eq!(all.len(), 3);
    search(json!({"query": "al", "cursor": cursor})).await.refused(400, "bad_request");
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_account_keeps_its_place_and_frees_its_name() {
    let server = TestServer::start().await;
    let ada = server.register("ada").await;
    let registered = server.post("/v1/auth/register", json!({"name": "bob", "password": PASSWORD})).await;
    let user_id = registered.json()["user"]["userId"].clone();
    let delete = crate::accounts::AccountAction::Delete;
    crate::accounts::act_on_account(&server.state.db, "bob", delete).await.unwrap();
    assert!(until_refused(&server, &registered.text_of("token")).await);
    let got = server.post_as(&ada, "/v1/rpc/user.get", json!({"userIds": [user_id]})).await.expect(200);
    assert_eq!(got.json()["items"][0]["name"], "deleted user");
    assert_eq!(got.json()["items"][0]["isDeleted"], true);
    server.log_in("bob", PASSWORD).await.refused(401, "unauthenticated");
    server.log_in("deleted user", PASSWORD).await.refused(401, "unauthenticated");
    server.register("bob").await;
    server.stop().await;
}

#[tokio::test]
async fn a_reset_password_is_the_only_one_that_works() {
    let server = TestServer::start().await;
    let token = server.register("ada").await;
    let reset = crate::accounts::AccountAction::ResetPassword;
    let password = crate::accounts::act_on_account(&server.state.db, "Ada", reset).await.unwrap().unwrap();
    assert!(until_refused(&server, &token).await);
    server.log_in("ada", PASSWORD).await.refused(401, "unauthenticated");
    server.log_in("ada", password.expose()).await.expect(200);
    let nobody = crate::accounts::act_on_account(&server.state.db, "nobody", reset).await;
    assert!(nobody.is_err());
    server.stop().await;
}
