//! The one mapping from what fails inside to what a client is told. A fault is logged here, once.

use parlour_protocol::{ErrorCode, ProtocolError};
use uuid::Uuid;

use crate::{
    filter::automod::word_filtered,
    messages::gate::slowmode_error,
    store::{AppendError, StoreError},
};

/// What a client is told of a fault of the store.
pub(crate) fn store_error(error: StoreError) -> ProtocolError {
    match error {
        StoreError::Unavailable(reason) => {
            tracing::warn!(%reason, "the store is unavailable");
            ProtocolError::new(ErrorCode::Unavailable, "the store does not answer; try again with the same nonce")
        }
        StoreError::Internal(reason) => internal(&reason),
    }
}

/// What a client is told of a change that was not stored.
pub(crate) fn append_error(error: AppendError) -> ProtocolError {
    match error {
        AppendError::NotFound(what) => ProtocolError::not_found(format!("no such {what}")),
        AppendError::DeletedSince(row_key) => {
            ProtocolError { row_key: Some(row_key), ..ProtocolError::not_found("already sent and deleted since") }
        }
        AppendError::Rejected => word_filtered(),
        AppendError::Slowmode { retry_after_ms } => slowmode_error(retry_after_ms),
        AppendError::Unfit(reason) => ProtocolError::bad_request(reason),
        AppendError::NameTaken => ProtocolError::new(ErrorCode::Conflict, "the name is taken"),
        AppendError::FileAttached => ProtocolError::new(ErrorCode::Conflict, "the file is attached already"),
        AppendError::Conflict => {
            ProtocolError::new(ErrorCode::Conflict, "the message was changed meanwhile; read it again")
        }
        AppendError::NoAccess => ProtocolError::no_access(),
        AppendError::AlreadyMember => ProtocolError::new(ErrorCode::Conflict, "you are a member already"),
        AppendError::SameSet => ProtocolError::new(ErrorCode::Conflict, "a direct message of these people exists"),
        AppendError::InviteGone => ProtocolError::not_found("no such invite"),
        AppendError::Banned => ProtocolError::new(ErrorCode::Forbidden, "you are banned from this room"),
        AppendError::ClaimLost => ProtocolError::new(ErrorCode::Conflict, "the job is being posted, or was posted"),
        AppendError::Repeat => ProtocolError::new(ErrorCode::Conflict, "this nonce is being used"),
        AppendError::TooMany(what) => ProtocolError::bad_request(format!("the room has as many {what} as it may have")),
        AppendError::Store(error) => store_error(error),
    }
}

/// A fault: the client gets an id by which it is found in the log.
pub(crate) fn internal(reason: &str) -> ProtocolError {
    let request_id = Uuid::new_v4().to_string();
    tracing::error!(request.id = %request_id, %reason, "an internal fault");
    let message = "something went wrong here; the outcome is unknown, try again with the same nonce";
    ProtocolError { request_id: Some(request_id), ..ProtocolError::new(ErrorCode::Internal, message) }
}
