//! What follows a filtered word, once: a repeat of the same rejected message is not punished again.

use parlour_protocol::{
    ConnectionId, ErrorCode, LogEntryId, Nonce, ProtocolError, RoomId, Timestamp, UserId,
    object::{FilterAction, ModerationAction, ModerationLogEntry},
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    app::AppState,
    error::append_error,
    moderation::actions::tell_acted,
    rooms::{append_as, memberships},
    store::{AppendError, Automod, JobClaim, Origin, RejectedMessage, RoomChange},
};

/// Who acts when the word filter acts.
pub(crate) const AUTOMOD: UserId = UserId::from_uuid(Uuid::from_u128(0x4000_8000_0000_0000_0000));

/// The reason in the log.
const REASON: &str = "word filter";

/// A message that the word filter does not let pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filtered {
    pub(super) room_id: RoomId,
    pub(super) user_id: UserId,
    pub(super) action: FilterAction,
    pub(super) timeout_ms: Option<u64>,
    /// The slowmode that holds for the author: it is said first, and nothing is punished then.
    pub(super) slowmode_ms: Option<u64>,
}

/// What identifies the rejected message: its repeat is rejected without being punished.
#[derive(Debug, Clone)]
pub(crate) enum Rejected<'a> {
    /// A message to be sent.
    Message {
        /// Where it comes from.
        origin: Origin,
        /// Its nonce, or the job's id.
        nonce: Option<&'a Nonce>,
        /// The job that is cancelled with it.
        job: Option<JobClaim>,
    },
    /// A message to be posted later.
    Later {
        /// The nonce of the command.
        nonce: Option<&'a Nonce>,
    },
    /// A new body of a message.
    Edit {
        /// Which, and the body.
        text: String,
    },
}

/// What the member is told, also when they repeat the message.
pub(crate) fn word_filtered() -> ProtocolError {
    ProtocolError::new(ErrorCode::WordFiltered, "the text has a word that is not allowed here")
}

impl Filtered {
    /// Applies the filter's action and answers what the member is told.
    pub(crate) async fn punish(
        self,
        state: &AppState,
        cause: Option<ConnectionId>,
        rejected: Rejected<'_>,
    ) -> ProtocolError {
        match self.apply(state, cause, rejected).await {
            Ok(()) | Err(AppendError::Repeat) => word_filtered(),
            Err(error) => append_error(error),
        }
    }

    async fn apply(
        self,
        state: &AppState,
        cause: Option<ConnectionId>,
        rejected: Rejected<'_>,
    ) -> Result<(), AppendError> {
        let now = Timestamp::now();
        let (origin, nonce, slowmode_ms, job) = match rejected {
            Rejected::Message { origin, nonce, job } => {
                (origin, nonce.map(|nonce| nonce.as_str().to_owned()), self.slowmode_ms, job)
            }
            Rejected::Later { nonce } => {
                (Origin::Job, nonce.map(|nonce| format!("\nlater {nonce}")), self.slowmode_ms, None)
            }
            // An edit has no nonce: the same edit of the same message is the same.
            Rejected::Edit { text } => {
                let digest = Sha256::digest(text);
                let mark: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
                (Origin::Live, Some(format!("\nedit {mark}")), None, None)
            }
        };
        let action = match self.action {
            FilterAction::Reject => None,
            FilterAction::Warn => Some(ModerationAction::Warn),
            FilterAction::Timeout => Some(ModerationAction::TimeoutUser),
        };
        if action.is_none() && slowmode_ms.is_none() && job.is_none() {
            return Ok(());
        }
        let entry = action.map(|action| ModerationLogEntry {
            id: LogEntryId::new(),
            room_id: self.room_id,
            r#type: action,
            actor_user_id: AUTOMOD,
            target_user_id: self.user_id,
            duration_ms: self.timeout_ms,
            reason: REASON.to_owned(),
            created_at: Some(now),
        });
        let until = self.timeout_ms.map(|ms| now.plus_millis(i64::try_from(ms).unwrap_or(i64::MAX)));
        let change = RoomChange::Automod(Box::new(Automod {
            user_id: self.user_id,
            rejected: RejectedMessage { origin, nonce, slowmode_ms, job },
            entry: entry.clone(),
            until,
        }));
        append_as(state, cause, self.room_id, change).await?;
        let Some(entry) = entry else { return Ok(()) };
        if until.is_some() {
            // The action is stored: a member who is not told of their membership now reads it later.
            drop(memberships::tell(state, self.user_id, self.room_id).await);
        }
        tell_acted(state, self.user_id, &entry);
        Ok(())
    }
}
