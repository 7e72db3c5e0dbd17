//! What can be wrong with what is imported: the file, where in it, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use gleaner_files::FileError;

use crate::data::own::NameError;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of text, the first is 1.
    Line(u64),
    /// A record of an array, the first is 0.
    Record(u64),
    /// A byte.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record(record) => write!(f, "record {record}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The name cannot be given.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Something at one place of a file.
    #[error("{}, {place}: {what}", path.display())]
    At {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Something about a file as a whole.
    #[error("{}: {what}", path.display())]
    Whole {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// An option that cannot be.
    #[error("{option}: {what}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What is wrong, and what to do.
        what: String,
    },
    /// There is a set of that name.
    #[error("{} is there already: choose another name, or replace it with --force", path.display())]
    Exists {
        /// Its file.
        path: PathBuf,
    },
}

impl ImportError {
    pub(super) fn at(path: &Path, place: Place, what: impl Into<String>) -> Self {
        Self::At {
            path: path.to_owned(),
            place,
            what: what.into(),
        }
    }

    pub(super) fn whole(path: &Path, what: impl Into<String>) -> Self {
        Self::Whole {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}
