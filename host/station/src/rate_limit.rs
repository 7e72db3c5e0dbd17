//! Rate limits: a token bucket, and the quota of events that one board may put into the log.

use std::collections::HashSet;
use std::io::{self, Write};
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::event::{Event, EventKind};

/// A token bucket: up to `burst` tokens at once, refilled at `rate` tokens per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    burst: f64,
    rate: f64,
    left: f64,
    at: Instant,
}

impl TokenBucket {
    /// Returns a full bucket.
    pub(crate) fn new(burst: f64, rate: f64) -> Self {
        Self {
            burst,
            rate,
            left: burst,
            at: Instant::now(),
        }
    }

    /// Takes `cost` tokens, or none if fewer are left.
    pub(crate) fn take(&mut self, now: Instant, cost: f64) -> bool {
        self.fill(now);
        let enough = cost <= self.left;
        if enough {
            self.left -= cost;
        }
        enough
    }

    /// Returns when `cost` tokens will be there, or `None` if they are.
    pub(crate) fn ready_at(&mut self, now: Instant, cost: f64) -> Option<Instant> {
        self.fill(now);
        let missing = cost.min(self.burst) - self.left;
        // Rounded up, so that the tokens are there at that instant.
        (missing > 0.0)
            .then(|| now + Duration::from_secs_f64(missing / self.rate) + Duration::from_millis(1))
    }

    /// Waits until `cost` tokens are there, and tells whether it had to; may be dropped and called
    /// again at any time.
    pub(crate) async fn ready(&mut self, cost: f64) -> bool {
        let at = self.ready_at(Instant::now(), cost);
        if let Some(at) = at {
            sleep_until(at).await;
        }
        at.is_some()
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = self.burst.min(self.left + passed * self.rate);
    }
}

/// Bytes of optional events that may come at once: some forty rounds of a well-behaved board.
const BURST: f64 = 192.0 * 1024.0;

/// Bytes of optional events per second: less than a megabyte per minute.
const RATE: f64 = 8.0 * 1024.0;

/// Bytes of a log line beside its event: the time, and the line that counts dropped events.
const BESIDE: f64 = 100.0;

/// The quota of one event sender. The record of a round is exempt.
#[derive(Debug)]
pub(crate) struct EventQuota {
    bucket: TokenBucket,
    round: Option<u32>,
    /// Clients, rounds and kinds of the record events sent since `round` began.
    seen: HashSet<(gleaner_sim::ClientId, Option<u32>, Discriminant<EventKind>)>,
}

/// Whether an event may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The event is part of a round's record and is always sent.
    Always,
    /// The event is sent if the bus has room.
    IfRoom,
    /// The quota is used up.
    Never,
}

impl EventQuota {
    pub(crate) fn new() -> Self {
        Self {
            bucket: TokenBucket::new(BURST, RATE),
            round: None,
            seen: HashSet::new(),
        }
    }

    /// Decides on an event. In a round's record the first event of a kind is free; a board that
    /// opens session after session can repeat it, and repetitions count against the quota.
    pub(crate) fn admit(&mut self, now: Instant, event: &Event) -> Admission {
        if event.what.is_record() && self.is_first(event) {
            return Admission::Always;
        }
        match self.bucket.take(now, bytes(event) + BESIDE) {
            true => Admission::IfRoom,
            false => Admission::Never,
        }
    }

    fn is_first(&mut self, event: &Event) -> bool {
        if event.round > self.round {
            self.round = event.round;
            self.seen.clear();
        }
        let kind = discriminant(&event.what);
        self.seen.insert((event.client, event.round, kind))
    }
}

/// Returns the length of an event in the log.
fn bytes(event: &Event) -> f64 {
    struct Length(usize);

    impl Write for Length {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut length = Length(0);
    // Counting does not fail, and an event that cannot be written costs nothing.
    let _ = serde_json::to_writer(&mut length, event);
    length.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let begin = Instant::now();
        let mut bucket = TokenBucket::new(5.0, 10.0);
        let mut delayed = 0;
        for _ in 0..5 {
            delayed += u32::from(bucket.ready(1.0).await);
            assert!(bucket.take(Instant::now(), 1.0));
        }
        assert_eq!((begin.elapsed(), delayed), (Duration::ZERO, 0));
        for _ in 0..20 {
            delayed += u32::from(bucket.ready(1.0).await);
            assert!(bucket.take(Instant::now(), 1.0));
        }
        let waited = begin.elapsed().as_secs_f64();
        assert!((1.95..2.1).contains(&waited), "{waited}");
        assert_eq!(delayed, 20);
        // An idle hour fills the bucket up to its burst.
        tokio::time::advance(Duration::from_secs(3600)).await;
        let idle = Instant::now();
        for _ in 0..6 {
            bucket.ready(1.0).await;
            bucket.take(Instant::now(), 1.0);
        }
        assert!(idle.elapsed() >= Duration::from_millis(99));
    }
}
