//! Accounts over HTTP, and where a connection's token comes from.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use parlour_protocol::{InviteId, ProtocolError, Secret, SessionId, Timestamp, object::User};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::error::{AuthError, AuthErrorKind};

const HTTP_DEADLINE: Duration = Duration::from_secs(20);

/// A log-in.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogIn {
    /// The token of the session.
    pub token: Secret,
    /// When it ends.
    pub expires_at: Timestamp,
    /// The session.
    pub session_id: SessionId,
    /// The account.
    pub user: User,
}

#[derive(Serialize)]
struct AccountData<'a> {
    name: &'a str,
    password: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    invite: Option<InviteId>,
}

/// Registers an account and logs it in. An invite opens registration where the server wants one.
///
/// # Errors
/// `conflict` when the name is taken, `forbidden` when registration is closed; see [`AuthErrorKind`].
pub async fn register(server: &str, name: &str, password: &str, invite: Option<InviteId>) -> Result<LogIn, AuthError> {
    post(&parse_address(server)?, "register", None, &AccountData { name, password, invite }).await
}

/// Logs an account in.
///
/// # Errors
/// `unauthenticated` when name or password is wrong; see [`AuthErrorKind`].
pub async fn log_in(server: &str, name: &str, password: &str) -> Result<LogIn, AuthError> {
    post(&parse_address(server)?, "login", None, &AccountData { name, password, invite: None }).await
}

pub(crate) fn parse_address(server: &str) -> Result<Url, AuthError> {
    let mut url = Url::parse(server).map_err(|error| AuthError::with_source(AuthErrorKind::Address, error))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(AuthError::with_source(AuthErrorKind::Address, "it begins with http:// or https://"));
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Sees to it that TLS has an implementation; the program's own choice comes first.
pub(crate) fn install_tls() {
    if rustls::crypto::CryptoProvider::get_default().is_none()
        && rustls::crypto::ring::default_provider().install_default().is_err()
    {
        tracing::debug!("another thread installed a TLS implementation first");
    }
}

async fn post<T: for<'de> Deserialize<'de>>(
    server: &Url,
    action: &str,
    token: Option<&Secret>,
    data: &impl Serialize,
) -> Result<T, AuthError> {
    install_tls();
    let unreachable = |error: reqwest::Error| AuthError::with_source(AuthErrorKind::Unreachable, error);
    let url = server
        .join(&format!("v1/auth/{action}"))
        .map_err(|error| AuthError::with_source(AuthErrorKind::Address, error))?;
    let http = reqwest::Client::builder().timeout(HTTP_DEADLINE).build().map_err(unreachable)?;
    let mut request = http.post(url).json(data);
    if let Some(token) = token {
        request = request.bearer_auth(token.expose());
    }
    let answer = request.send().await.map_err(unreachable)?;
    let is_success = answer.status().is_success();
    let body = answer.bytes().await.map_err(unreachable)?;
    let malformed = |error| AuthError::with_source(AuthErrorKind::Malformed, error);
    if is_success {
        return serde_json::from_slice(&body).map_err(malformed);
    }
    let error: ProtocolError = serde_json::from_slice(&body).map_err(malformed)?;
    Err(AuthError::with_source(AuthErrorKind::Rejected(error.code), error))
}

/// A token, or why there is none.
pub type TokenResult = Result<Secret, Box<dyn std::error::Error + Send + Sync>>;
type TokenFuture = Pin<Box<dyn Future<Output = TokenResult> + Send>>;

/// Where a connection's token comes from.
#[derive(Clone)]
pub(crate) enum TokenSource {
    /// Given once.
    Fixed(Secret),
    /// Name and password.
    LogIn { server: Url, name: String, password: Secret },
    /// The program's own.
    Callback(Arc<dyn Fn() -> TokenFuture + Send + Sync>),
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed(_) => "Fixed(…)",
            Self::LogIn { .. } => "LogIn(…)",
            Self::Callback(_) => "Callback(…)",
        })
    }
}

