//! Errors of experiments: [`ExperimentError`] stops a study, [`PointError`] is the state of one point
//! that is not complete.

use std::error::Error;
use std::path::PathBuf;

use gleaner_cre::channel::TraceError;
use gleaner_energy::harvest::HarvestError;
use gleaner_files::FileError;
use gleaner_learn::data::DataError;
use gleaner_sim::fleet::BuildError;
use gleaner_sim::policy::PolicyError;
use gleaner_sim::report::counted;
use gleaner_sim::run::{LogError, RunError};
use gleaner_sim::scenario::ScenarioError;

/// Error that stops a study: its plan, its engine, its settings, or a run that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ExperimentError {
    #[error(
        "{} holds no plan.json; `gleaner sweep plan FILE --out {}` writes one", dir.display(),
        dir.display()
    )]
    NoPlan { dir: PathBuf },
    #[error("{} is not empty and holds no plan.json; choose another --out", dir.display())]
    NotEmpty { dir: PathBuf },
    #[error("{} is not a plan of this version: {problem}; delete it to plan again", path.display())]
    PlanSyntax { path: PathBuf, problem: String },
    #[error(
        "{} was damaged or edited: it does not match its own SHA-256; restore it, or delete it to \
         plan again", path.display()
    )]
    PlanEdited { path: PathBuf },
    #[error(
        "{} was damaged or edited after planning: it is not the scenario of point {id}; restore \
         it, or plan again", path.display()
    )]
    PlanScenario { path: PathBuf, id: String },
    #[error(
        "{} was planned by another version of gleaner: {problem}; use that version, or plan again",
        path.display()
    )]
    PlanVersion { path: PathBuf, problem: String },
    #[error(
        "{} holds another plan ({there}; this one is {here}): choose another --out, or delete \
         {}/plan.json to use the directory for this plan", dir.display(), dir.display()
    )]
    OtherPlan {
        dir: PathBuf,
        there: String,
        here: String,
    },
    #[error(
        "there is no point {number}: the plan in {} has {}, numbered from 0", dir.display(),
        counted(*points, "point")
    )]
    NoPoint {
        dir: PathBuf,
        number: usize,
        points: usize,
    },
    #[error("row {} is damaged: {problem}; restore it, or delete it to execute its run again", path.display())]
    Row { path: PathBuf, problem: String },
    #[error("{} is not valid Unicode; choose another directory", path.display())]
    Path { path: PathBuf },
    #[error(
        "cannot start `{command}`: {source}; --engine slurm needs Slurm's commands, which a login \
         node has; on a machine of your own `apt install slurm-wlm` and a slurm.conf"
    )]
    NoSlurm {
        command: &'static str,
        source: std::io::Error,
    },
    #[error("`{command}` failed: {message}")]
    Slurm { command: String, message: String },
    #[error(
        "--engine hyperqueue needs a Python with the package hyperqueue: {problem}; `python3 -m \
         venv hq && hq/bin/pip install hyperqueue`, then --python hq/bin/python"
    )]
    NoHyperqueue { problem: String },
    #[error("HyperQueue ended before its tasks did; its log is {}", log.display())]
    Hyperqueue { log: PathBuf },
    #[error("point {id} failed: {}{}", source.in_full(), more(*others))]
    Failed {
        id: String,
        others: usize,
        source: Box<PointError>,
    },
    #[error("{}: {message}", path.display())]
    SweepSyntax { path: PathBuf, message: String },
    #[error("grid entry {key} = {value}: write a list of values, as in {key} = [0.1, 1.0]")]
    NotAList { key: String, value: String },
    #[error(
        "`{key}` is given twice; write every key once, in [set] or in [grid], and seeds as \
         seeds = 5 or seeds = [4, 7]"
    )]
    Repeated { key: String },
    #[error("there is no point: `seeds` or a list in [grid] is empty")]
    Empty,
    #[error(
        "cells `{text}`: {problem}; write own, paper, or lists of values as in d=0.2,0.4;sigma=100, \
         where d and sigma stand for partition.non_iid_degree and partition.std_samples"
    )]
    Cells { text: String, problem: String },
    #[error(
        "seed {seed} is also a tuning seed ({first} to {last}); choose another --seed or fewer \
         --seeds: a value that was tuned on a seed cannot be evaluated on that seed"
    )]
    SharedSeed { seed: u64, first: u64, last: u64 },
    #[error(
        "{name} ran with seeds {seeds:?} and {other} with {others:?}: differences need equal seeds"
    )]
    Unpaired {
        name: String,
        seeds: Vec<u64>,
        other: String,
        others: Vec<u64>,
    },
    #[error("run {id} has no validation accuracy; set data.validation_samples")]
    NotValidated { id: String },
    #[error("preset `{preset}` has no energy store; choose one of a board, such as rp2040")]
    NoStore { preset: String },
    #[error("no preset is sustainable on these traces: {reasons}; choose other --traces")]
    NotSustainable { reasons: String },
    #[error("round {round} cannot be planned: {source}")]
    Undecided { round: u32, source: PolicyError },
    #[error("{}: {problem}; `gleaner simulate --record-instances FILE` writes such a file", path.display())]
    Problems { path: PathBuf, problem: String },
    #[error(transparent)]
    Channel(#[from] TraceError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Harvest(#[from] HarvestError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Point(#[from] PointError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<LogError> for ExperimentError {
    fn from(error: LogError) -> Self {
        Self::Run(error.into())
    }
}

