//! What is there: complete points read and checked, the others with what is known of them.

use std::fs::{self, File};
use std::path::Path;

use gleaner_files::{hexadecimal, sha256_of};

use super::Outcome;
use super::error::PointError;
use super::place::Place;
use super::plan::Plan;
use super::point::Point;
use crate::PlannedRun;
use gleaner_sim::report;
use gleaner_sim::run::{Checkpoint, RunDirectory, RunError, Tally};

/// Reads what became of every point, in the order of the plan; nothing is run.
#[must_use]
pub fn gather(plan: &Plan, dir: &Path) -> Vec<Outcome> {
    let points = plan.points().iter();
    points.map(|point| look(plan, dir, point)).collect()
}

/// Reads what became of one point.
pub(super) fn look(plan: &Plan, dir: &Path, point: &Point) -> Outcome {
    let place = Place::new(dir, &point.id);
    let run = place.run();
    if !run.is_complete() {
        return Err(match (place.failure(), newest(&place)) {
            (Some(why), _) => PointError::Failed(why),
            (None, Some(round)) => PointError::Begun { round },
            (None, None) => PointError::Missing,
        });
    }
    check_sums(&run)?;
    read(&run, point, plan.reports())
}

/// Reads what a complete run came to; a report that is missing is made.
pub(super) fn read(run: &RunDirectory, point: &Point, reports: bool) -> Outcome {
    let planned = PlannedRun {
        scenario: point.scenario.clone(),
        directory: run.clone(),
    };
    planned.check_place()?;
    if reports {
        report::ensure_run(run, &[])?;
    }
    Ok(Tally::read(run).map_err(RunError::from)?.summary())
}

/// The round of the newest checkpoint among what workers left or are at.
pub(super) fn newest(place: &Place<'_>) -> Option<u32> {
    let checkpoints = place.leftovers();
    let rounds = checkpoints.iter().filter_map(|run| {
        let (checkpoint, _) = Checkpoint::read(run);
        Some(checkpoint?.state.round())
    });
    rounds.max()
}

/// Makes sure that a complete run is what was written.
pub(crate) fn check_sums(run: &RunDirectory) -> Result<(), PointError> {
    let path = run.file(RunDirectory::SUMS);
    let damaged = |name: &str| PointError::Damaged {
        path: run.file(name),
    };
    let sums = fs::read_to_string(&path).map_err(|_| damaged(RunDirectory::SUMS))?;
    if sums.is_empty() {
        return Err(damaged(RunDirectory::SUMS));
    }
    for line in sums.lines() {
        let (sum, name) = line
            .split_once("  ")
            .ok_or_else(|| damaged(RunDirectory::SUMS))?;
        let found = File::open(run.file(name)).and_then(sha256_of);
        if !found.is_ok_and(|found| hexadecimal(&found) == sum) {
            return Err(damaged(name));
        }
    }
    Ok(())
}
