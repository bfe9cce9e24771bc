//! Medians and a histogram of latencies that costs a few nanoseconds a value.

/// Buckets per power of two: values are kept to about 1.5 %.
const STEPS: usize = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of values (nanoseconds here), exact below 64, to 1/64 above.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; STEPS * 60], total: 0 }
    }
}

impl Histogram {
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    /// The value below or at which `share` (0 to 1) of the recorded ones lie; 0 when there are none.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return value_of(index);
            }
        }
        0
    }

    /// The same in milliseconds, of recorded nanoseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        self.quantile(share) as f64 / 1e6
    }
}

fn bucket(value: u64) -> usize {
    if value < STEPS as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - STEP_BITS;
    let step = (value >> shift) as usize - STEPS;
    (shift as usize + 1) * STEPS + step
}

fn value_of(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let shift = bucket / STEPS - 1;
    ((bucket % STEPS + STEPS) as u64) << shift
}

/// The middle of some values, the mean of the middle two when they are even; none of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_two_percent() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000_u64 {
            histogram.record(value * 1_000);
        }
        for (share, exact) in [(0.5, 50_000_000.0), (0.99, 99_000_000.0), (1.0, 100_000_000.0)] {
            let found = histogram.quantile(share) as f64;
            assert!((found - exact).abs() / exact < 0.02, "{share}: {found} is not about {exact}");
        }
    }

    #[test]
    fn small_values_are_exact_and_large_ones_fit() {
        let mut histogram = Histogram::default();
        histogram.record(3);
        assert_eq!(histogram.quantile(0.5), 3);
        histogram.clear();
        assert_eq!(histogram.quantile(0.5), 0);
        histogram.record(u64::MAX);
        assert!(histogram.quantile(0.5) > u64::MAX / 2);
    }

    #[test]
    fn medians_of_odd_even_and_no_values() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([]), None);
    }
}
