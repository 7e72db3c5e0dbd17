//! Conversion from the board's clock to the meter's: an offset and a drift.

/// Conversion from the board's time to the trace's: `t = origin_trace + (1 + drift) (t_board - origin)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// A time of the board's clock, in seconds; the middle of the fitted edges.
    pub origin_s: f64,
    /// The same time in the trace, in seconds from its first sample.
    pub origin_trace_s: f64,
    /// Relative excess of the trace's time over the board's.
    pub drift: f64,
}

/// Smallest number of edges for a line; two always lie on one.
pub(super) const MIN_EDGES: usize = 3;

impl Clock {
    /// Converts a time of the board to a time in the trace.
    #[must_use]
    pub fn to_trace(&self, board_s: f64) -> f64 {
        self.origin_trace_s + (1.0 + self.drift) * (board_s - self.origin_s)
    }

    /// Returns the time in the trace at which the board's clock shows zero.
    #[must_use]
    pub fn offset_s(&self) -> f64 {
        self.to_trace(0.0)
    }

    /// Returns the drift in parts per million.
    #[must_use]
    pub const fn drift_ppm(&self) -> f64 {
        1e6 * self.drift
    }

    /// Fits a line through pairs of (board, trace) in rising order, robust against outliers in up to
    /// a quarter of them: the median of slopes over half the length, then least squares on pairs
    /// within three robust deviations, at least within `step_s`.
    ///
    /// Returns `None` for fewer than three pairs or if they span no time.
    #[must_use]
    pub fn through(pairs: &[(f64, f64)], step_s: f64) -> Option<Self> {
        let (first, last) = (pairs.first()?, pairs.last()?);
        if pairs.len() < MIN_EDGES || last.0 <= first.0 {
            return None;
        }
        let half = pairs.len() / 2;
        let slopes = pairs.iter().zip(&pairs[half..]);
        let slope = median(
            slopes
                .filter(|(early, late)| late.0 > early.0)
                .map(|(early, late)| (late.1 - early.1) / (late.0 - early.0)),
        )?;
        let origin_s = 0.5 * (first.0 + last.0);
        let mut clock = Self {
            origin_s,
            origin_trace_s: median(pairs.iter().map(|p| p.1 - slope * (p.0 - origin_s)))?,
            drift: slope - 1.0,
        };
        for _ in 0..3 {
            let miss = |pair: &(f64, f64)| pair.1 - clock.to_trace(pair.0);
            let spread = 1.4826 * median(pairs.iter().map(|pair| miss(pair).abs()))?;
            let reach = (3.0 * spread).max(step_s);
            let near: Vec<(f64, f64)> = (pairs.iter())
                .map(|pair| (pair.0 - origin_s, miss(pair)))
                .filter(|near| near.1.abs() <= reach)
                .collect();
            clock = clock.corrected(&near);
        }
        Some(clock)
    }

    /// Adds the least-squares line through (time from the origin, deviation).
    fn corrected(self, misses: &[(f64, f64)]) -> Self {
        let count = misses.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| misses.iter().map(of).sum::<f64>() / count;
        let (middle, missing) = (mean(|m| m.0), mean(|m| m.1));
        let square: f64 = misses.iter().map(|m| (m.0 - middle).powi(2)).sum();
        if misses.len() < MIN_EDGES || square <= 0.0 {
            return self;
        }
        let product: f64 = (misses.iter())
            .map(|m| (m.0 - middle) * (m.1 - missing))
            .sum();
        let slope = product / square;
        Self {
            origin_trace_s: self.origin_trace_s + missing - slope * middle,
            drift: self.drift + slope,
            ..self
        }
    }
}

/// Returns the upper median, or `None` if there are no values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let (_, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(count: u32) -> Vec<(f64, f64)> {
        let truth = Clock {
            origin_s: 0.0,
            origin_trace_s: 1.25,
            drift: 50e-6,
        };
        (0..count)
            .map(|n| f64::from(n) * 0.7)
            .map(|t| (t, truth.to_trace(t)))
            .collect()
    }

    #[test]
    fn offset_and_drift_are_found_despite_outliers() {
        let mut pairs = pairs(41);
        for wild in [3, 17, 29, 40] {
            pairs[wild].1 += 0.3;
        }
        let clock = Clock::through(&pairs, 1e-5).unwrap();
        assert!((clock.offset_s() - 1.25).abs() < 1e-9, "{clock:?}");
        assert!((clock.drift_ppm() - 50.0).abs() < 1e-6);
    }

    #[test]
    fn two_edges_or_a_single_time_give_no_clock() {
        assert_eq!(Clock::through(&pairs(2), 1e-5), None);
        assert_eq!(Clock::through(&[(1.0, 2.0); 5], 1e-5), None);
    }
}
