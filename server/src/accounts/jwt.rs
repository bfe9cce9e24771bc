//! Tokens of an identity provider.

mod keys;

use std::net::IpAddr;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use parlour_protocol::{SessionId, Timestamp, UserId};
use serde::Deserialize;
use uuid::Uuid;

pub(crate) use self::keys::KeyError;
use self::keys::Keys;
use super::{AccountError, Accounts, caller::Principal, names};
use crate::{
    config::{JwtAlgorithm, JwtConfig},
    directory::{
        self,
        accounts::{NewAccount, StoredName},
        sessions::{NewSession, SessionState},
    },
    store::db::DbError,
};

/// Clocks may differ by this, in seconds: a token counts for that long after its end.
const LEEWAY_S: u32 = 60;
/// Longest token that is looked at.
const LONGEST: usize = 16 * 1024;
/// The end of what one taken name is tried with.
const NAME_ATTEMPTS: u32 = 1000;
/// Longest image address that is taken over.
const IMAGE_LENGTH: usize = 2048;
const NAME_LENGTH: usize = 100;

/// Ids made of issuer and subject lie in this space.
const SPACE: Uuid = Uuid::from_u128(0x7c9e_6679_7425_40de_944b_e07f_c1f9_0ae7);

/// Checks an identity provider's tokens.
#[derive(Debug)]
pub(crate) struct JwtVerifier {
    issuer: String,
    keys: Keys,
    validation: Validation,
}

/// What is read of a token.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    #[serde(default)]
    sid: Option<String>,
    #[serde(default)]
    jti: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    picture: Option<String>,
}

