//! The event log, `events.jsonl`: one line per event, with the wall time since the session began.
//! `write` keeps every line whole even on a full disk; `read` returns the lines one at a time.

mod read;
mod write;

use gleaner_sim::run::RunDirectory;
use std::path::PathBuf;

use gleaner_files::FileError;
use serde::{Deserialize, Serialize};

use super::event::Event;

pub use read::{Lines, each_line, each_line_within};
pub use write::{EventLog, Storage};

/// Name of the file in a run's directory.
pub const EVENTS: &str = RunDirectory::EVENTS;

/// One line of the log.
#[allow(
    clippy::large_enum_variant,
    reason = "a few at a time, and nearly all of them are the large one"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// An event of a client.
    Event {
        /// Wall time since the session began.
        t_s: f64,
        /// The event and its client.
        #[serde(flatten)]
        event: Event,
    },
    /// A session began; earlier lines about later rounds are void.
    Session {
        /// The last round before the session.
        session_after_round: u32,
    },
}

impl Line {
    /// Returns the round of the line, if any.
    const fn round(&self) -> Option<u32> {
        match self {
            Self::Event { event, .. } => event.round,
            Self::Session {
                session_after_round,
            } => Some(*session_after_round),
        }
    }
}

/// Error reading or writing the event log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum EventLogError {
    /// The system refused an operation on the file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another run writes the log.
    #[error(
        "{}: another run is writing here; wait for its end, or choose another directory with --out",
        path.display()
    )]
    InUse { path: PathBuf },
    /// Part of a round's record could not be written.
    #[error(
        "{}: {cause}; the record of this round could not be written: free disk space, then \
         `gleaner resume {}` continues after the last checkpoint",
        path.display(),
        path.parent().unwrap_or(path).display()
    )]
    Unwritten { path: PathBuf, cause: String },
    /// The log was closed before its end.
    #[error("the event log is closed")]
    Closed,
    /// A line is invalid.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        path: PathBuf,
        line: u64,
        what: String,
    },
}
