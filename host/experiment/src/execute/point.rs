//! Execution of one point: by any worker, any number of times, with the same bytes in the end. Only
//! this file starts and continues runs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use gleaner_files::{hexadecimal, read_text, sha256_of, write_atomically};
use gleaner_sim::fleet;
use gleaner_sim::report;
use gleaner_sim::run::{
    Checkpoint, Inputs, Observer, Run, RunDirectory, RunError, Summary, Tally, scenario_of,
};
use gleaner_sim::scenario::Scenario;

use super::Outcome;
use super::claim::{Asked, Claim};
use super::local::Library;
use super::place::{Place, Renamed, remove, rename};
use crate::error::{ExperimentError, PointError};
use crate::plan::{Keep, Point};

/// Time between two looks of a worker that waits.
const LOOK: Duration = Duration::from_millis(200);
/// Summary of a run whose logs of clients were removed.
const SUMMARY: &str = "summary.json";
/// Files that [`Keep::Summary`] removes.
const BULKY: [&str; 2] = [RunDirectory::CLIENTS, RunDirectory::MODEL];

/// Options of the execution of one point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempt {
    /// Threads of the run; 0 means one per processor. Results do not depend on it.
    pub threads: usize,
    /// Files that remain of the run.
    pub keep: Keep,
    /// Whether to wait for another worker that executes the point.
    pub wait: bool,
    /// Whether to execute the point though another worker does.
    pub force: bool,
}

/// Executes a point of a plan, continuing from the checkpoint of an earlier worker; a complete point
/// is only read. Failures are noted in the directory.
pub fn execute_point(
    dir: &Path,
    point: &Point,
    how: &Attempt,
    observer: &mut dyn Observer,
) -> Outcome {
    execute(dir, point, how, &Library::default(), observer)
}

