//! Follows workers on other machines by the files in the directory.
//!
//! The directory alone tells which points are done: the queue is only asked whether a task is still
//! active, so that points whose workers died silently are submitted again.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use super::place::Place;
use super::point::{look, newest};
use super::{Outcome, Watcher};
use crate::error::ExperimentError;
use crate::plan::Plan;

/// Submissions in a row without progress after which the engine gives up.
const FRUITLESS: u32 = 3;

/// A queue of tasks on other machines.
pub(super) trait Queue {
    /// Tells whether a task may still be active; may be slow.
    fn is_busy(&mut self, watcher: &mut dyn Watcher) -> Result<bool, ExperimentError>;
    /// Submits points; not necessarily all of them.
    fn submit(
        &mut self,
        points: &[usize],
        watcher: &mut dyn Watcher,
    ) -> Result<(), ExperimentError>;
}

/// Submits missing points until all are complete or failed, or there is no progress.
pub(super) fn follow(
    plan: &Plan,
    dir: &Path,
    queue: &mut dyn Queue,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Outcome>, ExperimentError> {
    let points = plan.points();
    let mut outcomes: Vec<Option<Outcome>> = points.iter().map(|_| None).collect();
    let mut open: BTreeSet<usize> = (0..points.len()).collect();
    let (mut fruitless, mut last) = (0, None);
    let mut pace = Pace::start();
    let ended = |open: &BTreeSet<usize>| -> Vec<usize> {
        let has_ended = |at: &usize| {
            let place = Place::new(dir, &points[*at].id);
            place.run().is_complete() || place.failure().is_some()
        };
        open.iter().copied().filter(has_ended).collect()
    };
    loop {
        for at in ended(&open) {
            let outcome = look(dir, &points[at], plan.keep());
            watcher.finished(&points[at], &outcome);
            outcomes[at] = Some(outcome);
            open.remove(&at);
        }
        if open.is_empty() {
            break;
        }
        // Points that ended while the queue was asked are handled first.
        if pace.is_time_to_ask() && !queue.is_busy(watcher)? && ended(&open).is_empty() {
            let open: Vec<usize> = open.iter().copied().collect();
            let progress = Some(progress(plan, dir, &open));
            fruitless = if last == progress { fruitless + 1 } else { 0 };
            if fruitless == FRUITLESS {
                break;
            }
            last = progress;
            queue.submit(&open, watcher)?;
            pace = Pace::start();
        }
        std::thread::sleep(pace.pause());
    }
    let rest = outcomes.into_iter().enumerate().map(|(at, outcome)| {
        outcome.unwrap_or_else(|| {
            let outcome = look(dir, &points[at], plan.keep());
            watcher.finished(&points[at], &outcome);
            outcome
        })
    });
    Ok(rest.collect())
}

/// Returns the number of open points and the sum of their completed rounds.
fn progress(plan: &Plan, dir: &Path, open: &[usize]) -> (usize, u64) {
    let rounds = open.iter().map(|&at| {
        let place = Place::new(dir, &plan.points()[at].id);
        u64::from(newest(&place).unwrap_or_default())
    });
    (open.len(), rounds.sum())
}

/// Intervals at which the directory and the queue are polled: short at first, longer in a long wait.
struct Pace {
    begin: Instant,
    asked: Option<Instant>,
}

impl Pace {
    fn start() -> Self {
        Self {
            begin: Instant::now(),
            asked: None,
        }
    }

    fn pause(&self) -> Duration {
        let pause = self.begin.elapsed() / 20;
        pause.clamp(Duration::from_millis(100), Duration::from_secs(5))
    }

    fn is_time_to_ask(&mut self) -> bool {
        let pause = self.begin.elapsed() / 10;
        let pause = pause.clamp(Duration::from_secs(1), Duration::from_secs(30));
        let due = self.asked.is_none_or(|asked| asked.elapsed() >= pause);
        if due {
            self.asked = Some(Instant::now());
        }
        due
    }
}
