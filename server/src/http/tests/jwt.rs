use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use parlour_protocol::Timestamp;

use super::*;

const SECRET: &str = "a secret that both sides know well";
const RSA: &[u8] = include_bytes!("keys/rsa.pem");
const EC: &[u8] = include_bytes!("keys/ec.pem");
const OTHER_EC: &[u8] = include_bytes!("keys/other.pem");
const RSA_PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/tests/keys/rsa.pub.pem");
const EC_PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/tests/keys/ec.pub.pem");

async fn server(keys: &[(&str, &str)]) -> TestServer {
    let mut settings = vec![("jwt.issuer", "https://id.example"), ("jwt.audience", "parlour,other")];
    settings.extend([("rates.auth.points", "1000"), ("registration", "closed")]);
    settings.extend(keys);
    TestServer::with(&settings).await
}

fn in_seconds(seconds: i64) -> i64 {
    Timestamp::now().as_millis() / 1000 + seconds
}

/// Good claims with `changes` laid over them; null takes one away.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example", "aud": "parlour", "sub": "ada-1", "sid": "one", "name": "Ada",
        "exp": in_seconds(600)
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn shared(changes: impl Into<Value>) -> String {
    let key = EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
    encode(&Header::new(Algorithm::HS256), &claims(&changes.into()), &key).unwrap()
}

fn signed(algorithm: Algorithm, key: &EncodingKey, id: Option<&str>) -> String {
    let header = Header { kid: id.map(str::to_owned), ..Header::new(algorithm) };
    encode(&header, &claims(&json!({})), key).unwrap()
}

#[tokio::test]
async fn a_providers_token_makes_an_account_of_its_own_at_first_use() {
    let server = server(&[("jwt.secret", SECRET)]).await;
    let operator = server.register("Ada").await;
    let token = shared(json!({"picture": "https://id.example/ada.png"}));
    let sessions = server.post_as(&token, "/v1/rpc/session.list", json!({})).await.expect(200).json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1);
    let found = server.post_as(&operator, "/v1/rpc/user.search", json!({"query": "ada"})).await.expect(200).json();
    assert_eq!(found["items"][0]["name"], "Ada 2", "a taken name gets a number");
    assert_eq!(found["items"][0]["image"], "https://id.example/ada.png");
    let again = shared(json!({"sid": "two", "name": "Renamed"}));
    let sessions = server.post_as(&again, "/v1/rpc/session.list", json!({})).await.expect(200).json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2, "the same account");
    let others = shared(json!({"sub": "bob", "name": null}));
    server.post_as(&others, "/v1/rpc/session.list", json!({})).await.expect(200);
    server.log_in("Ada 2", PASSWORD).await.refused(401, "unauthenticated");
    server.stop().await;
}

