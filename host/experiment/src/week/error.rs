//! Why a week came to nothing.

use std::path::PathBuf;

use gleaner_energy::harvest::HarvestError;
use gleaner_files::FileError;

use crate::PlannedRunError;
use gleaner_sim::run::{LogError, RunError};
use gleaner_sim::scenario::ScenarioError;

/// Why a week came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeekError {
    /// A run cannot be described.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A trace cannot be used.
    #[error(transparent)]
    Harvest(#[from] HarvestError),
    /// A run's directory or log is not as it should be.
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
    /// A preset has no store, so nothing of it is a week on harvested energy.
    #[error(
        "preset `{preset}` keeps the paper's books: no store, nothing to run dry; choose one of a \
         board, such as rp2040 or stm32l4r5"
    )]
    NoStore {
        /// The preset.
        preset: String,
    },
    /// No preset could live on any trace.
    #[error("nobody can live there: {reasons}; choose other --traces")]
    Nowhere {
        /// Every place and what it lacks.
        reasons: String,
    },
}

impl From<FileError> for WeekError {
    fn from(error: FileError) -> Self {
        Self::Run(error.into())
    }
}

impl From<LogError> for WeekError {
    fn from(error: LogError) -> Self {
        Self::Run(error.into())
    }
}
