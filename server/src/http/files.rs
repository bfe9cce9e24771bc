//! `/v1/files/{signed}`: bytes are brought and fetched. An address is a capability for one file, not a log-in.

mod range;

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use futures_util::StreamExt;
use parlour_protocol::{ErrorCode, ProtocolError, Timestamp};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use self::range::{Wanted, wanted};
use super::{error::HttpError, extract::Segment};
use crate::{
    app::AppState,
    blobs::{DeclaredSize, Part, Purpose, Shown, Signature, disposition},
    directory::files::{self, StoredFile},
    error::store_error,
    files::{THUMBNAIL_TYPE, blob_error, thumbnail_name},
};

/// Longest wait for the next bytes of an upload.
const STALL: Duration = Duration::from_secs(30);
/// How long a browser may remember where bytes lie.
const LASTING_MS: i64 = 30 * 60_000;
/// Longest time for an upload.
const UPLOAD: Duration = Duration::from_secs(15 * 60);

fn forbidden(message: &str) -> HttpError {
    ProtocolError::new(ErrorCode::Forbidden, message).into()
}

fn over() -> HttpError {
    forbidden("the address is over, or not one of this server")
}

fn refused(status: StatusCode, message: impl Into<String>) -> HttpError {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::PayloadTooLarge,
        _ => ErrorCode::BadRequest,
    };
    HttpError::with_status(status, ProtocolError::new(code, message))
}

/// Takes the bytes of an upload, whole or not at all.
pub(super) async fn put(
    State(state): State<Arc<AppState>>,
    Segment(signed): Segment,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, HttpError> {
    let signature = state.files.signer.open(&signed, Timestamp::now()).ok_or_else(over)?;
    let folder = state.files.folder.as_ref().ok_or_else(over)?;
    let Purpose::Upload(size) = signature.purpose else { return Err(over()) };
    let length = check_headers(&headers, &signature, size)?;
    open_upload(&state, &signature).await?;
    let mut incoming = folder.receive().await.map_err(blob_error)?;
    let receive = async {
        let mut stream = body.into_data_stream();
        let mut received = 0;
        while let Some(chunk) = tokio::time::timeout(STALL, stream.next()).await.map_err(|_| ended_early())? {
            let chunk = chunk.map_err(|_| ended_early())?;
            received += chunk.len() as u64;
            if received > length {
                return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, "more came than was announced"));
            }
            incoming.take(&chunk).await.map_err(blob_error)?;
        }
        if received < length { Err(ended_early()) } else { Ok(()) }
    };
    tokio::time::timeout(UPLOAD, receive).await.map_err(|_| ended_early())??;
    // It may have been attached while the bytes came.
    open_upload(&state, &signature).await?;
    folder.keep(incoming, signature.blob).await.map_err(blob_error)?;
    // Or given up, and swept before they were in place.
    if find(&state, &signature).await?.is_none() {
        use crate::blobs::Blobs;
        folder.remove(signature.blob).await.map_err(blob_error)?;
        return Err(over());
    }
    Ok(StatusCode::CREATED)
}

fn ended_early() -> HttpError {
    refused(StatusCode::BAD_REQUEST, "the bytes ended early")
}

