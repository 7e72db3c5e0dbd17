//! How many calls are answered in a second, on average: whoever calls more often waits in the
//! system's queue and costs the run nothing.

use tokio::time::{Duration, Instant, sleep_until};

/// A bucket of tokens: each call takes one, and they come back at a steady rate.
#[derive(Debug)]
pub(super) struct Pace {
    /// Tokens a second.
    rate: f64,
    /// Tokens the bucket holds.
    burst: f64,
    tokens: f64,
    /// When there were so many.
    at: Instant,
}

impl Pace {
    /// Starts with a full bucket.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Self {
            rate,
            burst,
            tokens: burst,
            at: Instant::now(),
        }
    }

    /// Waits until a call may be answered; may be dropped and called again at any time.
    pub(super) async fn ready(&self) {
        let missing = (1.0 - self.tokens).max(0.0) / self.rate;
        sleep_until(self.at + Duration::from_secs_f64(missing)).await;
    }

    /// Takes the token of a call; says whether the bucket was empty before it.
    pub(super) fn take(&mut self) -> bool {
        let now = Instant::now();
        let back = self.rate * now.duration_since(self.at).as_secs_f64();
        let was_empty = self.tokens < 1.0;
        self.tokens = (self.tokens + back).min(self.burst) - 1.0;
        self.at = now;
        was_empty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_what_follows_at_the_rate() {
        let begin = Instant::now();
        let mut pace = Pace::new(10.0, 5.0);
        let mut delayed = 0;
        for _ in 0..5 {
            pace.ready().await;
            delayed += u32::from(pace.take());
        }
        assert_eq!((begin.elapsed(), delayed), (Duration::ZERO, 0));
        for _ in 0..20 {
            pace.ready().await;
            delayed += u32::from(pace.take());
        }
        let waited = begin.elapsed().as_secs_f64();
        assert!((1.95..2.1).contains(&waited), "{waited}");
        assert_eq!(delayed, 20);
        // An idle hour fills the bucket, and no more than that.
        tokio::time::advance(Duration::from_secs(3600)).await;
        let idle = Instant::now();
        for _ in 0..6 {
            pace.ready().await;
            pace.take();
        }
        assert!(idle.elapsed() >= Duration::from_millis(99));
    }
}
