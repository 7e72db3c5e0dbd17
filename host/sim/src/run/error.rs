//! Errors of creating, resuming and driving runs.

use std::path::PathBuf;

use gleaner_files::FileError;

use super::directory::RunDirectory;
use super::log::LogError;
use crate::round::{EngineError, EnvironmentError};
use crate::scenario::ScenarioError;

/// Error of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A round could not be completed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A log could not be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The scenario of a run to resume is damaged.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A trace cannot be used.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// Some other file failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of a run in progress cannot be written.
    #[error(
        "{source}; fix the cause or free disk space, then `gleaner resume {}` continues after the \
         last checkpoint", path.display()
    )]
    Unfinished {
        /// The directory of the run.
        path: PathBuf,
        /// The file and the error of the system.
        source: FileError,
    },
    /// The scheduler of a run in progress failed.
    #[error(
        "{source}\nfix the scheduler, then `gleaner resume --allow-process {}` continues after the last \
         checkpoint",
        path.display()
    )]
    Undecided {
        /// The directory of the run.
        path: PathBuf,
        /// In which round, and what is wrong.
        source: EngineError,
    },
    /// The directory is not empty.
    #[error(
        "{} is not empty; choose another --out, or continue the run there with \
         `gleaner resume {}`", path.display(), path.display()
    )]
    Occupied {
        /// Path of the occupied directory.
        path: PathBuf,
    },
    /// The directory holds a run of another scenario.
    #[error(
        "{} holds a run of another scenario; choose another --out, or delete it",
        path.display()
    )]
    Taken {
        /// Directory of the other run.
        path: PathBuf,
    },
    /// The directory holds a run with another trace under the same name.
    #[error(
        "{} holds a run made before {trace} changed; choose another --out, or delete it",
        path.display()
    )]
    OtherTrace {
        /// The directory of the run.
        path: PathBuf,
        /// The trace as the scenario names it.
        trace: String,
    },
    /// The run was asked to stop, and has a checkpoint.
    #[error(
        "the run in {} stopped after round {round}; `gleaner resume {}` continues there",
        path.display(), path.display()
    )]
    Paused {
        /// The directory of the run.
        path: PathBuf,
        /// The last round that is done.
        round: usize,
    },
    /// There is no run.
    #[error("{} holds no scenario.toml, so it is not the directory of a run", path.display())]
    NotStarted {
        /// Directory without a run.
        path: PathBuf,
    },
    /// A checkpoint belongs to another scenario.
    #[error(
        "the checkpoint in {} belongs to another scenario; restore scenario.toml or start a new run",
        path.display()
    )]
    OtherScenario {
        /// Directory whose checkpoint and scenario disagree.
        path: PathBuf,
    },
    /// The checkpoints were written by another version of the program.
    #[error(
        "the checkpoints in {} were written by another version of gleaner, which stored other things: \
         resume the run with that version, or start a new run with another --out",
        path.display()
    )]
    OtherVersion {
        /// The directory of the run.
        path: PathBuf,
    },
    /// A checkpoint belongs to another scenario or another trace.
    #[error(
        "the checkpoint in {} belongs to another scenario or trace; restore scenario.toml and \
         channel.csv or harvest.csv, or start a new run",
        path.display()
    )]
    OtherTraces {
        /// The directory of the run.
        path: PathBuf,
    },
}

impl RunError {
    /// Says of what the system refused to the run in a directory how the run goes on.
    pub(super) fn unfinished(self, directory: &RunDirectory) -> Self {
        let path = directory.path().to_owned();
        match self {
            Self::File(source) | Self::Log(LogError::File(source)) => {
                Self::Unfinished { path, source }
            }
            Self::Engine(source @ EngineError::Scheduler { .. }) => {
                Self::Undecided { path, source }
            }
            other => other,
        }
    }
}
