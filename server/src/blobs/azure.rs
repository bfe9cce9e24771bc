//! Bytes in a container of Azure's storage. Clients bring and fetch them there, at addresses that this server signs.

use std::time::Duration;

use async_trait::async_trait;
use parlour_protocol::Timestamp;
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RANGE},
};

use super::{Blob, BlobError, Blobs, Declared, HEAD, Measured, Shown, disposition};
use crate::azure::{ContainerRight, Headers, StorageAccount, blob_query, container_query};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Waits before a request is made again that failed or was refused for now.
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];
/// How long the server's own signatures are good for.
const OWN_MS: i64 = 10 * 60_000;
/// Longest wait for a copy, which the service makes by itself.
const COPY: Duration = Duration::from_secs(20);

/// Bytes in a container.
#[derive(Debug)]
pub(crate) struct AzureBlobs {
    account: StorageAccount,
    container: String,
    client: Client,
}

impl AzureBlobs {
    /// Opens a container, which is made when it does not exist.
    ///
    /// # Errors
    /// With what failed, for people.
    pub(crate) async fn open(account: StorageAccount, container: String) -> Result<Self, BlobError> {
        // Only the first one of a process counts.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client =
            Client::builder().connect_timeout(PATIENCE).timeout(PATIENCE).no_proxy().build().map_err(failed)?;
        let blobs = Self { account, container, client };
        let query = container_query(&blobs.account, ContainerRight::Create, own_expiry());
        let address = format!("{}/{}?restype=container&{query}", blobs.account.blobs, blobs.container);
        let response = blobs.request(Method::PUT, &address, HeaderMap::new()).await?;
        match response.status() {
            StatusCode::CREATED | StatusCode::CONFLICT => Ok(blobs),
            status => Err(refused(status, &response)),
        }
    }

    /// Writes, reads and deletes a few bytes.
    ///
    /// # Errors
    /// With what failed, for people.
    pub(crate) async fn try_out(&self) -> Result<(), BlobError> {
        let blob = Blob::original(uuid::Uuid::new_v4());
        let address = self.address(blob, "c", own_expiry(), &Headers::default());
        let upload = self.client.put(address).header("x-ms-blob-type", "BlockBlob").body("tea");
        let response = upload.send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(refused(response.status(), &response));
        }
        let measured = self.measure(blob).await?;
        self.remove(blob).await?;
        match measured {
            Some(Measured { size: 3, .. }) => Ok(()),
            _ => Err(BlobError("bytes that were just written are not there".into())),
        }
    }

    /// Whether a page of this origin may bring files (the account's CORS rules).
    ///
    /// # Errors
    /// When the service does not answer.
    pub(crate) async fn lets_in(&self, origin: &str) -> Result<bool, BlobError> {
        let address = format!("{}/{}/file", self.account.blobs, self.container);
        let mut headers = HeaderMap::new();
        headers.insert("origin", HeaderValue::from_str(origin).map_err(|error| BlobError(error.to_string().into()))?);
        headers.insert("access-control-request-method", HeaderValue::from_static("PUT"));
        headers.insert("access-control-request-headers", HeaderValue::from_static("content-type,x-ms-blob-type"));
        Ok(self.request(Method::OPTIONS, &address, headers).await?.status().is_success())
    }

    fn address(&self, blob: Blob, rights: &str, expires_at: Timestamp, headers: &Headers) -> String {
        let Self { account, container, .. } = self;
        let name = blob.to_string();
        let query = blob_query(account, container, &name, rights, expires_at, headers);
        format!("{}/{container}/{name}?{query}", account.blobs)
    }

    async fn request(&self, method: Method, address: &str, headers: HeaderMap) -> Result<Response, BlobError> {
        let mut waits = WAITS.into_iter();
        loop {
            let outcome = self.client.request(method.clone(), address).headers(headers.clone()).send().await;
            let is_passing = match &outcome {
                Ok(response) => {
                    response.status().is_server_error() || response.status() == StatusCode::TOO_MANY_REQUESTS
                }
                Err(_) => true,
            };
            match waits.next() {
                Some(wait) if is_passing => tokio::time::sleep(wait).await,
                _ => return outcome.map_err(failed),
            }
        }
    }

    async fn act(&self, method: Method, blob: Blob, rights: &str, headers: HeaderMap) -> Result<Response, BlobError> {
        let address = self.address(blob, rights, own_expiry(), &Headers::default());
        self.request(method, &address, headers).await
    }
}

