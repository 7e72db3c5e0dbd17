//! The logs of a run, `rounds.jsonl`, `clients.csv` and `energy.csv`: appended by whole rounds, cut back to a
//! checkpoint, and read again row by row.

mod read;
mod write;

use std::path::PathBuf;

use super::directory::RunDirectory;
use gleaner_files::FileError;
use serde::{Deserialize, Serialize};

pub use read::{each_client, each_energy, each_round, read_rounds};
pub(super) use write::Logs;

/// Bytes of each log that belong to finished rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Length of `rounds.jsonl`.
    pub rounds: u64,
    /// Length of `clients.csv`.
    pub clients: u64,
    /// Length of `energy.csv`, 0 without one.
    pub energy: u64,
}

impl Lengths {
    /// Returns the logs that are not empty, by file name.
    pub(super) fn by_name(self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = [
            (RunDirectory::ROUNDS, self.rounds),
            (RunDirectory::CLIENTS, self.clients),
            (RunDirectory::ENERGY, self.energy),
        ];
        all.into_iter().filter(|(_, bytes)| *bytes > 0)
    }
}

/// Error reading or writing a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file system reported an error.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process writes it.
    #[error("{}: another gleaner is making this run", path.display())]
    InUse {
        /// The log file it is about.
        path: PathBuf,
    },
    /// A line is not what was written.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The log file it is about.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Description of the damage.
        what: String,
    },
    /// The log is shorter than its checkpoint says.
    #[error(
        "{} has {found} bytes, its checkpoint was written at {expected}; restore it, or delete \
         the checkpoints to start from the first round",
        path.display()
    )]
    TooShort {
        /// The log file it is about.
        path: PathBuf,
        /// Length of the file.
        found: u64,
        /// The length the checkpoint knows.
        expected: u64,
    },
}
