//! Tokens of an identity provider, where one is configured.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::harness::{Client, Server, unique};

pub(crate) const SECRET: &str = "a secret of at least thirty-two bytes";

pub(crate) async fn server() -> Server {
    Server::with(&[
        ("PARLOUR_JWT_ISSUER", "https://id.example.org"),
        ("PARLOUR_JWT_AUDIENCE", "parlour"),
        ("PARLOUR_JWT_ALGORITHMS", "HS256"),
        ("PARLOUR_JWT_SECRET", SECRET),
    ])
    .await
}

pub(crate) fn seconds_from_now(seconds: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + seconds
}

/// Good claims with some changed; null removes one.
#[expect(clippy::needless_pass_by_value, reason = "it is written in place")]
pub(crate) fn claims(subject: &str, changes: Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example.org", "aud": "parlour", "sub": subject, "name": "Ada", "exp": seconds_from_now(600)
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

pub(crate) fn sign(claims: &Value, secret: &str) -> String {
    encode(&Header::default(), claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_providers_token_names_an_account_of_its_own() {
    let server = server().await;
    let token = sign(&claims("ada", json!({ "name": unique("Ada"), "sid": "s1" })), SECRET);
    let mut client = Client::open(&server).await;
    let hello = client.ok("session.hello", json!({ "token": token })).await;
    assert!(hello["user"]["name"].as_str().unwrap().starts_with("Ada"));
    let room = client.room("Tea").await;
    // The same subject is the same account, by HTTP too; another subject is another one.
    let again = sign(&claims("ada", json!({ "sid": "s2" })), SECRET);
    assert_eq!(server.post("/v1/rpc/room.get", Some(&again), &json!({ "roomId": room })).await.status, 200);
    let other = sign(&claims("eve", json!({})), SECRET);
    let answer = server.post("/v1/rpc/room.get", Some(&other), &json!({ "roomId": room })).await;
    assert_eq!(answer.refused(), (403, "forbidden"));
}

#[tokio::test]
async fn a_taken_name_gets_a_number() {
    let server = server().await;
    let local = server.user("Ada").await;
    let token = sign(&claims("ada", json!({ "name": local.name })), SECRET);
    let mut client = Client::open(&server).await;
    let hello = client.ok("session.hello", json!({ "token": token })).await;
    assert_ne!(hello["user"]["userId"], local.id);
    let name = hello["user"]["name"].as_str().unwrap();
    assert!(name != local.name && name.starts_with(&local.name), "{name}");
}

#[tokio::test]
async fn a_token_that_is_not_for_us_is_none() {
    let server = server().await;
    let unsigned = {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", part(&json!({ "alg": "none", "typ": "JWT" })), part(&claims("ada", json!({}))))
    };
    let mut bad = vec![unsigned, sign(&claims("ada", json!({})), "another secret of thirty-two bytes!")];
    for changes in [
        json!({ "exp": seconds_from_now(-120) }),
        json!({ "exp": null }),
        json!({ "nbf": seconds_from_now(300) }),
        json!({ "iss": "https://evil.example.org" }),
        json!({ "iss": null }),
        json!({ "aud": "others" }),
        json!({ "aud": null }),
        json!({ "sub": null }),
    ] {
        bad.push(sign(&claims("ada", changes), SECRET));
    }
    for token in bad {
        let answer = server.post("/v1/rpc/room.list", Some(&token), &json!({})).await;
        assert_eq!(answer.refused(), (401, "unauthenticated"), "{token}");
    }
    // A minute of leeway for clocks.
    let late = sign(&claims("ada", json!({ "exp": seconds_from_now(-30) })), SECRET);
    assert_eq!(server.post("/v1/rpc/room.list", Some(&late), &json!({})).await.status, 200);
}

#[tokio::test]
async fn passwords_are_not_for_a_providers_accounts() {
    let server = server().await;
    let token = sign(&claims("ada", json!({})), SECRET);
    let body = json!({ "password": "correct horse", "newPassword": "battery staple" });
    for path in ["refresh", "password"] {
        let answer = server.post(&format!("/v1/auth/{path}"), Some(&token), &body).await;
        assert_eq!(answer.refused(), (400, "unsupported"), "{path}");
    }
    assert_eq!(server.get("/v1/auth/sessions", Some(&token)).await.status, 200);
    assert_eq!(server.post("/v1/auth/logout", Some(&token), &json!({})).await.status, 204);
    assert_eq!(server.get("/v1/auth/sessions", Some(&token)).await.status, 401);
}