/// Returns how many points failed beside the one that is named.
fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!(" ({} more failed)", counted(others, "point")),
    }
}

/// State of a point that is not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PointError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Deployment(#[from] BuildError),
    #[error(transparent)]
    Run(RunError),
    #[error(
        "{0}; fix the cause or free disk space: the next worker continues from the last checkpoint"
    )]
    Unfinished(#[source] FileError),
    #[error("stopped after round {round}; the next worker continues there")]
    Paused { round: usize },
    #[error(
        "{owner} is executing this point; --wait waits for it, and --force executes the point \
         anyway, which costs time and is harmless"
    )]
    Taken { owner: String },
    #[error(
        "{} differs from the result of this worker, kept in {}: equal scenarios must give equal \
         bytes, so the programs, data or machines differ", there.display(), here.display()
    )]
    Differs { there: PathBuf, here: PathBuf },
    #[error(
        "{} does not match SHA256SUMS beside it; remove {} to execute the point again",
        path.display(), path.parent().unwrap_or(path).display()
    )]
    Damaged { path: PathBuf },
    #[error("{0}")]
    Failed(String),
    #[error("not executed yet")]
    Missing,
    #[error("not complete: its newest checkpoint is after round {round}")]
    Begun { round: u32 },
}

impl From<RunError> for PointError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Paused { round, .. } => Self::Paused { round },
            RunError::File(source) | RunError::Unfinished { source, .. } => {
                Self::Unfinished(source)
            }
            other => Self::Run(other),
        }
    }
}

impl PointError {
    /// Joins the error and its causes; leaves out a cause that the text before it already quotes.
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let message = error.to_string();
            if !text.contains(&message) {
                text = format!("{text}: {message}");
            }
            cause = error.source();
        }
        text
    }

    /// Tells whether a retry without any change would fail again.
    pub(crate) fn is_failure(&self) -> bool {
        !self.is_open() && !matches!(self, Self::Paused { .. } | Self::Taken { .. })
    }

    /// Tells whether the point was not executed to its end, without an error.
    pub fn is_stopped(&self) -> bool {
        self.is_open() || matches!(self, Self::Paused { .. })
    }

    /// Tells whether no worker has completed the point yet, and none has failed.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Missing | Self::Begun { .. })
    }
}
