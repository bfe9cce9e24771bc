//! Accounts over HTTP: the bodies and answers of `/v1/auth/*`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    InvalidValue, InviteId, Name, Secret, SessionId, Text, Timestamp, constrained::check_length, object::User,
};

/// A password to set: 8–256 characters without NUL, kept out of logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Secret);

impl Password {
    /// Checks a password.
    ///
    /// # Errors
    /// When its length in Unicode scalar values is outside `8..=256`, or it holds NUL.
    pub fn new(password: impl Into<String>) -> Result<Self, InvalidValue> {
        let password = password.into();
        check_length(&password, 8, 256)?;
        Ok(Self(Secret::new(password)))
    }

    /// The password itself.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl Serialize for Password {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "a password", |text| Self::new(text))
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Password, "minLength": 8, "maxLength": 256);

object! {
    /// `POST /v1/auth/register`.
    pub struct Register {
        /// The account name.
        name: Name<1, 100>,
        /// The password.
        password: Password,
        ;
        /// Opens registration where it needs an invite; does not join the invite's room.
        invite: Option<InviteId>,
        /// Whether the token comes as a cookie.
        cookie: Option<bool>,
    }

    /// `POST /v1/auth/login`.
    pub struct Login {
        /// The account name.
        name: Text<0, 1000>,
        /// The password.
        password: Secret,
        ;
        /// Whether the token comes as a cookie.
        cookie: Option<bool>,
    }

    /// The answer to register and login.
    pub struct AuthReply {
        /// When the session ends.
        expires_at: Timestamp,
        /// The session.
        session_id: SessionId,
        /// The account.
        user: User,
        ;
        /// The token; none when it came as a cookie.
        token: Option<Secret>,
    }

    /// The answer to `POST /v1/auth/refresh`: the same session, a new token.
    pub struct RefreshedToken {
        /// When the session ends.
        expires_at: Timestamp,
        /// The session.
        session_id: SessionId,
        ;
        /// The token; none when it came as a cookie.
        token: Option<Secret>,
    }

    /// `POST /v1/auth/password`.
    pub struct PasswordChange {
        /// The present password.
        password: Secret,
        /// The one from now on.
        new_password: Password,
    }
}
