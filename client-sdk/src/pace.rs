//! Keeps a connection below the server's limit of frames, so that a flood of sends waits here instead
//! of being cut off there.

use std::time::Duration;

use tokio::time::Instant;

/// The share of the server's limit that is used: clocks differ, and pongs count too.
const SHARE: f64 = 0.9;

/// A budget of frames that refills with time.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    per_second: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl Pace {
    /// The budget of a server that allows `per_second` frames and bursts of `burst`; 0 is no limit.
    pub(crate) fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let burst = (f64::from(burst) * SHARE).max(1.0);
        Self { per_second: f64::from(per_second) * SHARE, burst, left: burst, at: now }
    }

    /// Frames that may be sent now.
    pub(crate) fn available(&mut self, now: Instant) -> usize {
        if self.per_second <= 0.0 {
            return usize::MAX;
        }
        self.left = (self.left + now.duration_since(self.at).as_secs_f64() * self.per_second).min(self.burst);
        self.at = now;
        // A frame's worth may be a rounding error short when its time has come.
        (self.left + 1e-6) as usize
    }

    /// Counts a frame, also one that could not wait.
    pub(crate) fn spend(&mut self) {
        self.left -= 1.0;
    }

    /// How long until a frame may be sent.
    pub(crate) fn wait(&self) -> Duration {
        if self.per_second <= 0.0 || self.left >= 1.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64((1.0 - self.left) / self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_and_then_the_sustained_rate() {
        let start = Instant::now();
        let mut pace = Pace::new(100, 1000, start);
        assert_eq!(pace.available(start), 900);
        for _ in 0..900 {
            pace.spend();
        }
        assert_eq!(pace.available(start), 0);
        let wait = pace.wait();
        assert_eq!(pace.available(start + wait), 1);
        assert_eq!(pace.available(start + Duration::from_secs(1)), 90);
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_is_never_in_the_way() {
        let mut pace = Pace::new(0, 0, Instant::now());
        assert_eq!(pace.available(Instant::now()), usize::MAX);
        assert_eq!(pace.wait(), Duration::ZERO);
    }
}
