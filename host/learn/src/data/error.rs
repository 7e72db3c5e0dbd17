//! What can be wrong with a data file, said so that it can be fixed.

use std::path::{Path, PathBuf};

use gleaner_files::FileError;
use strum::VariantArray;

use super::catalogue::{DatasetKind, sets};
use super::imported;

/// Why a data set could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is there but its content is not what its name promises.
    #[error("{}, byte {offset}: expected {expected}, found {found}", path.display())]
    Malformed {
        /// The file that is damaged or missing.
        path: PathBuf,
        /// Where in the (uncompressed) content.
        offset: usize,
        /// What belongs there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A compressed file holds more than anybody needs.
    #[error("{}: unpacks to more than {limit} bytes; {fix}", path.display())]
    TooLarge {
        /// The compressed file.
        path: PathBuf,
        /// The bytes it may unpack to.
        limit: u64,
        /// What to do.
        fix: &'static str,
    },
    /// A file that was fetched is damaged.
    #[error("{damage}; `gleaner data fetch {name}` brings an intact one")]
    Fetched {
        /// The set.
        name: String,
        /// What is wrong with it.
        damage: Box<DataError>,
    },
    /// A file's digest is not the pinned one.
    #[error(
        "{}: SHA-256 is {found}, expected {expected}; delete the file and fetch it again",
        path.display()
    )]
    Digest {
        /// The file that is damaged or missing.
        path: PathBuf,
        /// The pinned digest.
        expected: String,
        /// The digest of the file.
        found: String,
    },
    /// Files are missing.
    #[error(
        "data set `{name}` is not whole in {}: {} missing; run `gleaner data fetch {name}`, which \
         fills the cache, or place the files there by hand",
        directory.display(), files.join(", ")
    )]
    Missing {
        /// The set.
        name: String,
        /// Where the files belong.
        directory: PathBuf,
        /// Their names.
        files: Vec<String>,
    },
    /// A folder holds none of the file sets this program reads.
    #[error("{}: holds neither {}", directory.display(), formats().join(" nor "))]
    NoKnownFiles {
        /// The folder that was searched.
        directory: PathBuf,
    },
    /// Nobody knows this set.
    #[error(
        "no data set `{name}`: choose {} or an existing folder; `gleaner data import` brings in your \
         own", names().join(", ")
    )]
    UnknownSet {
        /// The name asked for.
        name: String,
    },
    /// No cache folder can be told from the environment.
    #[error("cannot tell where to keep data: set GLEANER_DATA to a folder")]
    NoCacheDirectory,
    /// The npm client is absent or failed.
    #[error("{reason}\n{advice}")]
    Npm {
        /// What happened.
        reason: String,
        /// What to do by hand.
        advice: String,
    },
}

/// Returns the names of all sets, those of the catalogue first.
fn names() -> Vec<String> {
    let known = DatasetKind::VARIANTS.iter().map(ToString::to_string);
    known.chain(imported()).collect()
}

/// Returns what the files of every set are called.
fn formats() -> Vec<&'static str> {
    let mut formats: Vec<&str> = sets().map(|set| set.format.about).collect();
    formats.dedup();
    formats
}

impl DataError {
    /// States that `path` differs from what was expected at `offset`.
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
