//! Errors over HTTP: the error object of the protocol with its status.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use parlour_protocol::{ErrorCode, ProtocolError};

use crate::accounts::AccountError;

/// An error answer.
#[derive(Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    error: ProtocolError,
}

impl HttpError {
    /// An error with a status of its own.
    pub(crate) fn with_status(status: StatusCode, error: ProtocolError) -> Self {
        Self { status, error }
    }
}

impl From<ProtocolError> for HttpError {
    fn from(error: ProtocolError) -> Self {
        let status = StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, error }
    }
}

impl From<AccountError> for HttpError {
    fn from(error: AccountError) -> Self {
        ProtocolError::from(error).into()
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let Self { status, error } = self;
        let mut response = (status, axum::Json(&error)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(millis) = error.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(millis.div_ceil(1000)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// An address that is nobody's.
pub(super) fn not_found() -> HttpError {
    ProtocolError::not_found("no such address").into()
}

/// A known address that is asked in the wrong way.
pub(super) async fn method_not_allowed() -> HttpError {
    let error = ProtocolError::new(ErrorCode::BadRequest, "this address does not take this method");
    HttpError::with_status(StatusCode::METHOD_NOT_ALLOWED, error)
}
