//! A bucket that fills with time: so much at once, so much in a second.

use std::time::Duration;

use tokio::time::Instant;

/// What is left of an allowance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    burst: f64,
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Returns a full one.
    pub(super) fn new(burst: f64, rate: f64) -> Self {
        Self {
            burst,
            rate,
            left: burst,
            at: Instant::now(),
        }
    }

    /// Takes `cost`, or nothing if less is left.
    pub(super) fn take(&mut self, now: Instant, cost: f64) -> bool {
        self.fill(now);
        let enough = cost <= self.left;
        if enough {
            self.left -= cost;
        }
        enough
    }

    /// Returns when `cost` will be left, unless it is.
    pub(super) fn ready_at(&mut self, now: Instant, cost: f64) -> Option<Instant> {
        self.fill(now);
        let missing = cost.min(self.burst) - self.left;
        // Rounded up: a moment before, it would not be.
        (missing > 0.0)
            .then(|| now + Duration::from_secs_f64(missing / self.rate) + Duration::from_millis(1))
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = self.burst.min(self.left + passed * self.rate);
    }
}
