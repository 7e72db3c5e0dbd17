//! How many calls are answered in a second, on average: whoever calls more often waits in the
//! system's queue and costs the run nothing.

use tokio::time::{Instant, sleep_until};

use crate::bucket::Bucket;

/// A token for each call, and when the next one may be answered.
#[derive(Debug)]
pub(super) struct Pace {
    tokens: Bucket,
    /// Whether the next call has to wait for its token.
    delayed: bool,
}

impl Pace {
    /// So many calls a second, and so many at once.
    pub(super) fn new(rate: f64, burst: f64) -> Self {
        Self {
            tokens: Bucket::new(burst, rate),
            delayed: false,
        }
    }

    /// Waits until a call may be answered; may be dropped and called again at any time.
    pub(super) async fn ready(&mut self) {
        if let Some(at) = self.tokens.ready_at(Instant::now(), 1.0) {
            self.delayed = true;
            sleep_until(at).await;
        }
    }

    /// Takes the token of a call; says whether it had to wait.
    pub(super) fn take(&mut self) -> bool {
        self.tokens.take(Instant::now(), 1.0);
        std::mem::take(&mut self.delayed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

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
