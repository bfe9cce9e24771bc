//! Bytes over HTTP: the addresses are capabilities, no token goes with them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use parlour_protocol::{Int, ProtocolError, RoomId, Text, operation::FileCreateImageUpload};
use reqwest::{
    Body, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};

use crate::{
    auth::install_tls,
    client::Client,
    error::{RequestError, RequestErrorKind},
};

/// Without a byte for so long, a transfer has failed.
const STALL: Duration = Duration::from_secs(30);

/// A file on its way.
#[derive(Debug)]
pub struct Download {
    response: Response,
}

impl Download {
    /// How many bytes there are in all, when the server says so.
    pub fn size(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        self.response.chunk().await.map_err(broken)
    }

    /// Everything, unless it is more than `most` bytes.
    ///
    /// # Errors
    /// When the connection breaks, or there is more.
    pub async fn bytes(mut self, most: usize) -> Result<Bytes, RequestError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            if all.len() + piece.len() > most {
                return Err(RequestError::new(RequestErrorKind::TooLarge));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all.into())
    }
}

/// Writes pieces to an upload address.
pub(crate) async fn put(
    client: &Client,
    url: &str,
    mimetype: &str,
    size: u64,
    pieces: BoxStream<'static, std::io::Result<Bytes>>,
) -> Result<(), RequestError> {
    let request = http()?.put(address(client, url)?).header(CONTENT_TYPE, mimetype).header(CONTENT_LENGTH, size);
    // Where the address is one of Azure's storage, it wants to know what is brought; the server does not mind.
    let request = request.header("x-ms-blob-type", "BlockBlob");
    checked(request.body(Body::wrap_stream(pieces)).send().await.map_err(broken)?).await.map(drop)
}

/// Writes what is in memory to an upload address.
pub(crate) async fn put_bytes(client: &Client, url: &str, mimetype: &str, bytes: Bytes) -> Result<(), RequestError> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    put(client, url, mimetype, size, futures_util::stream::iter([Ok(bytes)]).boxed()).await
}

/// Uploads a picture of a person or a room; answers its lasting address.
pub(crate) async fn public_image(
    client: &Client,
    room_id: Option<RoomId>,
    mimetype: &str,
    image: Bytes,
) -> Result<String, RequestError> {
    let size = Int::new(i64::try_from(image.len()).unwrap_or(i64::MAX))?;
    let create = FileCreateImageUpload { mimetype: Text::new(mimetype)?, size, room_id, nonce: None };
    let upload = client.request(create).await?;
    put_bytes(client, &upload.upload_url, mimetype, image).await?;
    Ok(upload.image)
}

/// Opens a download address.
pub(crate) async fn get(client: &Client, url: &str) -> Result<Download, RequestError> {
    let response = http()?.get(address(client, url)?).send().await.map_err(broken)?;
    Ok(Download { response: checked(response).await? })
}

fn http() -> Result<reqwest::Client, RequestError> {
    install_tls();
    reqwest::Client::builder().connect_timeout(STALL).read_timeout(STALL).build().map_err(broken)
}

/// An address of the server's own is relative to it.
fn address(client: &Client, url: &str) -> Result<reqwest::Url, RequestError> {
    client.inner.server.join(url).map_err(|error| RequestError::with_source(RequestErrorKind::Malformed, error))
}

async fn checked(response: Response) -> Result<Response, RequestError> {
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status();
    let body = response.bytes().await.map_err(broken)?;
    match serde_json::from_slice::<ProtocolError>(&body) {
        Ok(error) => Err(error.into()),
        Err(_) => Err(RequestError::with_source(RequestErrorKind::Malformed, format!("HTTP status {status}"))),
    }
}

fn broken(error: reqwest::Error) -> RequestError {
    RequestError::with_source(RequestErrorKind::TransferFailed, error)
}
