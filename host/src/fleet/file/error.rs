//! What can be wrong with a bench.

/// Why a bench cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The file cannot be read.
    #[error("{file}: {source}; `gleaner bench init` writes one")]
    File {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{file}: {what}")]
    Syntax {
        /// The file.
        file: String,
        /// What the parser said, with line and column.
        what: String,
    },
    /// The file lists nobody.
    #[error("{file}: there is no [[client]] in it")]
    Empty {
        /// The file.
        file: String,
    },
    /// One entry is wrong.
    #[error("{file}, line {line}: client \"{name}\": {what}")]
    Entry {
        /// The file.
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
        /// The file.
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
