//! What can be wrong with the list of a fleet.

/// Why the list of a fleet cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetFileError {
    /// The file cannot be read.
    #[error("{file}: {source}; `gleaner fleet init` writes one")]
    File {
        /// Where it is.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{file}: {what}")]
    Syntax {
        /// Where it is.
        file: String,
        /// What the parser said, with line and column.
        what: String,
    },
    /// The file lists nobody.
    #[error("{file}: there is no [[client]] in it")]
    Empty {
        /// Where it is.
        file: String,
    },
    /// One entry is wrong.
    #[error("{file}, line {line}: client \"{name}\": {what}")]
    Entry {
        /// Where it is.
        file: String,
        /// Where the entry begins in it.
        line: usize,
        /// The entry.
        name: String,
        /// What is wrong and what would be right.
        what: String,
    },
    /// Several entries claim the same.
    #[error("{file}: {field} = {value} is claimed by {candidates}; give each its own")]
    Ambiguous {
        /// Where it is.
        file: String,
        /// What is claimed.
        field: &'static str,
        /// Its value.
        value: String,
        /// By whom.
        candidates: String,
    },
    /// No entry has the name asked for.
    #[error("no client is called \"{name}\"; there are {names}")]
    NoSuchName {
        /// The name.
        name: String,
        /// The names there are.
        names: String,
    },
}
