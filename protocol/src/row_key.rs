//! The key that orders a room's messages, newest first.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Distinct, InvalidValue, RoomId, Timestamp, wire::IsEmpty};

const DIGITS: usize = 30;
const LARGEST: u128 = 10u128.pow(30) - 1;

/// 30 decimal digits of 10^30 − 1 − t, `t` being the message's time in nanoseconds since the Unix epoch.
///
/// A smaller key is a newer message. Any 30 digits are a valid position, whether or not a message has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKey(u128);

impl RowKey {
    /// The key of a time in nanoseconds since the Unix epoch. Times before it count as the epoch.
    pub fn from_tick(tick: i64) -> Self {
        Self(LARGEST - u128::try_from(tick).unwrap_or(0))
    }

    /// Nanoseconds since the Unix epoch; positions beyond what a clock can show are cut to `i64::MAX`.
    pub fn tick(self) -> i64 {
        i64::try_from(LARGEST - self.0).unwrap_or(i64::MAX)
    }

    /// The time of the message, to the millisecond.
    pub fn created_at(self) -> Timestamp {
        Timestamp::from_millis(self.tick() / 1_000_000)
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$}", self.0)
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowKey({self})")
    }
}

impl FromStr for RowKey {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidValue::new("must be 30 decimal digits"));
        }
        // Two halves of 15 digits fit 64-bit arithmetic, which is several times faster than 128-bit.
        let half = |range: std::ops::Range<usize>| text[range].parse::<u64>().map(u128::from).unwrap_or(0);
        Ok(Self(half(0..15) * 10u128.pow(15) + half(15..30)))
    }
}

impl IsEmpty for RowKey {
    fn is_empty(&self) -> bool {
        false
    }
}

impl Distinct for RowKey {
    type Key = Self;

    fn key(&self) -> Self {
        *self
    }
}

impl Serialize for RowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // 10^30 - 1 - t has the digits of t, each taken from 9: for what a clock can show that is 64-bit arithmetic,
        // many times faster than 128-bit.
        let Ok(mut tick) = u64::try_from(LARGEST - self.0) else { return serializer.collect_str(self) };
        let mut digits = [b'9'; DIGITS];
        for digit in digits.iter_mut().rev() {
            if tick == 0 {
                break;
            }
            *digit = b'9' - u8::try_from(tick % 10).unwrap_or(0);
            tick /= 10;
        }
        serializer.serialize_str(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for RowKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::constrained::from_text(deserializer, "a row key", str::parse)
    }
}

#[cfg(feature = "codegen")]
crate::codegen_support::text_schema!(RowKey, "pattern": "^[0-9]{30}$");

/// The composite key: the one identity of a message everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageKey {
    /// The room.
    pub room_id: RoomId,
    /// The place in the room.
    pub row_key: RowKey,
}
