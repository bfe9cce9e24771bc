//! A call of a webhook: the body that Discord's callers send, posted as a message.

use parlour_protocol::{
    ErrorCode, List, Name, Nonce, ProtocolError, RoomId, RowKey, Text, Timestamp, WebhookId, codec::decode_body,
    object::MessageAppUser, operation::Format,
};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{
    embed::{Embed, render},
    not_found,
};
use crate::{
    accounts::tokens,
    app::AppState,
    directory::webhooks::{self, StoredWebhook},
    error::store_error,
    messages::post::{self, Author, Content, Draft},
    rates::Payer,
    store::Origin,
};

/// Characters of a token.
const TOKEN: usize = 43;

/// What a caller sends; unknown keys are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct CallBody {
    content: Option<Text<0, 2000>>,
    username: Option<Name<1, 100>>,
    avatar_url: Option<Text<0, 2048>>,
    embeds: Option<List<Embed, 0, 10>>,
}

/// Where the message is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Posted {
    room_id: RoomId,
    row_key: RowKey,
}

/// Posts what a caller sent.
///
/// # Errors
/// `bad_request`, `rate_limited`, `unavailable`; `not_found` alike for what is unknown, wrong or inactive.
pub(crate) async fn call(
    state: &AppState,
    (webhook_id, token): (&str, &str),
    idempotency_key: Option<&str>,
    body: &str,
) -> Result<Posted, ProtocolError> {
    let webhook_id: WebhookId =
        webhook_id.parse().map_err(|_| ProtocolError::bad_request("the address has no id of a webhook"))?;
    let is_token =
        token.len() == TOKEN && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_token {
        return Err(ProtocolError::bad_request("the address has no token of a webhook"));
    }
    state.rates.webhook.charge(Payer::Webhook(webhook_id), 1, Timestamp::now())?;
    let webhook = find(state, webhook_id, token).await?;
    let nonce = idempotency_key.map(Nonce::new).transpose();
    let nonce = nonce.map_err(|error| ProtocolError::bad_request(format!("the Idempotency-Key {error}")))?;
    let (source, app_user) = read(&webhook, decode_body(body)?)?;
    let room_id = webhook.webhook.room_id;
    let content = Content::Body { source, format: Format::Markdown };
    let draft = Draft { nonce, ..Draft::new(room_id, Origin::Webhook, Author::App(app_user), content) };
    match post::post(state, draft).await {
        Ok(message) => Ok(Posted { room_id, row_key: message.row_key }),
        // The room has gone, and its webhooks with it.
        Err(error) if error.code == ErrorCode::Forbidden => Err(not_found()),
        Err(error) => Err(error),
    }
}

async fn find(state: &AppState, webhook_id: WebhookId, token: &str) -> Result<StoredWebhook, ProtocolError> {
    let hash = tokens::hash(token);
    let found = webhooks::find(&state.db, webhook_id).await.map_err(store_error)?;
    found
        .filter(|found| bool::from(found.token_hash.as_slice().ct_eq(&hash)) && found.webhook.is_active)
        .ok_or_else(not_found)
}

/// The Markdown that a call comes to, and the sender that it shows.
fn read(stored: &StoredWebhook, body: CallBody) -> Result<(String, MessageAppUser), ProtocolError> {
    let CallBody { content, username, avatar_url, embeds } = body;
    let embeds = embeds.map(List::into_vec).unwrap_or_default();
    let content = content.map(Text::into_string).filter(|content| !content.trim().is_empty());
    if content.is_none() && embeds.is_empty() {
        return Err(ProtocolError::bad_field("/content", "content or embeds are needed"));
    }
    let avatar = avatar_url.map(Text::into_string).filter(|address| !address.is_empty());
    if avatar.as_ref().is_some_and(|address| !is_https(address)) {
        return Err(ProtocolError::bad_field("/avatar_url", "must be an https address"));
    }
    let parts = content.into_iter().chain(embeds.iter().map(render)).filter(|part| !part.is_empty());
    let source = parts.collect::<Vec<_>>().join("\n\n");
    let shown = &stored.webhook.app_user;
    let app_user = MessageAppUser {
        id: shown.app_user_id,
        name: username.map_or_else(|| shown.name.clone(), Name::into_string),
        image: avatar.unwrap_or_else(|| shown.image.clone()),
    };
    Ok((source, app_user))
}

