//! What can be wrong with a source of income.

use std::io;

use thiserror::Error;

use super::rows::MAX_BYTES;

/// What is wrong with a source of income, and how to mend it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HarvestError {
    /// A setting is out of its range.
    #[error("harvest.{key} = {value}: {demand}")]
    Setting {
        /// The setting, as the scenario calls it.
        key: &'static str,
        /// What it is.
        value: String,
        /// What it must be.
        demand: String,
    },
    /// Not every client has an income.
    #[error("{given} incomes for {clients} clients: one each is needed")]
    Incomes {
        /// How many there are.
        given: usize,
        /// How many there must be.
        clients: usize,
    },
    /// No trace of this name is in the program.
    #[error("no built-in trace `{name}`; there are: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// The file cannot be read.
    #[error("{name}: {source}")]
    Read {
        /// What the file is called.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file is longer than any trace should be.
    #[error(
        "{name}: more than {} MiB; average it to fewer rows, or cut out the days that are needed",
        MAX_BYTES >> 20
    )]
    TooLarge {
        /// What the file is called.
        name: String,
    },
    /// A line is not what it should be.
    #[error("{name}:{line}: {problem}")]
    Line {
        /// What the file is called.
        name: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong, with the value and the fix.
        problem: String,
    },
    /// The file as a whole is not what it should be.
    #[error("{name}: {problem}")]
    File {
        /// What the file is called.
        name: String,
        /// What is wrong and the fix.
        problem: String,
    },
}
