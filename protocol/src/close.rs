//! Why a socket is closed.

macro_rules! close_codes {
    ($(#[doc = $doc:literal] $name:ident $code:literal;)*) => {
        /// The close codes of the protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CloseCode { $( #[doc = $doc] $name, )* }

        impl CloseCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The number on the wire.
            pub const fn code(self) -> u16 {
                match self { $(Self::$name => $code),* }
            }

            /// What it means, for people.
            pub const fn description(self) -> &'static str {
                match self { $(Self::$name => $doc),* }.trim_ascii()
            }

            /// The code of a number, if the protocol knows it.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

close_codes! {
    /// Normal: stop.
    Normal 1000;
    /// The server drains or restarts: reconnect after a random 0–5 s.
    GoingAway 1001;
    /// A violation of RFC 6455.
    ProtocolError 1002;
    /// A text frame where binary was agreed, or the other way round.
    WrongFrameKind 1003;
    /// Invalid UTF-8.
    InvalidUtf8 1007;
    /// A frame over the limit.
    TooBig 1009;
    /// Internal failure: reconnect with backoff.
    Internal 1011;
    /// Not a frame of the protocol.
    BadFrame 4400;
    /// Token invalid, expired or revoked: get a new one.
    Unauthenticated 4401;
    /// No hello in time, or heartbeat missed: reconnect.
    TimedOut 4408;
    /// Behind again and again, or for 60 s: reconnect.
    Behind 4413;
    /// Too many connections or frames; the reason is `retryAfterMs=<n>`.
    TooMany 4429;
}

impl CloseCode {
    /// Whether a client should connect again by itself.
    pub const fn should_reconnect(self) -> bool {
        matches!(self, Self::GoingAway | Self::Internal | Self::TimedOut | Self::Behind | Self::TooMany)
    }
}