fn is_https(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|address| address.scheme() == "https" && address.has_host())
}

#[cfg(test)]
mod tests {
    use parlour_protocol::{
        AppUserId, UserId,
        object::{AppUser, Webhook},
    };
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::messages::body::{Body, Broadcasts};

    fn stored() -> StoredWebhook {
        let app_user = AppUser { app_user_id: AppUserId::new(), name: "Bot".to_owned(), image: String::new() };
        let webhook = Webhook {
            webhook_id: WebhookId::new(),
            room_id: RoomId::new(),
            creator_id: UserId::new(),
            name: "Bot".to_owned(),
            app_user,
            is_active: true,
            created_at: None,
            updated_at: None,
        };
        StoredWebhook { webhook, token_hash: Vec::new() }
    }

    fn read_json(body: &Value) -> Result<(String, MessageAppUser), ProtocolError> {
        read(&stored(), decode_body(&body.to_string())?)
    }

    fn html(body: &Value) -> String {
        Body::render(&read_json(body).unwrap().0, Format::Markdown, Broadcasts::Allowed).unwrap().html
    }

    #[test]
    fn an_embed_is_shown() {
        let embed = json!({
            "title": "Build *7*", "url": "https://ci.example/7", "description": "all **green**\nsecond", "color": 255,
            "author": { "name": "CI" }, "footer": { "text": "foot" }, "timestamp": "2026-03-01T12:00:00Z",
            "fields": [{ "name": "time", "value": "3 min", "inline": true }],
            "image": { "url": "https://ci.example/7.png" }, "unknown": [1],
        });
        let html = html(&json!({ "content": "hi", "embeds": [embed], "tts": false }));
        for part in [
            "<p>hi</p>",
            "<strong>green</strong>",
            "Build *7*",
            r#"href="https://ci.example/7""#,
            "CI",
            "foot",
            "time",
            "3 min",
            r#"href="https://ci.example/7.png""#,
            "second",
            "2026-03-01",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }

    #[test]
    fn limits_are_told_with_their_place() {
        for (body, field) in [
            (json!({}), "/content"),
            (json!({ "content": " " }), "/content"),
            (json!({ "content": "x".repeat(2001) }), "/content"),
            (json!({ "content": "x", "username": "" }), "/username"),
            (json!({ "content": "x", "avatar_url": "http://a.example/b" }), "/avatar_url"),
            (json!({ "content": "x", "avatar_url": "javascript:alert(1)" }), "/avatar_url"),
            (json!({ "embeds": [{ "title": "x".repeat(257) }] }), "/embeds/0/title"),
            (json!({ "embeds": [{ "color": 16_777_216 }] }), "/embeds/0/color"),
            (json!({ "embeds": [{ "fields": [{ "name": "", "value": "x" }] }] }), "/embeds/0/fields/0/name"),
        ] {
            assert_eq!(read_json(&body).unwrap_err().field.as_deref(), Some(field), "{body}");
        }
        let eleven: Vec<_> = (0..11).map(|_| json!({ "title": "x" })).collect();
        assert!(read_json(&json!({ "embeds": eleven })).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\\n<>&*`\\[\\]()é👍]{0,40}".prop_map(Value::from),
            Just(Value::from("https://a.example/<script>\"onload=x ")),
        ];
        let key = prop::sample::select(vec![
            "content",
            "username",
            "avatar_url",
            "embeds",
            "title",
            "description",
            "url",
            "color",
            "timestamp",
            "footer",
            "text",
            "author",
            "name",
            "fields",
            "value",
            "inline",
            "image",
            "thumbnail",
            "other",
        ]);
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_sent_is_refused_or_safe(body in any_json()) {
            if let Ok((source, _)) = read_json(&body)
                && let Ok(body) = Body::render(&source, Format::Markdown, Broadcasts::Allowed)
            {
                let lower = body.html.to_lowercase();
                prop_assert!(!lower.contains("<script") && !lower.contains("<img"), "{}", body.html);
            }
        }

        #[test]
        fn what_is_no_json_is_refused(text in ".{0,200}") {
            if serde_json::from_str::<Value>(&text).is_err() {
                prop_assert!(decode_body::<CallBody>(&text).is_err());
            }
        }
    }
}
