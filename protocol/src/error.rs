//! What can be answered instead of a result.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{RowKey, wire::IsEmpty};

macro_rules! error_codes {
    ($(#[doc = $doc:literal] $variant:ident $text:literal $status:literal;)*) => {
        /// What went wrong. Texts are stable; a client decides by the code alone.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $( #[doc = $doc] $variant, )*
            /// A code of a newer server: treat as not repeatable.
            Unknown,
        }

        impl ErrorCode {
            /// Every code of this version.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* Self::Unknown => "unknown" }
            }

            /// The HTTP status of the code.
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status,)* Self::Unknown => 500 }
            }

            /// When it is answered, for people.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* Self::Unknown => "A code of a newer server." }.trim_ascii()
            }

            fn parse(text: &str) -> Self {
                match text { $($text => Self::$variant,)* _ => Self::Unknown }
            }
        }
    };
}

error_codes! {
    /// Malformed data, a limit exceeded, or an operation that does not fit its object: fix the request.
    BadRequest "bad_request" 400;
    /// No valid token: log in again.
    Unauthenticated "unauthenticated" 401;
    /// Not a member, no such room, or a right is missing.
    Forbidden "forbidden" 403;
    /// Absent or deleted.
    NotFound "not_found" 404;
    /// A conditional write lost, or a unique name is taken: read again.
    Conflict "conflict" 409;
    /// An HTTP body over the limit.
    PayloadTooLarge "payload_too_large" 413;
    /// The member is under a timeout: wait `retryAfterMs`.
    TimedOut "timed_out" 403;
    /// The room is read-only for this member.
    ReadOnly "read_only" 403;
    /// Wait `retryAfterMs` before the next send.
    Slowmode "slowmode" 429;
    /// A filtered word: change the text.
    WordFiltered "word_filtered" 403;
    /// Too many commands: wait `retryAfterMs`.
    RateLimited "rate_limited" 429;
    /// Unknown or not yet built.
    Unsupported "unsupported" 400;
    /// The store is away; the command may or may not have been stored: repeat with the same nonce.
    Unavailable "unavailable" 503;
    /// Anything else, outcome unknown: repeat with the same nonce, report the `requestId`.
    Internal "internal" 500;
}

impl ErrorCode {
    /// Whether the command may have been stored: repeat it with the same nonce to learn its outcome.
    pub const fn is_ambiguous(self) -> bool {
        matches!(self, Self::Unavailable | Self::Internal)
    }

    /// Whether the same command can succeed later without being changed.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Slowmode | Self::RateLimited | Self::Unavailable | Self::Internal | Self::TimedOut => true,
            Self::BadRequest
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::Conflict
            | Self::PayloadTooLarge
            | Self::ReadOnly
            | Self::WordFiltered
            | Self::Unsupported
            | Self::Unknown => false,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "an error code", |text| Ok(Self::parse(text)))
    }
}

#[cfg(feature = "codegen")]
impl schemars::JsonSchema for ErrorCode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let codes: Vec<_> = Self::ALL.iter().map(|code| code.as_str()).collect();
        schemars::json_schema!({ "type": "string", "enum": codes })
    }
}

object! {
    /// The error object of a reply, an HTTP answer, or one room of several.
    pub struct ProtocolError {
        /// What went wrong; clients decide by it.
        code: ErrorCode,
        /// For people; never parsed.
        message: String,
        ;
        /// How long to wait, in milliseconds.
        retry_after_ms: Option<u64>,
        /// JSON pointer into the command's `data`.
        field: Option<String>,
        /// Names this answer in the server's log.
        request_id: Option<String>,
        /// The deleted message that a nonce belongs to.
        row_key: Option<RowKey>,
    }
}

impl ProtocolError {
    /// An error with a text for people.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after_ms: None, field: None, request_id: None, row_key: None }
    }

    /// `bad_request` at a place in the data.
    pub fn bad_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(ErrorCode::BadRequest, message) }
    }

    /// `bad_request`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::BadRequest, message)
    }

    /// `forbidden`; the text is alike for an unknown room and one without access.
    pub fn no_access() -> Self {
        Self::new(ErrorCode::Forbidden, "no such room, or no access to it")
    }

    /// `not_found`.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// The same error with a time to wait.
    #[must_use]
    pub fn retry_after(mut self, millis: u64) -> Self {
        self.retry_after_ms = Some(millis);
        self
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ProtocolError {}

impl IsEmpty for ErrorCode {
    fn is_empty(&self) -> bool {
        false
    }
}
