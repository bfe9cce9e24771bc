//! How push services know this server (RFC 8292): one key, made at the first start and kept in the database.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use base64::Engine;
use parlour_protocol::Timestamp;
use serde_json::json;
use url::Url;
use web_push_native::p256::{
    ecdsa::{Signature, SigningKey, signature::Signer},
    elliptic_curve::rand_core::OsRng,
};

use super::BASE64;
use crate::{
    config::PushConfig,
    store::db::{Db, DbError},
};

/// The row of `meta` that holds the key.
const NAME: &str = "vapid_private_key";
/// How long a token is valid, in ms; push services take up to 24 h.
const VALID_MS: i64 = 12 * 3_600_000;
/// How long before its end a token is not used any more, in ms.
const MARGIN_MS: i64 = 3_600_000;
/// Push services that tokens are remembered for.
const TOKENS: usize = 256;

/// The key, and who answers for it.
#[derive(Debug)]
pub(crate) struct Vapid {
    key: SigningKey,
    public_key: String,
    contact: String,
    tokens: Mutex<HashMap<String, (String, Timestamp)>>,
}

impl Vapid {
    /// Of a private key in base64url; none when it is none.
    pub(crate) fn new(private_key: &str, contact: &str) -> Option<Self> {
        let key = SigningKey::from_slice(&BASE64.decode(private_key.trim()).ok()?).ok()?;
        let public_key = BASE64.encode(key.verifying_key().to_encoded_point(false).as_bytes());
        Some(Self { key, public_key, contact: contact.to_owned(), tokens: Mutex::default() })
    }

    /// The operator's, else the one that was made at the first start.
    pub(crate) async fn load(db: &Db, config: &PushConfig) -> Result<Self, DbError> {
        let given = config.vapid_private_key.as_ref().map(|key| key.expose().to_owned());
        let kept = match given {
            Some(key) => key,
            None => kept(db).await?,
        };
        Self::new(&kept, &config.contact)
            .ok_or_else(|| DbError::Constraint("the key of web push in the database is none".into()))
    }

    /// The public key, base64url.
    pub(crate) fn public_key(&self) -> &str {
        &self.public_key
    }

    /// The header `Authorization` of a push to an address.
    pub(crate) fn authorization(&self, endpoint: &Url, now: Timestamp) -> String {
        // With its port, unless that is the usual one.
        let audience = endpoint.origin().ascii_serialization();
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, until)) = tokens.get(&audience)
            && now < *until
        {
            return token.clone();
        }
        if tokens.len() >= TOKENS {
            tokens.clear();
        }
        let expires_at = now.plus_millis(VALID_MS);
        let header = BASE64.encode(json!({ "typ": "JWT", "alg": "ES256" }).to_string());
        let claims = json!({ "aud": audience, "exp": expires_at.as_millis() / 1000, "sub": self.contact });
        let signed = format!("{header}.{}", BASE64.encode(claims.to_string()));
        let signature: Signature = self.key.sign(signed.as_bytes());
        let token = format!("vapid t={signed}.{}, k={}", BASE64.encode(signature.to_bytes()), self.public_key);
        tokens.insert(audience, (token.clone(), expires_at.plus_millis(-MARGIN_MS)));
        token
    }
}

/// The key of the database, made if there is none. Of nodes that start together one makes it.
async fn kept(db: &Db) -> Result<String, DbError> {
    let sql = "select value from meta where name = $1";
    if let Some((key,)) = db.read(sql).bind(NAME).optional::<(String,)>().await? {
        return Ok(key);
    }
    let made = BASE64.encode(SigningKey::random(&mut OsRng).to_bytes());
    let sql = "insert into meta (name, value) values ($1, $2) on conflict (name) do nothing";
    db.write(sql).bind(NAME).bind(&made).execute().await?;
    let (key,): (String,) = db.read("select value from meta where name = $1").bind(NAME).one().await?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
    use serde_json::Value;

    use super::*;
    use crate::store::testing::TestDb;

    fn config() -> PushConfig {
        PushConfig {
            contact: "mailto:ada@example.org".to_owned(),
            vapid_private_key: None,
            policy: crate::previews::address::AddressPolicy::default(),
            ca_file: None,
        }
    }

    #[tokio::test]
    async fn the_key_is_made_once_and_kept() {
        let test = TestDb::sqlite().await;
        let first = Vapid::load(&test.db, &config()).await.unwrap();
        let test = test.reopen().await;
        let second = Vapid::load(&test.db, &config()).await.unwrap();
        assert_eq!(first.public_key(), second.public_key());
        assert_eq!(BASE64.decode(first.public_key()).unwrap().len(), 65);
    }

    #[test]
    fn a_token_names_the_service_with_its_port_and_is_signed_by_the_key() {
        let vapid = Vapid::new("RS0WdYWWo1HajXg3NZR1olzCf31i-ZBGDkFyCs7j1jw", "mailto:ada@example.org").unwrap();
        let endpoint = Url::parse("https://push.example.org:8443/abc").unwrap();
        let header = vapid.authorization(&endpoint, Timestamp::now());
        assert_eq!(header, vapid.authorization(&endpoint, Timestamp::now()), "signed once");
        let (token, key) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(key, vapid.public_key());
        let point = BASE64.decode(key).unwrap();
        let (x, y) = (BASE64.encode(&point[1..33]), BASE64.encode(&point[33..]));
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&["https://push.example.org:8443"]);
        let key = DecodingKey::from_ec_components(&x, &y).unwrap();
        let claims: Value = decode::<Value>(token, &key, &validation).unwrap().claims;
        assert_eq!(claims["sub"], "mailto:ada@example.org");
    }
}
