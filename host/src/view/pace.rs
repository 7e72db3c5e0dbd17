//! How long the rest of a run may take, by its newest rounds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Rounds that are looked back on.
const ROUNDS: usize = 5;

/// When the newest rounds ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// The beginning of the oldest round that counts, then every end.
    ends: VecDeque<Instant>,
}

impl Pace {
    /// Takes note that a round has ended, or that the first begins.
    pub fn mark(&mut self, now: Instant) {
        if self.ends.len() > ROUNDS {
            self.ends.pop_front();
        }
        self.ends.push_back(now);
    }

    /// Returns how long so many rounds take, the one that runs at `now` included; `None` before
    /// there is a round to go by.
    pub fn left(&self, rounds: usize, now: Instant) -> Option<Duration> {
        let (first, last) = (self.ends.front()?, self.ends.back()?);
        let known = u32::try_from(self.ends.len() - 1).ok()?;
        let mean = last.duration_since(*first).checked_div(known)?;
        let rounds = u32::try_from(rounds).ok()?;
        let running = now.saturating_duration_since(*last).min(mean);
        Some(mean.saturating_mul(rounds).saturating_sub(running))
    }
}

/// Writes a duration as people say it.
pub fn words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_newest_rounds() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut pace = Pace::default();
        assert_eq!(pace.left(10, at(0)), None);
        pace.mark(at(0));
        assert_eq!(pace.left(10, at(9)), None, "no round is known");
        // A slow first round, then six of ten seconds.
        for end in [100, 110, 120, 130, 140, 150, 160] {
            pace.mark(at(end));
        }
        let left = |rounds, seconds| pace.left(rounds, at(seconds)).unwrap().as_secs();
        assert_eq!(left(3, 160), 30, "the first round no longer counts");
        assert_eq!(left(3, 164), 26);
        assert_eq!(left(3, 999), 20, "a late round is not worth more than one");
        assert_eq!(left(0, 160), 0);
    }

    #[test]
    fn durations_read_as_people_say_them() {
        for (seconds, said) in [(9, "9 s"), (100, "1 min 40 s"), (7_380, "2 h 3 min")] {
            assert_eq!(words(Duration::from_secs(seconds)), said);
        }
    }
}
