//! Making one point: by anybody, any number of times, with the same bytes in the end.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::Outcome;
use super::claim::{Asked, Claim};
use super::error::PointError;
use super::gather::{check_sums, read};
use super::place::{Place, Renamed, remove, rename};
use super::point::Point;
use crate::PlannedRunError;
use crate::pool::Library;
use gleaner_sim::fleet;
use gleaner_sim::report;
use gleaner_sim::run::{Observer, Run, RunDirectory, RunError, scenario_of};

/// How often a worker that waits looks again.
const LOOK: Duration = Duration::from_millis(200);

/// How a point is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Making {
    /// Threads of the run; 0 means one per processor. Results do not depend on it.
    pub threads: usize,
    /// Whether the run has a report.
    pub reports: bool,
    /// Whether to wait for another worker that is at the point.
    pub wait: bool,
    /// Whether to make the point though another worker is at it.
    pub force: bool,
}

/// Makes a point of a plan, going on from what an earlier worker left; one that is complete is only
/// read.
///
/// # Errors
/// Says why the point is not there; what stands in the way for good is noted in the directory.
pub fn make_point(dir: &Path, point: &Point, how: &Making, observer: &mut dyn Observer) -> Outcome {
    make(dir, point, how, &Library::default(), observer)
}

/// As [`make_point`], with data sets that are loaded already.
pub(super) fn make(
    dir: &Path,
    point: &Point,
    how: &Making,
    library: &Library,
    observer: &mut dyn Observer,
) -> Outcome {
    let place = Place::new(dir, &point.id);
    let outcome = match attempt(&place, point, how, library, observer) {
        // Another worker was faster, and has removed what this one had.
        Err(PointError::Run(_) | PointError::Unfinished(_) | PointError::Taken { .. })
            if place.run().is_complete() =>
        {
            read(&place.run(), point, how.reports)
        }
        outcome => outcome,
    };
    match &outcome {
        Ok(_) => place.forget_failure(),
        Err(error) if error.is_failure() => place.note_failure(&error.in_full()),
        Err(_) => {}
    }
    outcome
}

fn attempt(
    place: &Place<'_>,
    point: &Point,
    how: &Making,
    library: &Library,
    observer: &mut dyn Observer,
) -> Outcome {
    let claim = loop {
        if place.run().is_complete() {
            return read(&place.run(), point, how.reports);
        }
        match Claim::ask(place.lock(), how.force).map_err(PointError::Unfinished)? {
            Asked::Granted(claim) => break claim,
            Asked::Refused(owner) if !how.wait => return Err(PointError::Taken { owner }),
            Asked::Refused(_) => std::thread::sleep(LOOK),
        }
    };
    // It may have become complete between the look and the claim.
    if !place.run().is_complete() && !publish_leftover(place, point)? {
        let own = place.fresh().map_err(PointError::Unfinished)?;
        let drafted = match Run::draft(&point.scenario, &own, how.threads, observer) {
            Ok(drafted) => drafted,
            Err(error) => {
                remove(&own);
                return Err(match error {
                    RunError::File(error) if error.source.kind() == ErrorKind::NotFound => {
                        taken_over()
                    }
                    other => other.into(),
                });
            }
        };
        if let Err(error) = drive(drafted, place, how, &claim, library) {
            // Its scenario was there from the beginning.
            let swept = error.is_failure() && !own.is_started();
            if !own.file(RunDirectory::CHECKPOINT).is_file() {
                remove(&own);
            }
            return Err(if swept { taken_over() } else { error });
        }
        publish(place, &own)?;
    }
    place.sweep(None);
    claim.close();
    read(&place.run(), point, how.reports)
}

/// Drives a run in a folder of its own.
fn drive(
    mut run: Run<'_>,
    place: &Place<'_>,
    how: &Making,
    claim: &Claim,
    library: &Library,
) -> Result<(), PointError> {
    let (scenario, own) = (run.scenario(), run.directory());
    let mut others = place.leftovers();
    // A run that was made in its place before there were folders of work.
    others.extend(Some(place.run()).filter(RunDirectory::is_started));
    if let Some(round) = run.adopt(&others)? {
        run.notice(&format!(
            "going on after round {round}, where another worker ended"
        ));
    }
    if claim.is_exclusive() {
        place.sweep(Some(own));
    }
    let data = library.get(scenario).map_err(PlannedRunError::from)?;
    let mut deployment =
        fleet::build(scenario, &data, how.threads).map_err(PlannedRunError::from)?;
    run.drive(&mut deployment)?;
    if how.reports {
        report::write_run(own, &[])?;
    }
    Ok(())
}

/// Gives a run whose worker died just before it could do so the point's name, if there is one.
fn publish_leftover(place: &Place<'_>, point: &Point) -> Result<bool, PointError> {
    let whole = |it: &RunDirectory| {
        let same = scenario_of(it).is_ok_and(|scenario| scenario == point.scenario);
        it.is_complete() && same && check_sums(it).is_ok()
    };
    match place.leftovers().into_iter().find(whole) {
        Some(run) => publish(place, &run).map(|()| true),
        None => Ok(false),
    }
}

/// Gives a complete run the point's name; the first of several workers to do so is the one.
fn publish(place: &Place<'_>, own: &RunDirectory) -> Result<(), PointError> {
    let there = place.run();
    let rename = |from: &RunDirectory, to: &RunDirectory| {
        let renamed = rename(from, to);
        renamed.map_err(PointError::Unfinished)
    };
    let sums = |run: &RunDirectory| fs::read(run.file(RunDirectory::SUMS)).ok();
    loop {
        match rename(own, &there)? {
            Renamed::Done => return Ok(()),
            Renamed::Gone => return Err(taken_over()),
            Renamed::Occupied => {}
        }
        if let Some(theirs) = sums(&there) {
            // The first worker sweeps, so that there may be nothing left to compare.
            if sums(own).is_some_and(|ours| ours != theirs) {
                return Err(PointError::Differs {
                    there: there.path().to_owned(),
                    here: own.path().to_owned(),
                });
            }
            remove(own);
            return Ok(());
        }
        // What somebody began there goes to the other leftovers.
        let aside = place.fresh().map_err(PointError::Unfinished)?;
        if rename(&there, &aside)? == Renamed::Done && aside.is_complete() {
            // Another worker had done so, and published its own meanwhile.
            rename(&aside, &there)?;
        }
    }
}

/// What became of a point whose folder was swept by a worker that locks do not reach.
fn taken_over() -> PointError {
    PointError::Taken {
        owner: "a worker on another machine".to_owned(),
    }
}
