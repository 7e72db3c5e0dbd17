//! Errors of an import: the file, the place in it, and the fix.

use std::fmt;
use std::path::{Path, PathBuf};

use gleaner_files::{FileError, printable};

use crate::data::NameError;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of text, counted from 1.
    Line(u64),
    /// A record of an array, counted from 0.
    Record(u64),
    /// An offset in bytes, counted from 0.
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

/// An error that stopped an import; `what` says the problem and the fix.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Name(#[from] NameError),
    /// One place of a file is wrong.
    #[error("{}, {place}: {what}", printable(&path.to_string_lossy()))]
    At {
        path: PathBuf,
        place: Place,
        what: String,
    },
    /// A file as a whole is wrong.
    #[error("{}: {what}", printable(&path.to_string_lossy()))]
    Whole { path: PathBuf, what: String },
    /// An option of the command line has an invalid value.
    #[error("{option}: {what}")]
    Option { option: &'static str, what: String },
    /// A data set of that name exists.
    #[error("{} exists: choose another name, or replace it with --force", path.display())]
    Exists { path: PathBuf },
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