/// As [`execute_point`], with data sets that are loaded already.
pub(super) fn execute(
    dir: &Path,
    point: &Point,
    how: &Attempt,
    library: &Library,
    observer: &mut dyn Observer,
) -> Outcome {
    let place = Place::new(dir, &point.id);
    let outcome = match attempt(&place, point, how, library, observer) {
        // Another worker was faster, and has removed the folder of this one.
        Err(PointError::Run(_) | PointError::Unfinished(_) | PointError::Taken { .. })
            if place.run().is_complete() =>
        {
            read(&place.run(), point, how.keep)
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
    how: &Attempt,
    library: &Library,
    observer: &mut dyn Observer,
) -> Outcome {
    let claim = loop {
        if place.run().is_complete() {
            return read(&place.run(), point, how.keep);
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
    read(&place.run(), point, how.keep)
}

/// Drives the run of a point in a folder of its own.
fn drive(
    mut run: Run<'_>,
    place: &Place<'_>,
    how: &Attempt,
    claim: &Claim,
    library: &Library,
) -> Result<(), PointError> {
    let (scenario, own) = (run.scenario(), run.directory());
    let mut others = place.leftovers();
    // A run that an earlier version executed in the place of the complete one.
    others.extend(Some(place.run()).filter(RunDirectory::is_started));
    if let Some(round) = run.adopt(&others)? {
        run.notice(&format!(
            "continuing after round {round}, where another worker ended"
        ));
    }
    if claim.is_exclusive() {
        place.sweep(Some(own));
    }
    let data = library.get(scenario)?;
    let mut deployment = fleet::build(scenario, &data, how.threads)?;
    run.drive(&mut deployment)?;
    match how.keep {
        Keep::Report => report::write_run(own, &[])?,
        Keep::Logs => {}
        Keep::Summary => {
            let summary = Tally::read(own).map_err(RunError::from)?.summary();
            let json = serde_json::to_string_pretty(&summary).unwrap_or_default();
            write_atomically(&own.file(SUMMARY), format!("{json}\n").as_bytes())
                .map_err(PointError::Unfinished)?;
            // A file that cannot be removed costs space and nothing else.
            BULKY
                .iter()
                .for_each(|name| drop(fs::remove_file(own.file(name))));
        }
    }
    Ok(())
}

/// Publishes a complete run whose worker died before it could, if there is one.
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

/// Gives a complete run the point's name; the first of several workers wins.
fn publish(place: &Place<'_>, own: &RunDirectory) -> Result<(), PointError> {
    let there = place.run();
    let rename = |from: &RunDirectory, to: &RunDirectory| {
        let renamed = rename(from, to);
        renamed.map_err(PointError::Unfinished)
    };
    let sums = |run: &RunDirectory| read_text(&run.file(RunDirectory::SUMS)).ok();
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
        // An incomplete run in the place goes to the other leftovers.
        let aside = place.fresh().map_err(PointError::Unfinished)?;
        if rename(&there, &aside)? == Renamed::Done && aside.is_complete() {
            // Another worker had moved it, and published its own run meanwhile.
            rename(&aside, &there)?;
        }
    }
}

/// Returns the error of a point whose folder was swept by a worker on another machine.
fn taken_over() -> PointError {
    PointError::Taken {
        owner: "a worker on another machine".to_owned(),
    }
}

/// Reads the outcome of one point; executes nothing.
pub(super) fn look(dir: &Path, point: &Point, keep: Keep) -> Outcome {
    let place = Place::new(dir, &point.id);
    let run = place.run();
    if !run.is_complete() {
        return Err(match (place.failure(), newest(&place)) {
            (Some(error), _) => PointError::Failed(error),
            (None, Some(round)) => PointError::Begun { round },
            (None, None) => PointError::Missing,
        });
    }
    check_sums(&run)?;
    read(&run, point, keep)
}

/// Reads the summary of a complete run; writes its report if that is missing.
fn read(run: &RunDirectory, point: &Point, keep: Keep) -> Outcome {
    check_run(run, &point.scenario)?;
    if keep == Keep::Report {
        report::ensure_run(run, &[])?;
    }
    let path = run.file(SUMMARY);
    if keep == Keep::Summary
        && let Ok(text) = read_text(&path)
    {
        let summary: Result<Summary, _> = serde_json::from_str(&text);
        return summary.map_err(|_| PointError::Damaged { path });
    }
    Ok(Tally::read(run).map_err(RunError::from)?.summary())
}

/// Makes sure that a directory holds no run of another scenario or trace.
fn check_run(run: &RunDirectory, scenario: &Scenario) -> Result<(), RunError> {
    let path = run.path().to_owned();
    if scenario_of(run)? != *scenario {
        return Err(RunError::Taken { path });
    }
    if !Inputs::are_unchanged(scenario, run)? {
        let trace = scenario.channel.trace.clone();
        return Err(RunError::OtherTrace { path, trace });
    }
    Ok(())
}

/// Makes sure that a point can start: its traces cover the run, or are those of the run that is
/// complete, and its data are there.
pub(crate) fn check_start(
    dir: &Path,
    point: &Point,
    library: &Library,
) -> Result<(), ExperimentError> {
    let (run, scenario) = (Place::new(dir, &point.id).run(), &point.scenario);
    let is_traced = !scenario.channel.trace.is_empty() || scenario.harvest.source.has_file();
    match (run.is_complete(), is_traced) {
        (true, true) => check_run(&run, scenario)?,
        (false, true) => drop(Inputs::read(scenario)?),
        _ => {}
    }
    if !run.is_complete() {
        library.get(scenario)?;
    }
    Ok(())
}

/// Returns the round of the newest checkpoint among the folders of workers.
pub(super) fn newest(place: &Place<'_>) -> Option<u32> {
    let checkpoints = place.leftovers();
    let rounds = checkpoints.iter().filter_map(|run| {
        let (checkpoint, _) = Checkpoint::read(run);
        Some(checkpoint?.state.round())
    });
    rounds.max()
}

/// Checks the files of a complete run against their digests.
pub(crate) fn check_sums(run: &RunDirectory) -> Result<(), PointError> {
    let damaged = |name: &str| PointError::Damaged {
        path: run.file(name),
    };
    let sums = read_text(&run.file(RunDirectory::SUMS)).unwrap_or_default();
    if sums.is_empty() {
        return Err(damaged(RunDirectory::SUMS));
    }
    let reduced = run.file(SUMMARY).is_file();
    for line in sums.lines() {
        let (sum, name) = line
            .split_once("  ")
            .ok_or_else(|| damaged(RunDirectory::SUMS))?;
        let path = run.file(name);
        if reduced && BULKY.contains(&name) && !path.exists() {
            continue;
        }
        let found = File::open(path).and_then(sha256_of);
        if !found.is_ok_and(|found| hexadecimal(&found) == sum) {
            return Err(damaged(name));
        }
    }
    Ok(())
}