#[async_trait]
impl Blobs for AzureBlobs {
    fn upload_url(&self, blob: Blob, _declared: Declared<'_>, expires_at: Timestamp) -> String {
        // To create alone: what is there was measured, and stays what it was. Size and type no signature can hold.
        self.address(blob, "c", expires_at, &Headers::default())
    }

    fn download_url(&self, blob: Blob, shown: Shown<'_>, expires_at: Timestamp) -> String {
        let headers = Headers {
            caching: "private, max-age=86400",
            disposition: disposition(shown.filename),
            mimetype: shown.mimetype.to_owned(),
        };
        self.address(blob, "r", expires_at, &headers)
    }

    async fn measure(&self, blob: Blob) -> Result<Option<Measured>, BlobError> {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_str(&format!("bytes=0-{}", HEAD - 1)).expect("digits"));
        let response = self.act(Method::GET, blob, "r", headers).await?;
        let mimetype = text_of(&response, &CONTENT_TYPE).map(str::to_owned);
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            // There is no first byte.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let response = self.act(Method::HEAD, blob, "r", HeaderMap::new()).await?;
                let mimetype = text_of(&response, &CONTENT_TYPE).map(str::to_owned);
                Ok(Some(Measured { size: 0, head: Vec::new(), mimetype }))
            }
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {
                let total = text_of(&response, &CONTENT_RANGE).and_then(|range| range.rsplit_once('/')?.1.parse().ok());
                let size = total.or(response.content_length());
                let size = size.ok_or_else(|| BlobError("the service does not say how many bytes there are".into()))?;
                let mut head = response.bytes().await.map_err(failed)?.to_vec();
                head.truncate(HEAD);
                Ok(Some(Measured { size, head, mimetype }))
            }
            status => Err(refused(status, &response)),
        }
    }

    async fn copy(&self, from: Blob, to: Blob) -> Result<bool, BlobError> {
        let mut headers = HeaderMap::new();
        let source = self.address(from, "r", own_expiry(), &Headers::default());
        headers.insert("x-ms-copy-source", HeaderValue::from_str(&source).expect("an address is ASCII"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        let mut response = self.act(Method::PUT, to, "cw", headers).await?;
        match response.status() {
            StatusCode::NOT_FOUND => return Ok(false),
            status if status.is_success() => {}
            status => return Err(refused(status, &response)),
        }
        let done = async {
            while text_of(&response, &HeaderName::from_static("x-ms-copy-status")) == Some("pending") {
                tokio::time::sleep(Duration::from_millis(100)).await;
                response = self.act(Method::HEAD, to, "r", HeaderMap::new()).await?;
            }
            match text_of(&response, &HeaderName::from_static("x-ms-copy-status")) {
                None | Some("success") => Ok(true),
                Some(other) => Err(BlobError(format!("a copy ended as {other}").into())),
            }
        };
        tokio::time::timeout(COPY, done).await.unwrap_or_else(|_| Err(BlobError("a copy took too long".into())))
    }

    async fn remove(&self, blob: Blob) -> Result<(), BlobError> {
        let response = self.act(Method::DELETE, blob, "d", HeaderMap::new()).await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(()),
            status if status.is_success() => Ok(()),
            status => Err(refused(status, &response)),
        }
    }

    fn origin(&self) -> Option<String> {
        let url = url::Url::parse(&self.account.blobs).ok()?;
        Some(url.origin().ascii_serialization())
    }
}

fn own_expiry() -> Timestamp {
    Timestamp::now().plus_millis(OWN_MS)
}

fn text_of<'r>(response: &'r Response, name: &HeaderName) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

/// What the service said no with; never an address, which is a secret.
fn refused(status: StatusCode, response: &Response) -> BlobError {
    let code = text_of(response, &HeaderName::from_static("x-ms-error-code")).unwrap_or("no code");
    let hint = match status {
        StatusCode::FORBIDDEN => "; is the account key right, and the clock of this machine?",
        _ => "",
    };
    BlobError(format!("Azure answers {} ({code}){hint}", status.as_u16()).into())
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn failed(error: reqwest::Error) -> BlobError {
    let address = error.url().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let reason = if error.is_timeout() { "no answer in time".to_owned() } else { cause.to_string() };
    BlobError(format!("{address} is not reached: {reason}").into())
}
