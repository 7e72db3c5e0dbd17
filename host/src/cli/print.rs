//! What commands print. A device without room is an error that ends the command, and so is a reader
//! that has gone, which `main` takes for an end like any other; remarks on standard error, which
//! nobody may be able to read, stop nothing.

use std::fmt;
use std::io::{self, Write};

/// Standard output does not take what a command has to say.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub struct OutputError(io::Error);

impl OutputError {
    /// Tells whether the reader has gone, as `head` does when it has enough.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

/// Writes to standard output; see `out!` and `outln!`.
///
/// # Errors
/// Whatever the system refuses.
pub fn write(text: fmt::Arguments<'_>) -> Result<(), OutputError> {
    io::stdout().lock().write_fmt(text).map_err(OutputError)
}

/// Makes sure that everything written has left the program.
///
/// # Errors
/// Whatever the system refuses.
pub fn finish() -> Result<(), OutputError> {
    io::stdout().lock().flush().map_err(OutputError)
}

/// Shows what the parser of the options answers: help, the version, or what is wrong.
///
/// # Errors
/// Whatever the system refuses.
pub fn answer(answer: &clap::Error) -> Result<(), OutputError> {
    answer.print().map_err(OutputError)
}

/// Prints like `print!`, and returns from the function with the error if that fails.
macro_rules! out {
    ($($text:tt)*) => { $crate::cli::print::write(format_args!($($text)*))? };
}

/// Prints a line like `println!`, and returns from the function with the error if that fails.
macro_rules! outln {
    ($($text:tt)*) => { $crate::cli::print::write(format_args!("{}\n", format_args!($($text)*)))? };
}

/// Remarks a line on standard error, if that takes it.
macro_rules! errln {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr().lock(),
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}
