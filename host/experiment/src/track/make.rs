//! A track's runs are made once and kept thin: a thousand of them, each with its model, its clients'
//! rows and a page with plots, would fill a disk with what nobody looks at.
//!
//! What stays is `scenario.toml`, `rounds.jsonl`, `summary.json` and the digests of what went, so
//! that whoever makes a run again (`gleaner simulate --preset DIR/scenario.toml`) can compare.

use std::fs;

use gleaner_files::write_atomically;

use super::error::TrackError;
use crate::{PlannedRun, run_bare};
use gleaner_sim::run::{RunDirectory, Summary};

/// What a run came to.
const SUMMARY: &str = "summary.json";

/// Hears how the runs go.
pub trait Watcher {
    /// So many runs are about to be made, some of which may be complete already.
    fn begin(&mut self, runs: usize);
    /// A run is complete.
    fn finished(&mut self, run: &PlannedRun, summary: &Summary);
    /// All of them are complete, or one has failed.
    fn end(&mut self);
}

/// Makes every run that is not complete and returns what each came to, in the order of the plan.
///
/// # Errors
/// Names the first run that failed, after all others were made.
pub fn make(
    plan: &[PlannedRun],
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Summary>, TrackError> {
    let mut summaries: Vec<Option<Summary>> = Vec::new();
    for run in plan {
        run.check_place()?;
        summaries.push(read(&run.directory)?);
    }
    let missing: Vec<usize> = (0..plan.len())
        .filter(|&at| summaries[at].is_none())
        .collect();
    let runs: Vec<PlannedRun> = missing.iter().map(|&at| plan[at].clone()).collect();
    runs.iter().try_for_each(PlannedRun::check_channel)?;
    watcher.begin(runs.len());
    let mut failure = None;
    let outcomes = run_bare(&runs, threads, |at, outcome| {
        let Ok(completed) = outcome else { return };
        let thinned = thin(&runs[at].directory, &completed.summary);
        failure = failure.take().or(thinned.err());
        watcher.finished(&runs[at], &completed.summary);
    });
    watcher.end();
    for ((at, run), outcome) in missing.into_iter().zip(&runs).zip(outcomes) {
        let completed = outcome.map_err(|source| TrackError::Failed {
            directory: run.directory.path().to_owned(),
            source: Box::new(source),
        })?;
        summaries[at] = Some(completed.summary);
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(summaries.into_iter().flatten().collect()),
    }
}

/// Writes what a complete run came to, then removes what is not needed to tell it.
fn thin(directory: &RunDirectory, summary: &Summary) -> Result<(), TrackError> {
    let json = serde_json::to_string_pretty(summary).unwrap_or_default();
    write_atomically(&directory.file(SUMMARY), format!("{json}\n").as_bytes())?;
    shed(directory);
    Ok(())
}

fn shed(directory: &RunDirectory) {
    for name in [RunDirectory::CLIENTS, RunDirectory::MODEL] {
        // What is left costs space and nothing else.
        let _ = fs::remove_file(directory.file(name));
    }
}

/// Reads what a run came to, if it was made and thinned.
fn read(directory: &RunDirectory) -> Result<Option<Summary>, TrackError> {
    let path = directory.file(SUMMARY);
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(None);
    };
    let summary = serde_json::from_str(&text).map_err(|error| TrackError::Summary {
        path,
        problem: error.to_string(),
    })?;
    // A track that was killed in between had not come to it.
    shed(directory);
    Ok(Some(summary))
}