/// Why there is no token.
#[derive(Debug)]
pub(crate) enum NoToken {
    /// There is none to be had.
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// Perhaps later.
    Later { error: Box<dyn std::error::Error + Send + Sync>, retry_after: Option<Duration> },
}

/// The token of the client's session, renewed when the server no longer takes it.
#[derive(Debug)]
pub(crate) struct Credentials {
    source: TokenSource,
    cached: Mutex<Option<Secret>>,
}

/// A token and whether it was obtained just now.
pub(crate) struct Token {
    pub(crate) secret: Secret,
    pub(crate) is_new: bool,
}

impl Credentials {
    pub(crate) fn new(source: TokenSource) -> Self {
        Self { source, cached: Mutex::new(None) }
    }

    /// The token to say hello with.
    pub(crate) async fn token(&self) -> Result<Token, NoToken> {
        let mut cached = self.cached.lock().await;
        if let Some(secret) = &*cached {
            return Ok(Token { secret: secret.clone(), is_new: false });
        }
        let secret = self.obtain().await?;
        *cached = Some(secret.clone());
        Ok(Token { secret, is_new: true })
    }

    /// The server does not take the token any more.
    pub(crate) async fn discard(&self) {
        *self.cached.lock().await = None;
    }

    /// A new token while the old one still lives; none where there is only one.
    pub(crate) async fn renew(&self) -> Option<Secret> {
        let mut cached = self.cached.lock().await;
        let secret = match (&self.source, &*cached) {
            (TokenSource::Fixed(_), _) => return None,
            (TokenSource::LogIn { server, .. }, Some(old)) => {
                #[derive(Deserialize)]
                struct Renewed {
                    token: Secret,
                }
                let renewed: Renewed = post(server, "refresh", Some(old), &serde_json::json!({})).await.ok()?;
                renewed.token
            }
            (TokenSource::LogIn { .. }, None) => return None,
            (TokenSource::Callback(_), _) => self.obtain().await.ok()?,
        };
        *cached = Some(secret.clone());
        Some(secret)
    }

    async fn obtain(&self) -> Result<Secret, NoToken> {
        match &self.source {
            TokenSource::Fixed(secret) => Ok(secret.clone()),
            TokenSource::LogIn { server, name, password } => {
                let data = AccountData { name, password: password.expose(), invite: None };
                let log_in: Result<LogIn, _> = post(server, "login", None, &data).await;
                log_in.map(|log_in| log_in.token).map_err(|error| {
                    let retry_after = error.rejection().and_then(|error| error.retry_after_ms);
                    match error.kind() {
                        AuthErrorKind::Rejected(code) if !code.is_retryable() => NoToken::Refused(error.into()),
                        AuthErrorKind::Address => NoToken::Refused(error.into()),
                        AuthErrorKind::Rejected(_) | AuthErrorKind::Unreachable | AuthErrorKind::Malformed => {
                            NoToken::Later { error: error.into(), retry_after: retry_after.map(Duration::from_millis) }
                        }
                    }
                })
            }
            TokenSource::Callback(callback) => callback().await.map_err(NoToken::Refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_with_a_host() {
        assert_eq!(parse_address("https://chat.example.org").unwrap().as_str(), "https://chat.example.org/");
        assert_eq!(parse_address("http://127.0.0.1:8080/base").unwrap().as_str(), "http://127.0.0.1:8080/base/");
        for wrong in ["", "chat.example.org", "ws://chat.example.org", "file:///tmp"] {
            assert_eq!(parse_address(wrong).unwrap_err().kind(), AuthErrorKind::Address, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_fixed_token_is_given_and_cannot_be_renewed() {
        let credentials = Credentials::new(TokenSource::Fixed(Secret::new("t")));
        let first = credentials.token().await.unwrap();
        assert!(first.is_new && first.secret == Secret::new("t"));
        assert!(!credentials.token().await.unwrap().is_new);
        assert!(credentials.renew().await.is_none());
    }
}
