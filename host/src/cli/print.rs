//! Output of commands. A failed write to standard output ends the command with an error; `main` treats
//! a closed pipe as success. A failed write to standard error is ignored.

use std::fmt;
use std::io::{self, Write};

/// Standard output cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: {0}")]
pub struct OutputError(io::Error);

impl OutputError {
    /// Tells whether the reader closed the pipe, as `head` does.
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

/// Flushes standard output.
///
/// # Errors
/// Whatever the system refuses.
pub fn finish() -> Result<(), OutputError> {
    io::stdout().lock().flush().map_err(OutputError)
}

/// Prints the argument parser's answer: help, version or error.
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

/// Prints a line to standard error and ignores failures.
macro_rules! errln {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr().lock(),
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}
