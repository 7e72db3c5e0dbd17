//! Why a plan is refused, and why a point is not there.

use std::error::Error;
use std::path::PathBuf;

use gleaner_files::FileError;

use crate::PlannedRunError;
use gleaner_sim::report::counted;
use gleaner_sim::run::RunError;

/// Why a plan cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is none.
    #[error(
        "{} holds no plan.json; `gleaner sweep plan FILE --out {}` makes one", dir.display(),
        dir.display()
    )]
    Absent {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The file is not a plan.
    #[error("{} is not a plan of this version: {problem}; plan again", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file is not what was written.
    #[error(
        "{} was damaged or edited: it does not match its own SHA-256; restore it, or plan again",
        path.display()
    )]
    Edited {
        /// The file.
        path: PathBuf,
    },
    /// A scenario is not the one that was planned.
    #[error(
        "{} was damaged or edited after planning: it is not the scenario of point {id}; restore \
         it, or plan again", path.display()
    )]
    Scenario {
        /// The scenario file.
        path: PathBuf,
        /// The point.
        id: String,
    },
    /// A scenario means something else to this version.
    #[error(
        "{} was planned by another version of gleaner: {problem}; use that version, or plan again",
        path.display()
    )]
    Version {
        /// The scenario file.
        path: PathBuf,
        /// What differs.
        problem: String,
    },
    /// The directory has another plan.
    #[error(
        "{} holds the plan of another sweep; choose another --out, or add --resume to plan anew \
         there and keep the points that both have", dir.display()
    )]
    Other {
        /// The directory.
        dir: PathBuf,
    },
    /// There is no such point.
    #[error(
        "there is no point {number}: the plan in {} has {}, numbered from 0", dir.display(),
        counted(*points, "point")
    )]
    Range {
        /// The directory.
        dir: PathBuf,
        /// What was asked for.
        number: usize,
        /// How many there are.
        points: usize,
    },
    /// The system refused a file.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a point is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// Its run failed.
    #[error(transparent)]
    Run(PlannedRunError),
    /// The system refused a file of a run in progress.
    #[error("{0}; mend that, or make room: the next worker goes on after the last checkpoint")]
    Unfinished(#[source] FileError),
    /// Its run was asked to stop, and did so with a checkpoint.
    #[error("stopped after round {round}; the next worker goes on there")]
    Paused {
        /// The last round that is done.
        round: usize,
    },
    /// Another worker is at it.
    #[error(
        "{owner} is making this point; --wait waits for it, and --force makes the point all the \
         same, which costs time and does no harm"
    )]
    Taken {
        /// Who.
        owner: String,
    },
    /// Another worker came to another result.
    #[error(
        "{} differs from what this worker came to, kept in {}: equal scenarios must give equal \
         bytes, so their programs, data or machines differ", there.display(), here.display()
    )]
    Differs {
        /// The run that was first.
        there: PathBuf,
        /// The other.
        here: PathBuf,
    },
    /// A complete run is not what was written.
    #[error(
        "{} does not match SHA256SUMS beside it; remove {} to make the point again",
        path.display(), path.parent().unwrap_or(path).display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Another process noted that it failed.
    #[error("{0}")]
    Failed(String),
    /// Nobody has made it.
    #[error("not made yet")]
    Missing,
    /// Somebody began it.
    #[error("not complete: its newest checkpoint is after round {round}")]
    Begun {
        /// The round.
        round: u32,
    },
}

impl From<PlannedRunError> for PointError {
    fn from(error: PlannedRunError) -> Self {
        match error {
            PlannedRunError::Run(error) => error.into(),
            other => Self::Run(other),
        }
    }
}

impl From<RunError> for PointError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Paused { round, .. } => Self::Paused { round },
            RunError::File(source) | RunError::Unfinished { source, .. } => {
                Self::Unfinished(source)
            }
            other => Self::Run(other.into()),
        }
    }
}

impl PointError {
    /// Joins the error and its causes; a cause that the words before it already quote is left out.
    #[must_use]
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let said = error.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = error.source();
        }
        text
    }

    /// Tells whether trying again without changing anything is of no use.
    pub(super) fn is_failure(&self) -> bool {
        !matches!(
            self,
            Self::Paused { .. } | Self::Taken { .. } | Self::Missing | Self::Begun { .. }
        )
    }
}
