//! Many runs at once: each on threads of its own, results in the order of the plan.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use gleaner_learn::data::{DataError, Dataset, DatasetName};

use gleaner_sim::fleet::{self, BuildError};
use gleaner_sim::report;
use gleaner_sim::run::{
    Completed, Inputs, Run, RunDirectory, RunError, Silent, scenario_of, thread_count,
};
use gleaner_sim::scenario::Scenario;

/// One run to be made.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// What to run.
    pub scenario: Scenario,
    /// The directory it is written to.
    pub directory: RunDirectory,
}

impl PlannedRun {
    /// Makes sure that the directory does not hold a run of another scenario or trace.
    ///
    /// # Errors
    /// [`RunError::Taken`] or [`RunError::OtherTrace`] if it does.
    pub fn check_place(&self) -> Result<(), RunError> {
        let Self {
            scenario,
            directory,
        } = self;
        if !directory.is_started() {
            return Ok(());
        }
        let path = directory.path().to_owned();
        if scenario_of(directory)? != *scenario {
            return Err(RunError::Taken { path });
        }
        if !Inputs::are_unchanged(scenario, directory)? {
            let trace = scenario.channel.trace.clone();
            return Err(RunError::OtherTrace { path, trace });
        }
        Ok(())
    }

    /// Makes sure that a trace covers the run, unless it is made already.
    ///
    /// # Errors
    /// Names the trace and what is wrong with it or missing in it.
    pub fn check_channel(&self) -> Result<(), RunError> {
        if !self.directory.is_started() {
            Inputs::read(&self.scenario)?;
        }
        Ok(())
    }
}

/// Why a planned run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannedRunError {
    /// Its data cannot be had.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Its clients cannot be set up.
    #[error(transparent)]
    Deployment(#[from] BuildError),
    /// The run itself failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Makes every run that is not complete yet, on `threads` threads in all; `finished` hears of
/// each as it ends. Runs that were interrupted are continued, complete ones are only read; all have
/// their reports in the end.
pub fn run_all(
    plan: &[PlannedRun],
    threads: usize,
    finished: impl FnMut(usize, &Result<Completed, PlannedRunError>),
) -> Vec<Result<Completed, PlannedRunError>> {
    make_all(plan, threads, true, finished)
}

/// As [`run_all`], without reports: of a thousand runs nobody reads a page each.
pub fn run_bare(
    plan: &[PlannedRun],
    threads: usize,
    finished: impl FnMut(usize, &Result<Completed, PlannedRunError>),
) -> Vec<Result<Completed, PlannedRunError>> {
    make_all(plan, threads, false, finished)
}

fn make_all(
    plan: &[PlannedRun],
    threads: usize,
    reports: bool,
    finished: impl FnMut(usize, &Result<Completed, PlannedRunError>),
) -> Vec<Result<Completed, PlannedRunError>> {
    let library = Library::default();
    let make = |at: usize, threads, _turn: Turn<'_>| run_one(&plan[at], threads, reports, &library);
    side_by_side(plan.len(), threads, make, finished)
}

/// Does so many things on `threads` threads in all, each with its share of them; `finished` hears of
/// each as it ends. The results are in order. One that ends its turn early, to wait for the disk,
/// makes room for the next.
pub(super) fn side_by_side<T: Send>(
    count: usize,
    threads: usize,
    make: impl Fn(usize, usize, Turn<'_>) -> T + Sync,
    mut finished: impl FnMut(usize, &T),
) -> Vec<T> {
    let workers = thread_count(threads).min(count).max(1);
    let each = (thread_count(threads) / workers).max(1);
    let turns = Turns::new(workers);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<T>> = std::iter::repeat_with(|| None).take(count).collect();
    std::thread::scope(|scope| {
        // For each that computes one that waits for the disk.
        for _ in 0..count.min(2 * workers) {
            let (sender, next, make, turns) = (sender.clone(), &next, &make, &turns);
            scope.spawn(move || {
                loop {
                    let turn = turns.take();
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count || sender.send((at, make(at, each, turn))).is_err() {
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

/// So many at a time.
struct Turns {
    free: Mutex<usize>,
    ended: Condvar,
}

/// Ends when it is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    fn new(free: usize) -> Self {
        Self {
            free: Mutex::new(free),
            ended: Condvar::new(),
        }
    }

    /// Waits for a turn.
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

fn run_one(
    planned: &PlannedRun,
    threads: usize,
    reports: bool,
    library: &Library,
) -> Result<Completed, PlannedRunError> {
    planned.check_place()?;
    let PlannedRun {
        scenario,
        directory,
    } = planned;
    if directory.is_complete() {
        if reports {
            report::ensure_run(directory, &[])?;
        }
        return Ok(Completed::read(directory)?);
    }
    let data = library.get(scenario)?;
    let mut deployment = fleet::build(scenario, &data, threads)?;
    let mut silent = Silent;
    let run = Run::open(scenario, directory, threads, &mut silent)?;
    let completed = run.drive(&mut deployment)?;
    if reports {
        report::write_run(directory, &[])?;
    }
    Ok(completed)
}

/// Data sets that are loaded once, whoever asks first.
#[derive(Default)]
pub(super) struct Library {
    sets: Mutex<HashMap<(DatasetName, String), Arc<Dataset>>>,
}

impl Library {
    pub(super) fn get(&self, scenario: &Scenario) -> Result<Arc<Dataset>, DataError> {
        let key = (
            scenario.data.dataset.clone(),
            scenario.data.directory.clone(),
        );
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
    fn one_that_ends_its_turn_makes_room_and_no_more_than_so_many_have_one() {
        let (begun, others) = mpsc::channel();
        let others = Mutex::new(others);
        let holders = AtomicUsize::new(0);
        let make = |at: usize, threads, turn: Turn<'_>| {
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
        assert_eq!(side_by_side(8, 2, make, |_, _| ()), Vec::from_iter(0..8));
    }
}
