//! The local engine: this process, as many points at a time as there are threads. While the files of
//! a point are written to the disk the next point begins.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use gleaner_learn::data::{DataError, Dataset, DatasetName};
use gleaner_sim::fleet;
use gleaner_sim::run::{Observer, thread_count};
use gleaner_sim::scenario::Scenario;

use super::point::{self, Attempt};
use super::{EngineOptions, Outcome, Stopping, Watcher};
use crate::plan::Plan;

pub(super) fn execute(
    plan: &Plan,
    dir: &Path,
    options: &EngineOptions,
    watcher: &mut dyn Watcher,
) -> Vec<Outcome> {
    let (threads, stopping) = (options.threads, &options.stopping);
    let library = Library::default();
    let points = plan.points();
    side_by_side(
        points.len(),
        threads,
        |at, threads, turn| {
            if stopping.is_requested() {
                return point::look(dir, &points[at], plan.keep());
            }
            let turn = Some(turn);
            let how = Attempt {
                threads,
                keep: plan.keep(),
                wait: true,
                force: false,
            };
            point::execute(
                dir,
                &points[at],
                &how,
                &library,
                &mut Rounds { turn, stopping },
            )
        },
        |at, outcome| watcher.finished(&points[at], outcome),
    )
}

/// The turn of a point, which ends with its rounds.
struct Rounds<'a> {
    turn: Option<Turn<'a>>,
    stopping: &'a Stopping,
}

impl Observer for Rounds<'_> {
    fn ended(&mut self) {
        self.turn = None;
    }

    fn pauses(&mut self) -> bool {
        self.stopping.is_requested()
    }
}

/// Runs `count` jobs on `threads` threads in all, each with its share of the threads; returns the
/// results in order. A job that drops its turn early, to wait for the disk, lets the next one begin.
fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    job: impl Fn(usize, usize, Turn<'_>) -> T + Sync,
    mut finished: impl FnMut(usize, &T),
) -> Vec<T> {
    let workers = thread_count(threads).min(count).max(1);
    let each = (thread_count(threads) / workers).max(1);
    let turns = Turns {
        free: Mutex::new(workers),
        ended: Condvar::new(),
    };
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<T>> = std::iter::repeat_with(|| None).take(count).collect();
    std::thread::scope(|scope| {
        // One thread that waits for the disk for each one that computes.
        for _ in 0..count.min(2 * workers) {
            let (sender, next, job, turns) = (sender.clone(), &next, &job, &turns);
            scope.spawn(move || {
                loop {
                    let turn = turns.take();
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count || sender.send((at, job(at, each, turn))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (at, result) in receiver {
            finished(at, &result);
            results[at] = Some(result);
        }
    });
    results.into_iter().flatten().collect()
}

/// Limits the number of jobs that compute.
struct Turns {
    free: Mutex<usize>,
    ended: Condvar,
}

/// Right to compute, which ends when it is dropped.
struct Turn<'a>(&'a Turns);

impl Turns {
    fn take(&self) -> Turn<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.ended.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.ended.notify_one();
    }
}

/// Data sets, each loaded once.
#[derive(Default)]
pub(crate) struct Library {
    sets: Mutex<HashMap<(DatasetName, String), Arc<Dataset>>>,
}

impl Library {
    pub(super) fn get(&self, scenario: &Scenario) -> Result<Arc<Dataset>, DataError> {
        let data = &scenario.data;
        let key = (data.dataset.clone(), data.directory.clone());
        // A thread that panicked while loading left the map as it was.
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(data) = sets.get(&key) {
            return Ok(Arc::clone(data));
        }
        let data = fleet::load_data(scenario)?;
        sets.insert(key, Arc::clone(&data));
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_ends_its_turn_lets_the_next_begin_and_turns_are_limited() {
        let (begun, others) = mpsc::channel();
        let others = Mutex::new(others);
        let holders = AtomicUsize::new(0);
        let job = |at: usize, threads, turn: Turn<'_>| {
            assert_eq!(threads, 1);
            assert!(holders.fetch_add(1, Ordering::SeqCst) < 2);
            begun.send(at).unwrap();
            holders.fetch_sub(1, Ordering::SeqCst);
            drop(turn);
            // The first ends when all the others have begun.
            if at == 0 {
                let others = others.lock().unwrap();
                assert_eq!(others.iter().take(8).sum::<usize>(), 28);
            }
            at
        };
        assert_eq!(side_by_side(8, 2, job, |_, _| ()), Vec::from_iter(0..8));
    }
}
