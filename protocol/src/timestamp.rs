//! Instants, to the millisecond.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{InvalidValue, wire::IsEmpty};

/// The first instant of the year 0 and the last one that the parser knows, at the end of the year 9999.
const SHOWN: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_207_200_999;
const DAY: i64 = 86_400_000;
const TEXT_LENGTH: usize = 24;

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

    /// `2026-03-01T12:00:00.000Z`. Every message has two of these, so they are written by hand.
    fn text(self) -> [u8; TEXT_LENGTH] {
        let millis = self.0.clamp(*SHOWN.start(), *SHOWN.end());
        let (year, month, day) = civil_date(millis.div_euclid(DAY));
        let of_day = millis.rem_euclid(DAY);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: std::ops::Range<usize>, mut value: i64| {
            for digit in text[at].iter_mut().rev() {
                *digit = b'0' + u8::try_from(value % 10).unwrap_or(0);
                value /= 10;
            }
        };
        put(0..4, year);
        put(5..7, month);
        put(8..10, day);
        put(11..13, of_day / 3_600_000);
        put(14..16, of_day / 60_000 % 60);
        put(17..19, of_day / 1000 % 60);
        put(20..23, of_day % 1000);
        text
    }
}

/// Year, month and day of a day since the Unix epoch (Howard Hinnant's `civil_from_days`).
fn civil_date(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
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
        // The parser knows more forms (expanded years, spaces, zone names) than RFC 3339 has.
        let bytes = text.as_bytes();
        let is_rfc3339 = bytes.len() > 10
            && bytes[..4].iter().all(u8::is_ascii_digit)
            && matches!(bytes[10], b'T' | b't')
            && !bytes.contains(&b'[');
        let parsed = if is_rfc3339 { text.parse::<jiff::Timestamp>().ok() } else { None };
        parsed
            .map(|timestamp| timestamp.as_millisecond())
            .filter(|millis| SHOWN.contains(millis))
            .map(Self)
            .ok_or(InvalidValue::new("must be an RFC 3339 time such as 2026-03-01T12:00:00.000Z"))
    }
}

impl IsEmpty for Timestamp {
    fn is_empty(&self) -> bool {
        false
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "an RFC 3339 time", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(Timestamp, "format": "date-time");
