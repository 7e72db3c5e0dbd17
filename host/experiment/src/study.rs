//! The pipeline that all studies share: plan, execute, read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gleaner_sim::run::{RunDirectory, Summary};
use gleaner_sim::scenario::Scenario;

use crate::error::{ExperimentError, PointError};
use crate::execute::{
    EngineOptions, Library, Outcome, Watcher, check_start, execute, gather, run_directory,
};
use crate::page::Findings;
use crate::plan::{Keep, Plan, Point};

/// An experiment: settings to run, and a reader of the completed runs.
pub trait Study {
    /// Returns a name that identifies everything that all points have in common. Plans with the same
    /// name may share a directory, which is how a study is widened.
    fn name(&self) -> String;

    /// Returns the files that remain of every run.
    fn keep(&self) -> Keep {
        Keep::Logs
    }

    /// Returns the points. Called again with the completed runs until it adds none, so that a study
    /// can choose settings by the results of others.
    fn points(&self, runs: &Runs) -> Result<Vec<Point>, ExperimentError>;

    /// Turns the completed runs into tables, plots and a report.
    fn read(&self, _: &Runs) -> Result<Findings, ExperimentError> {
        Ok(Findings::default())
    }
}

/// A list of points as a study, for callers that read the runs themselves.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Points {
    pub name: String,
    pub keep: Keep,
    pub points: Vec<Point>,
}

impl Study for Points {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn keep(&self) -> Keep {
        self.keep
    }

    fn points(&self, _: &Runs) -> Result<Vec<Point>, ExperimentError> {
        Ok(self.points.clone())
    }
}

/// A completed run of a study.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CompletedRun {
    pub directory: RunDirectory,
    pub summary: Summary,
}

/// Completed and failed runs of a study, by point.
#[derive(Debug, Default)]
pub struct Runs {
    dir: PathBuf,
    completed: HashMap<String, CompletedRun>,
    /// Points that are not complete, in the order of the plan, with their numbers in it.
    pub failed: Vec<(usize, Point, PointError)>,
}

impl Runs {
    /// Returns no runs yet in the directory of a study.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            ..Self::default()
        }
    }

    /// Reads the completed runs of a plan; executes nothing.
    pub fn gather(plan: &Plan, dir: &Path) -> Self {
        let mut runs = Self::new(dir);
        runs.add(plan, gather(plan, dir));
        runs
    }

    fn add(&mut self, plan: &Plan, outcomes: Vec<Outcome>) {
        for (number, (point, outcome)) in plan.points().iter().zip(outcomes).enumerate() {
            let directory = run_directory(&self.dir, point);
            match outcome {
                Ok(summary) => {
                    let run = CompletedRun { directory, summary };
                    self.completed.insert(point.id.clone(), run);
                }
                Err(error) => self.failed.push((number, point.clone(), error)),
            }
        }
    }

    /// Returns the directory of the study.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the run of a point, if it is complete.
    pub fn get(&self, point: &Point) -> Option<&CompletedRun> {
        self.completed.get(&point.id)
    }

    /// Returns the run of a point that must be complete.
    pub fn of(&self, point: &Point) -> Result<&CompletedRun, ExperimentError> {
        self.get(point).ok_or_else(|| PointError::Missing.into())
    }

    /// Fails with the first point that failed.
    pub fn complete(mut self) -> Result<Self, ExperimentError> {
        if self.failed.is_empty() {
            return Ok(self);
        }
        let (_, point, source) = self.failed.remove(0);
        Err(ExperimentError::Failed {
            id: point.id,
            others: self.failed.len(),
            source: Box::new(source),
        })
    }
}

/// Returns the plan of a study, and makes sure before anything is written that the directory has no
/// other plan and that every point can start: its traces and data are there.
pub fn plan(study: &dyn Study, runs: &Runs) -> Result<Plan, ExperimentError> {
    let plan = Plan::new(&study.name(), study.keep(), study.points(runs)?);
    plan.check_directory(&runs.dir)?;
    let library = Library::default();
    for point in plan.points() {
        check_start(&runs.dir, point, &library)?;
    }
    Ok(plan)
}

/// Executes every point of a study that is not complete in `dir`. Points that failed are in the
/// result; see [`Runs::complete`].
pub fn run(
    study: &dyn Study,
    dir: &Path,
    options: &EngineOptions,
    watcher: &mut dyn Watcher,
) -> Result<Runs, ExperimentError> {
    let mut runs = Runs::new(dir);
    loop {
        let plan = plan(study, &runs)?;
        let known = plan.points().iter().all(|point| runs.get(point).is_some());
        if plan.points().is_empty() {
            // The results of a study without points still mark their directory.
            plan.write(dir)?;
        }
        if known || !runs.failed.is_empty() {
            return Ok(runs);
        }
        plan.write(dir)?;
        runs.add(&plan, execute(&plan, dir, options, watcher)?);
    }
}

/// Returns the name of a study whose points change keys of one scenario.
pub(crate) fn name_of(kind: &str, common: Scenario) -> String {
    format!("{kind} {}", Point::new(Vec::new(), common).id)
}
