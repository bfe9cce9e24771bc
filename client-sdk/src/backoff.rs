//! How long to wait before the next try: exponential, with full jitter.

use std::time::Duration;

/// The longest first wait.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of all.
const LONGEST: Duration = Duration::from_secs(30);
/// A connection that lived this long was a good one: the next failure is a first one again.
pub(crate) const GOOD_LIFE: Duration = Duration::from_secs(30);
/// The longest wait after the server said that it restarts.
pub(crate) const RESTART_SPREAD: Duration = Duration::from_secs(5);

/// The state of one series of failures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after one more failure; `unit` is a random number of `0.0..1.0`.
    pub(crate) fn next(&mut self, unit: f64) -> Duration {
        let ceiling = Self::ceiling(self.failures);
        self.failures = self.failures.saturating_add(1);
        ceiling.mul_f64(unit.clamp(0.0, 1.0))
    }

    /// Failures since the last success.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Starts afresh.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    fn ceiling(failures: u32) -> Duration {
        FIRST.saturating_mul(1 << failures.min(10)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_half_a_second_to_thirty() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..9).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
        backoff.reset();
        assert_eq!(backoff.next(1.0).as_millis(), 500);
    }

    #[test]
    fn jitter_is_full() {
        let mut backoff = Backoff { failures: 3 };
        assert_eq!(backoff.next(0.0), Duration::ZERO);
        assert_eq!(Backoff { failures: 3 }.next(0.5).as_millis(), 2000);
    }

    #[test]
    fn no_number_of_failures_overflows() {
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.next(1.0), LONGEST);
        assert_eq!(backoff.failures(), u32::MAX);
    }
}
