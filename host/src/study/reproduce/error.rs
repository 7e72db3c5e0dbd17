//! Why a reproduction came to nothing.

use std::path::PathBuf;

use gleaner_learn::data::DataError;
use gleaner_learn::file::FileError;

use crate::run::{LogError, RunError};
use crate::scenario::ScenarioError;
use crate::study::PlannedRunError;

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
    /// Runs failed.
    #[error("run in {} failed{}", directory.display(), more(*others))]
    Failed {
        /// The directory of the first.
        directory: PathBuf,
        /// How many others failed.
        others: usize,
        /// Why the first did.
        source: Box<PlannedRunError>,
    },
    /// A run that was complete is not any more.
    #[error(
        "{}: {problem}; remove the directory to make the run again",
        directory.display()
    )]
    Damaged {
        /// Its directory.
        directory: PathBuf,
        /// What is wrong.
        problem: String,
    },
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

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and another".to_owned(),
        others => format!(", and {others} others"),
    }
}
