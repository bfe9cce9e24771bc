//! The keys that verify a provider's tokens, and where a set of them is read again.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse},
};
use tokio::{
    sync::Mutex,
    time::{self, Instant},
};

use crate::config::JwtKeys;

/// A set is read again at most this often, whatever tokens ask for.
const READ_AGAIN: Duration = Duration::from_secs(60);
/// A set is read again after this even when every key is known, so that a withdrawn key stops to count.
const STALE: Duration = Duration::from_secs(3600);
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest set.
const SET_BYTES: usize = 256 * 1024;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    /// Nothing to verify with.
    #[error("jwt.algorithms is empty")]
    NoAlgorithm,
    /// The file cannot be read.
    #[error("failed to read the key file {0}: {1}")]
    File(PathBuf, io::Error),
    /// The file holds no such key.
    #[error("the key file {0} holds no {1}")]
    Content(PathBuf, &'static str),
    /// The secret cannot be used.
    #[error("jwt.secret cannot be used")]
    Secret,
    /// The client that fetches cannot be made.
    #[error("failed to prepare fetching of keys: {0}")]
    Client(reqwest::Error),
}

/// Keys for verification.
pub(super) struct Keys(Source);

enum Source {
    Fixed(Vec<(Algorithm, Arc<DecodingKey>)>),
    Set(Box<KeySet>),
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

struct KeySet {
    place: Place,
    /// Held while the set is read, so that many tokens of an unknown key cause one read.
    state: Mutex<State>,
}

enum Place {
    File(PathBuf),
    Url(reqwest::Client, String),
}

#[derive(Default)]
struct State {
    keys: Vec<SetKey>,
    read_at: Option<Instant>,
}

struct SetKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: Arc<DecodingKey>,
}

impl Keys {
    pub(super) fn new(config: &JwtKeys) -> Result<Self, KeyError> {
        Ok(Self(match config {
            JwtKeys::Secret(secret) => {
                let key = DecodingKey::from_secret(secret.expose().as_bytes()).map_err(|_| KeyError::Secret)?;
                Source::Fixed(vec![(Algorithm::HS256, Arc::new(key))])
            }
            JwtKeys::PublicKey(file) => Source::Fixed(public_keys(file)?),
            JwtKeys::JwksFile(file) => {
                let keys = parse_set(&read(file)?).ok_or(KeyError::Content(file.clone(), "JSON Web Key Set"))?;
                Source::Set(Box::new(KeySet {
                    place: Place::File(file.clone()),
                    state: Mutex::new(State { keys, read_at: Some(Instant::now()) }),
                }))
            }
            JwtKeys::JwksUrl(url) => {
                // Installing twice fails, and changes nothing.
                drop(rustls::crypto::ring::default_provider().install_default());
                let client = reqwest::Client::builder()
                    .timeout(FETCH_TIMEOUT)
                    .redirect(reqwest::redirect::Policy::none())
                    .build()
                    .map_err(KeyError::Client)?;
                Source::Set(Box::new(KeySet { place: Place::Url(client, url.clone()), state: Mutex::default() }))
            }
        }))
    }

    /// Keys that may have signed a token with this header.
    pub(super) async fn find(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<Arc<DecodingKey>> {
        match &self.0 {
            Source::Fixed(keys) => {
                let fitting = keys.iter().filter(|(of, _)| *of == algorithm);
                fitting.map(|(_, key)| Arc::clone(key)).collect()
            }
            Source::Set(set) => set.find(algorithm, id).await,
        }
    }
}

impl KeySet {
    async fn find(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<Arc<DecodingKey>> {
        let mut state = self.state.lock().await;
        let age = state.read_at.map(|read_at| read_at.elapsed());
        let found = state.fitting(algorithm, id);
        let outdated = age.is_none_or(|age| age >= STALE || (found.is_empty() && age >= READ_AGAIN));
        if !outdated {
            return found;
        }
        // Also after a failure: an address that does not answer is not asked for every token.
        state.read_at = Some(Instant::now());
        match self.place.read().await {
            Ok(keys) => state.keys = keys,
            Err(reason) => tracing::warn!(reason, "the identity provider's keys could not be read"),
        }
        state.fitting(algorithm, id)
    }
}

impl State {
    fn fitting(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<Arc<DecodingKey>> {
        let fits =
            |key: &&SetKey| key.algorithm == algorithm && (id.is_none() || key.id.is_none() || key.id.as_deref() == id);
        self.keys.iter().filter(fits).map(|key| Arc::clone(&key.key)).collect()
    }
}

impl Place {
    async fn read(&self) -> Result<Vec<SetKey>, String> {
        let bytes = match self {
            Self::File(file) => {
                let read = time::timeout(FETCH_TIMEOUT, tokio::fs::read(file)).await;
                read.map_err(|_| "the file takes too long".to_owned())?.map_err(|error| error.to_string())?
            }
            Self::Url(client, url) => fetch(client, url).await?,
        };
        parse_set(&bytes).ok_or_else(|| "not a JSON Web Key Set".to_owned())
    }
}

async fn fetch(client: &reqwest::Client, url: &str) -> Result<Vec<u8>, String> {
    let text = |error: reqwest::Error| error.without_url().to_string();
    let mut response = client.get(url).send().await.and_then(reqwest::Response::error_for_status).map_err(text)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(text)? {
        if bytes.len() + chunk.len() > SET_BYTES {
            return Err("the set is too large".to_owned());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn read(file: &Path) -> Result<Vec<u8>, KeyError> {
    fs::read(file).map_err(|error| KeyError::File(file.to_owned(), error))
}

/// The key of a PEM file, for the algorithm of its kind.
fn public_keys(file: &Path) -> Result<Vec<(Algorithm, Arc<DecodingKey>)>, KeyError> {
    let pem = read(file)?;
    let key = DecodingKey::from_rsa_pem(&pem)
        .map(|key| (Algorithm::RS256, key))
        .or_else(|_| DecodingKey::from_ec_pem(&pem).map(|key| (Algorithm::ES256, key)));
    match key {
        Ok((algorithm, key)) => Ok(vec![(algorithm, Arc::new(key))]),
        Err(_) => Err(KeyError::Content(file.to_owned(), "public key of RSA or P-256 in PEM form")),
    }
}

fn parse_set(bytes: &[u8]) -> Option<Vec<SetKey>> {
    let set: JwkSet = serde_json::from_slice(bytes).ok()?;
    Some(set.keys.iter().filter_map(set_key).collect())
}

/// A key that verifies one of our algorithms; shared secrets have no place in a public set.
fn set_key(jwk: &Jwk) -> Option<SetKey> {
    if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => Algorithm::ES256,
        _ => return None,
    };
    let key = DecodingKey::from_jwk(jwk).ok()?;
    Some(SetKey { id: jwk.common.key_id.clone(), algorithm, key: Arc::new(key) })
}
