//! Errors of scenarios, each with a fix.

use std::path::PathBuf;

/// Error in a scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("cannot read scenario {}", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// Error of the file system.
        source: std::io::Error,
    },
    /// Neither a preset nor a file.
    #[error("`{name}` is neither a preset ({presets}) nor a file that ends in .toml{suggestion}")]
    UnknownPreset {
        /// The name that was given.
        name: String,
        /// The presets there are.
        presets: String,
        /// A preset that looks alike.
        suggestion: String,
    },
    /// Not TOML, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file or option it came from.
        origin: String,
        /// Message of the parser, with line and column where known.
        message: String,
    },
    /// A key that does not exist.
    #[error(
        "{origin}: unknown key `{}`{suggestion} (`gleaner config explain` lists all keys)",
        gleaner_files::printable(key)
    )]
    UnknownKey {
        /// The file or option it came from.
        origin: String,
        /// The key as written.
        key: String,
        /// A key that looks alike.
        suggestion: String,
    },
    /// An override without a value.
    #[error("`{text}` has no `=`; write section.key=value")]
    NoValue {
        /// The override as written.
        text: String,
    },
    /// A value out of its range.
    #[error("{key} = {value}: {fix}")]
    OutOfRange {
        /// The key, with its section.
        key: String,
        /// The value it has.
        value: String,
        /// Values that are allowed.
        fix: String,
    },
    /// A file names a program to start.
    #[error(
        "{file}: {key} = {value}: a program that a file names is not started; read the file, then \
         pass --allow-process, or give {key} in the options"
    )]
    Program {
        /// The file that names the program.
        file: String,
        /// The key, with its section.
        key: String,
        /// The value, written as TOML.
        value: String,
    },
    /// A measured profile that cannot be used.
    #[error("--profile: {message}")]
    Profile {
        /// Description of the error, with file and line where known.
        message: String,
    },
}
