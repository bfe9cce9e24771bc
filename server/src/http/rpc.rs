//! `POST /v1/rpc/{op}`: the commands of the socket over HTTP.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use parlour_protocol::{Command, ErrorCode, ProtocolError, codec::Codec};

use super::{
    error::HttpError,
    extract::{Authenticated, JsonText, Segment},
};
use crate::{app::AppState, dispatch::dispatch};

/// These are about a connection, and HTTP has none.
const SOCKET_ONLY: &[&str] =
    &["session.hello", "session.ping", "session.refresh", "room.subscribe", "room.unsubscribe"];

/// Runs one command.
pub(super) async fn call(
    State(state): State<Arc<AppState>>,
    Segment(op): Segment,
    by: Authenticated,
    body: JsonText,
) -> Result<Response, HttpError> {
    if SOCKET_ONLY.contains(&op.as_str()) {
        return Err(ProtocolError::new(ErrorCode::Unsupported, format!("{op} exists on the socket alone")).into());
    }
    state.charge(&by.caller, &op)?;
    let command = Command::decode(&op, body.as_str()?)?;
    let data = dispatch(&state, &by.caller, command, Codec::Json).await?;
    let mut response = data.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use parlour_protocol::{
        Operation,
        operation::{RoomSubscribe, RoomUnsubscribe, SessionHello, SessionPing, SessionRefresh, Transport},
    };

    use super::*;

    #[test]
    fn the_socket_only_operations_are_those_of_the_protocol() {
        fn check<T: Operation>() {
            assert!(T::TRANSPORT == Transport::Socket && SOCKET_ONLY.contains(&T::NAME), "{}", T::NAME);
        }
        check::<SessionHello>();
        check::<SessionPing>();
        check::<SessionRefresh>();
        check::<RoomSubscribe>();
        check::<RoomUnsubscribe>();
        assert_eq!(SOCKET_ONLY.len(), 5);
    }
}
