//! The logs of a run, `rounds.jsonl`, `clients.csv` and `energy.csv`: appended by whole rounds, cut back to a
//! checkpoint, and read again row by row.

mod read;
mod write;

use std::io::{self, Read};
use std::path::PathBuf;

use super::directory::RunDirectory;
use gleaner_files::{FileError, GrowingHash, Prefix, hexadecimal, open_regular};
use serde::{Deserialize, Serialize};

pub use read::{each_client, each_energy, each_round, read_rounds};
pub(super) use write::Logs;

/// The beginning of each log that a checkpoint covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPrefixes {
    /// Beginning of `rounds.jsonl`.
    pub rounds: Prefix,
    /// Beginning of `clients.csv`.
    pub clients: Prefix,
    /// Beginning of `energy.csv`, empty without one.
    pub energy: Prefix,
    /// Beginning of `events.jsonl`, empty without boards.
    pub events: Prefix,
}

impl LogPrefixes {
    /// Returns the logs that are not empty, by file name.
    pub(super) fn by_name(self) -> impl Iterator<Item = (&'static str, Prefix)> {
        let all = [
            (RunDirectory::ROUNDS, self.rounds),
            (RunDirectory::CLIENTS, self.clients),
            (RunDirectory::ENERGY, self.energy),
            (RunDirectory::EVENTS, self.events),
        ];
        all.into_iter().filter(|(_, prefix)| prefix.bytes > 0)
    }

    /// Makes sure that every log of a run still begins as it did.
    ///
    /// # Errors
    /// Names the log, and how much of it is there.
    pub(super) fn check(self, directory: &RunDirectory) -> Result<(), LogError> {
        for (name, expected) in self.by_name() {
            let path = directory.file(name);
            let found = match open_regular(&path) {
                Ok(file) => GrowingHash::of(file.take(expected.bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(GrowingHash::default()),
                Err(error) => Err(error),
            };
            let found = found.map_err(gleaner_files::at(&path))?.prefix();
            compare(path, found, expected)?;
        }
        Ok(())
    }
}

/// Makes sure that the beginning of a log is the one that its checkpoint covers.
fn compare(path: PathBuf, found: Prefix, expected: Prefix) -> Result<(), LogError> {
    match found == expected || expected.bytes == 0 {
        true => Ok(()),
        false => Err(LogError::Lost {
            path,
            found,
            expected,
        }),
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
    /// The log has lost or changed bytes that its checkpoint covers.
    #[error(
        "{}: {}; restore the file from a copy, or start a new run with another --out",
        path.display(), loss(found, expected)
    )]
    Lost {
        /// The log file it is about.
        path: PathBuf,
        /// What is there of the beginning that the checkpoint covers.
        found: Prefix,
        /// The beginning that the checkpoint covers.
        expected: Prefix,
    },
}

fn loss(found: &Prefix, expected: &Prefix) -> String {
    match found.bytes < expected.bytes {
        true => format!(
            "the checkpoint covers {} bytes and {} are there",
            expected.bytes, found.bytes
        ),
        false => format!(
            "the {} bytes that the checkpoint covers have changed: their SHA-256 was {} and is {}",
            expected.bytes,
            hexadecimal(&expected.sha256),
            hexadecimal(&found.sha256)
        ),
    }
}