#[tokio::test]
async fn every_claim_is_checked_with_a_minute_of_leeway() {
    let server = server(&[("jwt.secret", SECRET)]).await;
    for good in
        [json!({}), json!({"exp": in_seconds(-30)}), json!({"nbf": in_seconds(30)}), json!({"aud": ["x", "other"]})]
    {
        assert!(server.accepts(&shared(good.clone())).await, "{good}");
    }
    let bad = [
        json!({"exp": in_seconds(-90)}),
        json!({"exp": null}),
        json!({"nbf": in_seconds(90)}),
        json!({"iss": "https://evil.example"}),
        json!({"iss": null}),
        json!({"aud": "elsewhere"}),
        json!({"aud": null}),
        json!({"sub": null}),
        json!({"sub": ""}),
    ];
    for bad in bad {
        assert!(!server.accepts(&shared(bad.clone())).await, "{bad}");
    }
    let mut altered = shared(json!({}));
    altered.replace_range(altered.len() - 4.., "AAAA");
    assert!(!server.accepts(&altered).await);
    // {"alg":"none","typ":"JWT"}
    let body = shared(json!({})).split('.').nth(1).unwrap().to_owned();
    assert!(!server.accepts(&format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{body}.")).await);
    server.stop().await;
}

#[tokio::test]
async fn a_public_key_is_never_taken_for_a_shared_secret() {
    let server = server(&[("jwt.public_key_file", RSA_PUBLIC)]).await;
    let rsa = EncodingKey::from_rsa_pem(RSA).unwrap();
    assert!(server.accepts(&signed(Algorithm::RS256, &rsa, None)).await);
    assert!(!server.accepts(&signed(Algorithm::RS512, &rsa, None)).await);
    let public = EncodingKey::from_secret(&fs::read(RSA_PUBLIC).unwrap()).unwrap();
    assert!(!server.accepts(&signed(Algorithm::HS256, &public, None)).await);
    server.stop().await;
}

#[tokio::test]
async fn an_ecdsa_key_verifies_what_it_signed_and_nothing_else() {
    let server = server(&[("jwt.public_key_file", EC_PUBLIC), ("jwt.algorithms", "ES256")]).await;
    assert!(server.accepts(&signed(Algorithm::ES256, &EncodingKey::from_ec_pem(EC).unwrap(), None)).await);
    assert!(!server.accepts(&signed(Algorithm::ES256, &EncodingKey::from_ec_pem(OTHER_EC).unwrap(), None)).await);
    server.stop().await;
}

fn key_set(keys: &[(&EncodingKey, Algorithm, &str)]) -> Value {
    let keys = keys.iter().map(|(key, algorithm, id)| {
        let mut jwk = Jwk::from_encoding_key(key, *algorithm).unwrap();
        jwk.common.key_id = Some((*id).to_owned());
        jwk
    });
    json!({"keys": keys.collect::<Vec<_>>()})
}

#[tokio::test]
async fn keys_of_a_set_in_a_file_are_told_apart_by_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let file: &Path = &folder.path().join("jwks.json");
    let (rsa, ec) = (EncodingKey::from_rsa_pem(RSA).unwrap(), EncodingKey::from_ec_pem(EC).unwrap());
    let set = key_set(&[(&rsa, Algorithm::RS256, "r"), (&ec, Algorithm::ES256, "e")]);
    fs::write(file, set.to_string()).unwrap();
    let server = server(&[("jwt.jwks", file.to_str().unwrap())]).await;
    assert!(server.accepts(&signed(Algorithm::RS256, &rsa, Some("r"))).await);
    assert!(server.accepts(&signed(Algorithm::ES256, &ec, Some("e"))).await);
    assert!(server.accepts(&signed(Algorithm::ES256, &ec, None)).await);
    assert!(!server.accepts(&signed(Algorithm::ES256, &ec, Some("r"))).await);
    server.stop().await;
}

#[tokio::test]
async fn a_flood_of_unknown_keys_fetches_a_set_once() {
    let ec = EncodingKey::from_ec_pem(EC).unwrap();
    let set = key_set(&[(&ec, Algorithm::ES256, "e")]).to_string();
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let provider = axum::Router::new().route(
        "/keys",
        axum::routing::get(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(set.clone())
        }),
    );
    let stop = CancellationToken::new();
    let listener = crate::http::serve::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let serving =
        crate::http::serve::serve(listener, provider, crate::http::serve::ServeLimits::default(), stop.clone());
    let task = tokio::spawn(serving);
    let server = server(&[("jwt.jwks", &url)]).await;
    assert!(server.accepts(&signed(Algorithm::ES256, &ec, Some("e"))).await);
    for number in 0..10 {
        assert!(!server.accepts(&signed(Algorithm::ES256, &ec, Some(&format!("unknown {number}")))).await);
    }
    assert_eq!(fetches.load(Ordering::Relaxed), 1);
    server.stop().await;
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test]
async fn such_a_caller_logs_out_and_sees_sessions_but_has_no_password_here() {
    let server = server(&[("jwt.secret", SECRET)]).await;
    let token = shared(json!({}));
    server.post_as(&token, "/v1/auth/refresh", json!({})).await.refused(400, "unsupported");
    let change = json!({"password": PASSWORD, "newPassword": PASSWORD});
    server.post_as(&token, "/v1/auth/password", change).await.refused(400, "unsupported");
    let request = server.request(Method::GET, "/v1/auth/sessions").bearer_auth(&token);
    assert_eq!(server.send(request).await.expect(200).json()["items"][0]["isCurrent"], true);
    server.post_as(&token, "/v1/auth/logout", json!({})).await.expect(204);
    assert!(!server.accepts(&token).await, "a session that ended here stays so");
    assert!(!server.accepts(&shared(json!({"exp": in_seconds(900)}))).await, "also with a new token");
    assert!(server.accepts(&shared(json!({"sid": "two"}))).await);
    server.stop().await;
}
