//! The way to push services (RFC 8030): a body that only the browser can read (RFC 8291), to public addresses, by
//! https, without redirects.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use parlour_protocol::Timestamp;
use reqwest::{Certificate, Client, StatusCode, header, redirect::Policy};
use url::Url;
use web_push_native::{Auth, encrypt, p256::PublicKey};

use super::vapid::Vapid;
use crate::{
    config::PushConfig,
    directory::{notifications::Delivery, push::Target},
    notifications::{PushOutcome, PushSender},
    previews::address::{AddressPolicy, Resolver},
};

/// Time for one push.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long a service keeps a push for a browser that is away, in seconds.
const TTL: &str = "86400";

/// Why nothing can be pushed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SenderError {
    /// The file of the authority.
    #[error("push.ca_file {0}: {1}; it must be a PEM file with certificates")]
    Authority(PathBuf, String),
    /// The client.
    #[error("failed to prepare pushes: {0}")]
    Client(#[from] reqwest::Error),
}

/// Pushes to browsers.
#[derive(Debug)]
pub(crate) struct WebPush {
    client: Client,
    vapid: Arc<Vapid>,
    policy: AddressPolicy,
}

impl WebPush {
    pub(crate) fn new(config: &PushConfig, vapid: Arc<Vapid>) -> Result<Self, SenderError> {
        // Only the first one of a process counts.
        drop(rustls::crypto::ring::default_provider().install_default());
        let authorities = match &config.ca_file {
            None => Vec::new(),
            Some(file) => {
                let wrong = |error: String| SenderError::Authority(file.clone(), error);
                let pem = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
                Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?
            }
        };
        let client = Client::builder()
            .no_proxy()
            .https_only(true)
            .redirect(Policy::none())
            .timeout(DEADLINE)
            .tls_certs_merge(authorities)
            .user_agent(concat!("Parlour/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(Resolver(config.policy.clone())))
            .build()?;
        Ok(Self { client, vapid, policy: config.policy.clone() })
    }

    async fn try_push(&self, delivery: &Delivery) -> Result<PushOutcome, String> {
        let url = Url::parse(&delivery.target.endpoint).map_err(|error| error.to_string())?;
        if !self.policy.allows_url(&url) {
            return Err("the address is not of the open internet".to_owned());
        }
        let body = seal(&delivery.target, &delivery.payload)?;
        let urgency = if delivery.is_urgent { "high" } else { "normal" };
        let request = self
            .client
            .post(url.clone())
            .header(header::AUTHORIZATION, self.vapid.authorization(&url, Timestamp::now()))
            .header(header::CONTENT_ENCODING, "aes128gcm")
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header("TTL", TTL)
            .header("Urgency", urgency)
            .header("Topic", &delivery.topic)
            .body(body);
        // The address is a secret of its user's: it is not told.
        let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
        let status = answer.status();
        Ok(match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => PushOutcome::Ended,
            status if status.is_success() => PushOutcome::Arrived,
            status => {
                let asked = answer.headers().get(header::RETRY_AFTER).and_then(|asked| asked.to_str().ok());
                let retry_after = asked.and_then(|asked| wait_of(asked, Timestamp::now()));
                PushOutcome::Refused { reason: format!("the service answered {}", status.as_u16()), retry_after }
            }
        })
    }
}

#[async_trait]
impl PushSender for WebPush {
    async fn push(&self, delivery: &Delivery) -> PushOutcome {
        let outcome = self.try_push(delivery).await;
        outcome.unwrap_or_else(|reason| PushOutcome::Refused { reason, retry_after: None })
    }
}

/// The body for a browser.
fn seal(target: &Target, payload: &str) -> Result<Vec<u8>, String> {
    let key = PublicKey::from_sec1_bytes(&target.p256dh).map_err(|_| "the browser's key is none".to_owned())?;
    let auth: [u8; 16] = target.auth.as_slice().try_into().map_err(|_| "the browser's secret is none".to_owned())?;
    encrypt(payload.as_bytes().to_vec(), &key, &Auth::from(auth)).map_err(|error| error.to_string())
}

/// What `Retry-After` asks for: seconds or a date.
fn wait_of(asked: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = asked.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::parse(asked.trim()).ok()?.timestamp().as_millisecond();
    Some(Timestamp::from_millis(at).since(now))
}

#[cfg(test)]
mod tests {
    use web_push_native::{
        decrypt,
        p256::{SecretKey, elliptic_curve::rand_core::OsRng},
    };

    use super::*;

    #[test]
    fn only_the_browser_reads_what_is_pushed() {
        let key = SecretKey::random(&mut OsRng);
        let p256dh = key.public_key().to_sec1_bytes().to_vec();
        // Uncompressed, as browsers write it.
        let point = web_push_native::p256::EncodedPoint::from(key.public_key());
        assert_eq!(p256dh.len(), point.as_bytes().len());
        let target = Target { endpoint: String::new(), p256dh, auth: vec![7; 16] };
        let sealed = seal(&target, "å ä ö").unwrap();
        assert!(!sealed.windows(2).any(|bytes| bytes == "å".as_bytes()));
        assert_eq!(decrypt(sealed, &key, &Auth::from([7; 16])).unwrap(), "å ä ö".as_bytes());
    }

    #[test]
    fn a_service_can_ask_for_time_in_seconds_or_until_a_date() {
        let now = Timestamp::from_millis(784_111_777_000);
        assert_eq!(wait_of("120", now), Some(Duration::from_secs(120)));
        assert_eq!(wait_of("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(wait_of("soon", now), None);
    }
}
