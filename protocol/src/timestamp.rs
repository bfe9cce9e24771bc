//! Instants, to the millisecond.

use std::{fmt, str::FromStr, time::Duration};

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{InvalidValue, wire::IsEmpty};

static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// An instant in milliseconds since the Unix epoch; on the wire RFC 3339 in UTC with milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The current time of this machine's clock.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// An instant by its milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The instant `millis` later.
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// How long after `earlier` this is; nothing when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PRINTER.print_timestamp(&self.to_jiff(), jiff::fmt::StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse::<jiff::Timestamp>()
            .map(|timestamp| Self(timestamp.as_millisecond()))
            .map_err(|_| InvalidValue::new("must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z"))
    }
}

impl IsEmpty for Timestamp {
    fn is_empty(&self) -> bool {
        false
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "an RFC 3339 time", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Timestamp, "format": "date-time");
