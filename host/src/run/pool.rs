//! Many runs at once: each on threads of its own, results in the order of the jobs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::{
    Outcome, RunDirectory, RunError, Silent, channel, execute, outcome_of, resume, scenario_of,
};
use crate::fleet::{self, BuildError};
use crate::scenario::Scenario;
use gleaner_learn::data::{DataError, Dataset, DatasetKind};

/// One run to be made.
#[derive(Clone, Debug)]
pub struct Job {
    /// What to run.
    pub scenario: Scenario,
    /// Where to.
    pub directory: RunDirectory,
}

impl Job {
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
        if !channel::is_unchanged(scenario, directory)? {
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
            channel::checked_trace(&self.scenario)?;
        }
        Ok(())
    }
}

/// Why a run of many failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
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

/// Returns the number of threads meant by `threads`; 0 means one per processor.
#[must_use]
pub fn thread_count(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Makes every run that is not complete yet, on `threads` threads in all; `finished` hears of
/// each as it ends. Runs that were interrupted are continued, complete ones are only read.
pub fn run_all(
    jobs: &[Job],
    threads: usize,
    mut finished: impl FnMut(usize, &Result<Outcome, JobError>),
) -> Vec<Result<Outcome, JobError>> {
    let workers = thread_count(threads).min(jobs.len()).max(1);
    let each = (thread_count(threads) / workers).max(1);
    let next = AtomicUsize::new(0);
    let library = Library::default();
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<Result<Outcome, JobError>>> =
        std::iter::repeat_with(|| None).take(jobs.len()).collect();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, library) = (sender.clone(), &next, &library);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { return };
                    if sender.send((at, run_one(job, each, library))).is_err() {
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

fn run_one(job: &Job, threads: usize, library: &Library) -> Result<Outcome, JobError> {
    let Job {
        scenario,
        directory,
    } = job;
    job.check_place()?;
    if directory.is_complete() {
        return Ok(outcome_of(directory)?);
    }
    let data = library.get(scenario)?;
    let mut deployment = fleet::build(scenario, &data, threads)?;
    let make = if directory.is_started() {
        resume
    } else {
        execute
    };
    Ok(make(
        scenario,
        &mut deployment,
        directory,
        threads,
        &mut Silent,
    )?)
}

/// Data sets that are loaded once, whoever asks first.
#[derive(Default)]
struct Library {
    sets: Mutex<HashMap<(DatasetKind, String), Arc<Dataset>>>,
}

impl Library {
    fn get(&self, scenario: &Scenario) -> Result<Arc<Dataset>, DataError> {
        let key = (scenario.data.dataset, scenario.data.directory.clone());
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
