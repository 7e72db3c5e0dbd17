//! Why a track came to nothing.

use std::path::PathBuf;

use gleaner_files::FileError;

use crate::PlannedRunError;
use gleaner_sim::run::{LogError, RunError};
use gleaner_sim::scenario::ScenarioError;

/// Why a track came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrackError {
    /// A run cannot be described.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run's directory, trace or log is not as it should be.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run failed.
    #[error("run in {} failed", directory.display())]
    Failed {
        /// Its directory.
        directory: PathBuf,
        /// Why.
        source: Box<PlannedRunError>,
    },
    /// What a run came to cannot be read.
    #[error("{}: {problem}; remove the directory to make the run again", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Seeds are missing on one side of a difference.
    #[error("{judged} ran with seeds {seeds:?} and {other} with {others:?}: no pairs to compare")]
    Unpaired {
        /// The one that is judged.
        judged: String,
        /// Its seeds.
        seeds: Vec<u64>,
        /// The one it is compared with.
        other: String,
        /// The seeds of that one.
        others: Vec<u64>,
    },
    /// A seed would choose and judge.
    #[error(
        "seed {seed} is among those of the tuning, {first} to {last}: what is chosen on a seed \
         cannot be judged on it; start --seed elsewhere or run fewer --seeds"
    )]
    SharedSeed {
        /// The seed.
        seed: u64,
        /// The first seed of the tuning.
        first: u64,
        /// The last seed of the tuning.
        last: u64,
    },
    /// A trial has nothing to be chosen by.
    #[error(
        "the run in {} has no validation accuracy to choose by; set data.validation_samples",
        directory.display()
    )]
    NotValidated {
        /// Its directory.
        directory: PathBuf,
    },
}

impl From<FileError> for TrackError {
    fn from(error: FileError) -> Self {
        Self::Run(error.into())
    }
}

impl From<LogError> for TrackError {
    fn from(error: LogError) -> Self {
        Self::Run(error.into())
    }
}
