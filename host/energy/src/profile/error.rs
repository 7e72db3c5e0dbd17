//! What is wrong with a profile, with its line.

/// A profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not a profile.
    #[error("{file}, line {line}: {what}")]
    Text {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there, with the key.
        what: String,
    },
    /// A clock that was not measured.
    #[error(
        "a clock of {asked} MHz is outside what the profile measured ({measured} MHz); measure it (gleaner measure \
         --plan), or set device.frequency_hz to a clock in between"
    )]
    Clock {
        /// The clock asked for.
        asked: String,
        /// The clocks there are.
        measured: String,
    },
    /// Something that was not measured.
    #[error(
        "the profile does not know {0}; order it in the plan (gleaner measure --plan) and fit again"
    )]
    Unknown(&'static str),
}
