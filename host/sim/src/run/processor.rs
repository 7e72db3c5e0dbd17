//! Processor time of a run, from what the system counts for the whole process.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ticks per second in `/proc`, on every Linux that Rust supports.
const TICKS_PER_S: f64 = 100.0;

/// Runs that this process executes now, and all that it ever began.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Measures the time from its creation on.
pub(super) struct ProcessorTime {
    begin_s: Option<f64>,
    /// Value of [`BEGUN`] that stays if no other run shares the process.
    alone: Option<usize>,
}

impl ProcessorTime {
    pub(super) fn begin() -> Self {
        let others = ACTIVE.fetch_add(1, Ordering::SeqCst);
        let begun = BEGUN.fetch_add(1, Ordering::SeqCst) + 1;
        Self {
            begin_s: of_process(),
            alone: (others == 0).then_some(begun),
        }
    }

    /// Returns the seconds since; `None` where another run shared the process, or the system does not
    /// tell.
    pub(super) fn end(self) -> Option<f64> {
        let alone = self.alone == Some(BEGUN.load(Ordering::SeqCst));
        let seconds = (TICKS_PER_S * (of_process()? - self.begin_s?)).round() / TICKS_PER_S;
        alone.then_some(seconds)
    }
}

impl Drop for ProcessorTime {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns the seconds that all threads of this process have computed.
fn of_process() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain blanks.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_busy_tenth_of_a_second_is_counted() {
        let before = of_process().unwrap();
        let begin = std::time::Instant::now();
        let mut sum = 0_u64;
        while begin.elapsed().as_millis() < 100 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(of_process().unwrap() > before);
    }

    #[test]
    fn two_runs_in_one_process_have_no_time_of_their_own() {
        let first = ProcessorTime::begin();
        let second = ProcessorTime::begin();
        assert_eq!((first.end(), second.end()), (None, None));
    }
}
