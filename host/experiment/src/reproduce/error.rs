//! Why a reproduction came to nothing.

use gleaner_files::FileError;
use gleaner_learn::data::DataError;

use crate::batch::{EngineError, PlanError, PointError};
use gleaner_sim::run::{LogError, RunError};
use gleaner_sim::scenario::ScenarioError;

/// Why a reproduction came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// A run cannot be described.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Images are missing.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The runs cannot be planned, or nobody can make them.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Runs failed.
    #[error("run {id} failed: {}{}", source.in_full(), more(*others))]
    Failed {
        /// The first.
        id: String,
        /// How many others failed.
        others: usize,
        /// Why the first did.
        source: Box<PointError>,
    },
    /// A run that was complete is not any more.
    #[error(transparent)]
    Damaged(#[from] PointError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A run's directory is not as it should be.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<PlanError> for ReproduceError {
    fn from(error: PlanError) -> Self {
        Self::Engine(error.into())
    }
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and another".to_owned(),
        others => format!(", and {others} others"),
    }
}
