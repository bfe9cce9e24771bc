//! The node's clock.

/// Nanoseconds since the Unix epoch.
pub(crate) fn now_nanos() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}