/// Whether an upload announces what was declared; its length.
fn check_headers(headers: &HeaderMap, signature: &Signature, size: DeclaredSize) -> Result<u64, HttpError> {
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if given != Some(signature.mimetype.as_bytes()) {
        let reason = format!("the Content-Type must be {}", signature.mimetype);
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let Some(length) = length else {
        return Err(refused(StatusCode::LENGTH_REQUIRED, "the Content-Length is missing"));
    };
    match size {
        DeclaredSize::Exact(size) | DeclaredSize::UpTo(size) if length > size => {
            Err(refused(StatusCode::PAYLOAD_TOO_LARGE, format!("the address takes {size} bytes")))
        }
        DeclaredSize::Exact(size) if length < size => {
            Err(refused(StatusCode::BAD_REQUEST, format!("the address takes {size} bytes")))
        }
        DeclaredSize::UpTo(_) if length == 0 => Err(refused(StatusCode::BAD_REQUEST, "there are no bytes")),
        _ => Ok(length),
    }
}

async fn find(state: &AppState, signature: &Signature) -> Result<Option<StoredFile>, HttpError> {
    let found = files::find(&state.db, signature.blob.file_id).await.map_err(store_error)?;
    Ok(found.filter(|file| file.is_live(Timestamp::now())))
}

/// The upload of an address, as long as nothing has taken it.
async fn open_upload(state: &AppState, signature: &Signature) -> Result<(), HttpError> {
    let file = find(state, signature).await?;
    match file.filter(|file| file.is_pending(Timestamp::now())) {
        Some(_) => Ok(()),
        None => Err(forbidden("the file is attached, or gone")),
    }
}

/// Gives the bytes of a file, or some of them.
pub(super) async fn get(
    State(state): State<Arc<AppState>>,
    Segment(signed): Segment,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let signature = state.files.signer.open(&signed, Timestamp::now()).ok_or_else(over)?;
    if signature.purpose != Purpose::Download {
        return Err(over());
    }
    let gone = || HttpError::from(ProtocolError::not_found("the file is gone"));
    let file = find(&state, &signature).await?.ok_or_else(gone)?;
    let Some(folder) = &state.files.folder else { return elsewhere(&state, &file, &signature).await };
    let mut bytes = folder.read(signature.blob).await.map_err(blob_error)?.ok_or_else(gone)?;
    let metadata = bytes.metadata().await.map_err(|error| read_failed(&error))?;
    let size = metadata.len();
    // Bytes that are replaced get another one.
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let etag = format!("\"{}-{:x}\"", signature.blob, modified.map_or(0, |time| time.as_nanos()));
    let mut response = if lists(&headers, &header::IF_NONE_MATCH, &etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
        let is_current = !headers.contains_key(header::IF_RANGE) || lists(&headers, &header::IF_RANGE, &etag);
        match wanted(range.filter(|_| is_current), size) {
            Wanted::Nothing => {
                let mut response = refused(StatusCode::RANGE_NOT_SATISFIABLE, "no such range").into_response();
                set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
                return Ok(response);
            }
            Wanted::Everything => content(StatusCode::OK, bytes, size, &method),
            Wanted::Part(first, last) => {
                bytes.seek(std::io::SeekFrom::Start(first)).await.map_err(|error| read_failed(&error))?;
                let mut response = content(StatusCode::PARTIAL_CONTENT, bytes, last - first + 1, &method);
                set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes {first}-{last}/{size}"));
                response
            }
        }
    };
    describe(response.headers_mut(), &file, &signature, &etag);
    Ok(response)
}

/// Shows the way to bytes that lie elsewhere. Nobody looked at them when they came, so that this is done now.
async fn elsewhere(state: &AppState, file: &StoredFile, signature: &Signature) -> Result<Response, HttpError> {
    let gone = || HttpError::from(ProtocolError::not_found("the file is gone"));
    let blobs = &state.files.blobs;
    let measured = blobs.measure(signature.blob).await.map_err(blob_error)?.ok_or_else(gone)?;
    let (filename, mimetype) = shown(file, signature);
    if signature.blob.part == Part::Original && (measured.size != file.size || !measured.came_as(mimetype)) {
        return Err(gone());
    }
    let expires_at = Timestamp::now().plus_millis(2 * LASTING_MS);
    let address = blobs.download_url(signature.blob, Shown { filename: &filename, mimetype }, expires_at);
    let mut response = Redirect::temporary(&address).into_response();
    set(response.headers_mut(), header::CACHE_CONTROL, &format!("private, max-age={}", LASTING_MS / 1000));
    Ok(response)
}

fn content(status: StatusCode, bytes: tokio::fs::File, length: u64, method: &Method) -> Response {
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        Body::from_stream(ReaderStream::with_capacity(bytes.take(length), 64 * 1024))
    };
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}

/// Name and type of bytes.
fn shown<'f>(file: &'f StoredFile, signature: &Signature) -> (Cow<'f, str>, &'f str) {
    match signature.blob.part {
        Part::Original => (file.filename.as_str().into(), &file.mimetype),
        Part::Thumbnail => (thumbnail_name(&file.filename).into(), THUMBNAIL_TYPE),
    }
}

fn describe(headers: &mut HeaderMap, file: &StoredFile, signature: &Signature, etag: &str) {
    let (filename, mimetype) = shown(file, signature);
    set(headers, header::CONTENT_TYPE, mimetype);
    set(headers, header::CONTENT_DISPOSITION, &disposition(&filename));
    set(headers, header::ETAG, etag);
    set(headers, header::ACCEPT_RANGES, "bytes");
    let caching = if signature.expires_at.is_some() { "private, max-age=86400" } else { "public, max-age=300" };
    set(headers, header::CACHE_CONTROL, caching);
}

fn lists(headers: &HeaderMap, name: &HeaderName, etag: &str) -> bool {
    let given = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    given.map(str::trim).any(|given| given == etag || given == "*")
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn read_failed(error: &std::io::Error) -> HttpError {
    tracing::warn!(%error, "a file could not be read");
    ProtocolError::new(ErrorCode::Unavailable, "the store of files does not answer; try again").into()
}