/// Whether a token has the three parts of a JWT; tokens of this server have one.
pub(super) fn looks_like_one(token: &str) -> bool {
    token.len() <= LONGEST && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl JwtVerifier {
    /// A verifier.
    ///
    /// # Errors
    /// When a key file cannot be read.
    pub(crate) fn new(config: &JwtConfig) -> Result<Self, KeyError> {
        let algorithms: Vec<Algorithm> = config.algorithms.iter().map(|algorithm| to_library(*algorithm)).collect();
        let first = algorithms.first().copied().ok_or(KeyError::NoAlgorithm)?;
        let mut validation = Validation::new(first);
        validation.algorithms = algorithms;
        validation.leeway = LEEWAY_S.into();
        validation.validate_nbf = true;
        validation.set_issuer(&[&config.issuer]);
        validation.set_audience(&config.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Ok(Self { issuer: config.issuer.clone(), keys: Keys::new(&config.keys)?, validation })
    }

    async fn verify(&self, token: &str) -> Option<Claims> {
        let header = decode_header(token).ok()?;
        if !self.validation.algorithms.contains(&header.alg) {
            return None;
        }
        let keys = self.keys.find(header.alg, header.kid.as_deref()).await;
        // A key is of one family, and so must be the algorithms that it is tried with.
        let validation = Validation { algorithms: vec![header.alg], ..self.validation.clone() };
        // One key is the rule; a set without key ids is tried in order.
        let claims = keys.iter().find_map(|key| decode::<Claims>(token, key, &validation).ok())?.claims;
        (!claims.sub.is_empty() && claims.exp.is_finite()).then_some(claims)
    }

    fn user_id(&self, subject: &str) -> UserId {
        UserId::from_uuid(self.name_based("user", subject))
    }

    fn session_id(&self, claims: &Claims, token: &str) -> SessionId {
        let session = claims.sid.as_deref().or(claims.jti.as_deref()).filter(|session| !session.is_empty());
        SessionId::from_uuid(match session {
            Some(session) => self.name_based("session", &format!("{}\0{session}", claims.sub)),
            None => self.name_based("token", token),
        })
    }

    fn name_based(&self, kind: &str, name: &str) -> Uuid {
        // NUL cannot stand in the issuer of a configuration, so that two different pairs never make one text.
        Uuid::new_v5(&SPACE, format!("{kind}\0{}\0{name}", self.issuer).as_bytes())
    }
}

impl Accounts {
    /// Who a provider's token stands for; its account and session are made when it comes for the first time.
    pub(super) async fn admit_foreign(
        &self,
        jwt: &JwtVerifier,
        token: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Option<Principal>, AccountError> {
        let Some(claims) = jwt.verify(token).await else { return Ok(None) };
        let (user_id, session_id) = (jwt.user_id(&claims.sub), jwt.session_id(&claims, token));
        let principal = Principal {
            user_id,
            session_id,
            expires_at: expiry(&claims),
            is_operator: false,
            is_foreign: true,
            checked_at: 0,
        };
        match directory::sessions::state(&self.db, user_id, session_id).await? {
            SessionState::Ended => Ok(None),
            SessionState::Live => Ok(Some(principal)),
            SessionState::Unknown => {
                self.make_foreign_account(jwt, &claims, user_id, now).await?;
                self.make_foreign_session(&principal, address, now).await
            }
        }
    }

    async fn make_foreign_account(
        &self,
        jwt: &JwtVerifier,
        claims: &Claims,
        user_id: UserId,
        now: Timestamp,
    ) -> Result<(), AccountError> {
        let image = claims.picture.as_deref().filter(|image| image.len() <= IMAGE_LENGTH && !image.contains('\0'));
        for attempt in 0..NAME_ATTEMPTS {
            if directory::accounts::user(&self.db, user_id).await.map_err(DbError::from)?.is_some() {
                return Ok(());
            }
            let account = NewAccount {
                user_id,
                name: &free_name(claims, attempt),
                password_hash: None,
                image: image.unwrap_or_default(),
                provider: Some((&jwt.issuer, &claims.sub)),
                now,
            };
            let mut tx = self.db.begin().await?;
            match directory::accounts::insert(&mut tx, &account, false).await {
                Ok(_) => return Ok(tx.commit().await?),
                // The name is taken, or the same token came twice at once.
                Err(DbError::Unique) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(AccountError::NameTaken)
    }

    async fn make_foreign_session(
        &self,
        principal: &Principal,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Option<Principal>, AccountError> {
        let address = address.to_string();
        let (user_id, session_id, expires_at) = (principal.user_id, principal.session_id, principal.expires_at);
        let session = NewSession { session_id, user_id, address: &address, now, expires_at };
        let mut tx = self.db.begin().await?;
        match directory::sessions::insert(&mut tx, &session).await {
            Ok(()) => tx.commit().await?,
            // It came twice at once, or the id is another user's, which no honest provider makes.
            Err(DbError::Unique) => drop(tx),
            Err(error) => return Err(error.into()),
        }
        let state = directory::sessions::state(&self.db, user_id, session_id).await?;
        Ok((state == SessionState::Live).then(|| principal.clone()))
    }
}

/// The name that the provider gives, with a number from the second attempt on.
fn free_name(claims: &Claims, attempt: u32) -> StoredName {
    let wanted = claims.name.as_deref().unwrap_or_default().replace('\0', "");
    let wanted = names::stored(&wanted).map_or_else(|| "user".to_owned(), |name| name.name);
    let number = if attempt == 0 { String::new() } else { format!(" {}", attempt + 1) };
    let wanted: String = wanted.chars().take(NAME_LENGTH - number.len()).collect();
    let name = format!("{wanted}{number}");
    names::stored(&name).unwrap_or(StoredName { key: name.clone(), fold: name.clone(), name })
}

#[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest integer, which is what is wanted")]
fn expiry(claims: &Claims) -> Timestamp {
    Timestamp::from_millis((claims.exp * 1000.0) as i64).plus_millis(i64::from(LEEWAY_S) * 1000)
}

fn to_library(algorithm: JwtAlgorithm) -> Algorithm {
    match algorithm {
        JwtAlgorithm::Hs256 => Algorithm::HS256,
        JwtAlgorithm::Rs256 => Algorithm::RS256,
        JwtAlgorithm::Es256 => Algorithm::ES256,
    }
}
