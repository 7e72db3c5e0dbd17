//! Measures wall-clock time, and processor time of the commands that ended.

use std::fmt;
use std::iter::Sum;
use std::time::{Duration, Instant};

/// Time of a step by wall clock and by processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub wall: Duration,
    /// Time of all processors together; known on Linux only.
    pub processors: Option<Duration>,
}

/// A moment to measure from.
pub struct Clock {
    wall: Instant,
    processors: Option<Duration>,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            wall: Instant::now(),
            processors: processors(),
        }
    }

    /// Returns the time since the start; processor time is that of commands that ended.
    pub fn taken(&self) -> Taken {
        let since = |start| Some(processors()?.saturating_sub(start));
        Taken {
            wall: self.wall.elapsed(),
            processors: self.processors.and_then(since),
        }
    }
}

impl Sum for Taken {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let none = Self {
            wall: Duration::ZERO,
            processors: Some(Duration::ZERO),
        };
        parts.fold(none, |sum, part| Self {
            wall: sum.wall + part.wall,
            processors: sum.processors.zip(part.processors).map(|(a, b)| a + b),
        })
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.1} s", self.wall.as_secs_f64())?;
        match self.processors {
            Some(time) => write!(f, " {:>8.1} s", time.as_secs_f64()),
            None => write!(f, " {:>10}", "-"),
        }
    }
}

/// Processor time of all children of this process that ended, and of theirs.
fn processors() -> Option<Duration> {
    of_children(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Reads `cutime` and `cstime` in a line of `/proc/<id>/stat`, see `man 5 proc_pid_stat`.
fn of_children(stat: &str) -> Option<Duration> {
    /// Ticks to programs are hundredths of a second on every architecture that runs cargo.
    const TICK: Duration = Duration::from_millis(10);
    // The program's name, in brackets, may hold spaces; the state after it is field 3.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(16 - 3);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * user + TICK * system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_the_16th_and_17th_field() {
        let stat = "7 (x) task) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 250 50 20 0 1 0 900";
        assert_eq!(of_children(stat), Some(Duration::from_secs(3)));
        assert_eq!(of_children("7 (xtask) S 1"), None);
    }

    #[test]
    fn a_sum_is_known_only_if_all_its_parts_are() {
        let part = |processors| Taken {
            wall: Duration::from_secs(2),
            processors,
        };
        let known = part(Some(Duration::from_secs(3)));
        let sum: Taken = [known, known].into_iter().sum();
        assert_eq!(sum.to_string(), "     4.0 s      6.0 s");
        let sum: Taken = [known, part(None)].into_iter().sum();
        assert_eq!(sum.to_string(), "     4.0 s          -");
    }
}
