//! Following workers elsewhere by what they leave in the directory.
//!
//! The directory alone says which points are done: the queue is only asked whether anybody is still at
//! work, so that points whose workers died without a word are given out again.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{EngineError, Watcher};
use crate::batch::gather::{look, newest};
use crate::batch::place::Place;
use crate::batch::{Outcome, Plan};

/// Times that points are given out again without any of them coming further.
const FRUITLESS: u32 = 3;

/// Points that were given out to workers elsewhere.
pub(super) trait Queue {
    /// Tells whether a worker may still be at a point; asked seldom, for it may be dear.
    fn is_busy(&mut self, watcher: &mut dyn Watcher) -> Result<bool, EngineError>;
    /// Gives points out; not necessarily all of them.
    fn submit(&mut self, points: &[usize], watcher: &mut dyn Watcher) -> Result<(), EngineError>;
}

/// Gives out what is missing until it is there, or does not come any further.
pub(super) fn follow(
    plan: &Plan,
    dir: &Path,
    queue: &mut dyn Queue,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Outcome>, EngineError> {
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
            let outcome = look(plan, dir, &points[at]);
            watcher.finished(&points[at], &outcome);
            outcomes[at] = Some(outcome);
            open.remove(&at);
        }
        if open.is_empty() {
            break;
        }
        // Whoever ended while the queue was asked is seen first.
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
            let outcome = look(plan, dir, &points[at]);
            watcher.finished(&points[at], &outcome);
            outcome
        })
    });
    Ok(rest.collect())
}

/// How far the open points have come: how many there are, and rounds that are done of each.
fn progress(plan: &Plan, dir: &Path, open: &[usize]) -> (usize, u64) {
    let rounds = open.iter().map(|&at| {
        let place = Place::new(dir, &plan.points()[at].id);
        u64::from(newest(&place).unwrap_or_default())
    });
    (open.len(), rounds.sum())
}

/// How often the directory is looked at and the queue asked: often at first, seldom in a long wait.
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
