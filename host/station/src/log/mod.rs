//! The event log, `events.jsonl`: one line per thing that happened, with the wall time since the
//! session began. `write` keeps every line whole on a disk that may be full, `read` gives them
//! back one at a time.

mod read;
mod write;

use std::path::PathBuf;

use gleaner_files::FileError;
use serde::{Deserialize, Serialize};

use super::event::Event;

pub use read::{Lines, each_line, each_line_within};
pub use write::{EventLog, Storage};

/// The file in a run's directory.
pub const EVENTS: &str = "events.jsonl";

/// One line.
#[allow(
    clippy::large_enum_variant,
    reason = "a few at a time, and nearly all of them are the large one"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// Something happened to a client.
    Event {
        /// Wall time since the session began.
        t_s: f64,
        /// What happened, and to whom.
        #[serde(flatten)]
        event: Event,
    },
    /// A session began; whatever was logged of later rounds did not count.
    Session {
        /// The round it continues after.
        session_after_round: u32,
    },
}

impl Line {
    /// Returns the round it is about, if any.
    const fn round(&self) -> Option<u32> {
        match self {
            Self::Event { event, .. } => event.round,
            Self::Session {
                session_after_round,
            } => Some(*session_after_round),
        }
    }
}

/// Why a log cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventLogError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another run writes it.
    #[error(
        "{}: another run is writing here; wait for its end, or choose another directory with --out",
        path.display()
    )]
    InUse {
        /// The event log.
        path: PathBuf,
    },
    /// Something is not in the log that a replay needs.
    #[error(
        "{}: {cause}; what this round must leave there could not be written: make room, then \
         `gleaner resume {}` continues after the last checkpoint",
        path.display(),
        path.parent().unwrap_or(path).display()
    )]
    Unwritten {
        /// The event log.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The log was closed before its end.
    #[error("the event log is closed")]
    Closed,
    /// A line is invalid.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// The event log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
}
