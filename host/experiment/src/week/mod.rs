//! A simulated week: what each scheduler gets done on what a board harvests.
//!
//! Every scheduler decides the same week of the same boards under the same light, with the boards'
//! own costs of sleeping, waiting, computing and sending, and with the same step at the server. What
//! differs is who is asked and when: how many rounds a day bring an update, how many orders are
//! declined, how often a store runs dry, and the accuracy that comes of it.

mod charts;
mod diary;
mod error;
mod plan;
mod tables;
mod write;

#[cfg(test)]
mod tests;

pub use diary::{Day, Diary};
pub use error::WeekError;
pub use plan::{Place, Skipped, Week};
pub use write::{DAYS, PAGE};

use self::plan::Entry;
use crate::track::Watcher;
use crate::{PlannedRun, PlannedRunError, run_bare};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::run::RunDirectory;

/// What a week came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was to be run.
    pub week: Week,
    /// Where it was run.
    pub places: Vec<Place>,
    /// Where it was not, and why.
    pub skipped: Vec<Skipped>,
    /// One diary per place, scheduler and seed.
    pub diaries: Vec<Diary>,
}

impl Outcome {
    /// Returns the diaries of a scheduler in a place.
    fn of(&self, place: usize, scheduler: Scheduler) -> Vec<&Diary> {
        let wanted = |it: &&Diary| it.place == place && it.scheduler == scheduler;
        self.diaries.iter().filter(wanted).collect()
    }

    /// Says whether anybody ran in more than one seed.
    const fn has_spread(&self) -> bool {
        self.week.seeds.len() > 1
    }
}

/// Makes every run of a week that is not there yet and reads their diaries. Runs are named by their
/// scenarios, so a week can be stopped, widened and started again.
///
/// # Errors
/// A scenario that is refused, no place to run in, or the first run that failed.
pub fn live(
    week: &Week,
    directory: &RunDirectory,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, WeekError> {
    let (places, skipped) = week.places()?;
    let (entries, runs) = week.plan(&places, directory)?;
    runs.iter().try_for_each(PlannedRun::check_place)?;
    watcher.begin(runs.len());
    let outcomes = run_bare(&runs, threads, |at, outcome| {
        if let Ok(completed) = outcome {
            watcher.finished(&runs[at], &completed.summary);
        }
    });
    watcher.end();
    let mut summaries = Vec::new();
    for (run, outcome) in runs.iter().zip(outcomes) {
        let failed = |source: PlannedRunError| WeekError::Failed {
            directory: run.directory.path().to_owned(),
            source: Box::new(source),
        };
        summaries.push(outcome.map_err(failed)?.summary);
    }
    let read = |entry: &Entry| Diary::read(entry, &runs[entry.run], summaries[entry.run].clone());
    Ok(Outcome {
        week: week.clone(),
        places,
        skipped,
        diaries: entries.iter().map(read).collect::<Result<_, _>>()?,
    })
}
