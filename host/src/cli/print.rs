//! Output of commands. Text is escaped here, whoever wrote it: no letter of a file, a folder or a board
//! commands the terminal, hides or reorders others. A failed write to standard output ends the command with an error; `main` treats
//! a closed pipe as success. A failed write to standard error is ignored.

use std::fmt;
use std::io::{self, Write};

use gleaner_files::{printable_json, printable_lines};

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
    let text = text.to_string();
    let shown = printable_lines(&text);
    let written = io::stdout().lock().write_all(shown.as_bytes());
    written.map_err(OutputError)
}

/// Writes a line of JSON to standard output; see `outjson!`.
///
/// # Errors
/// Whatever the system refuses.
pub fn write_json(json: &impl fmt::Display) -> Result<(), OutputError> {
    let text = format!("{json}\n");
    let shown = printable_json(&text);
    let written = io::stdout().lock().write_all(shown.as_bytes());
    written.map_err(OutputError)
}

/// Writes a line to standard error and ignores failures; see `errln!`.
pub fn error_line(text: fmt::Arguments<'_>) {
    let line = format!("{text}\n");
    let _ = io::stderr()
        .lock()
        .write_all(printable_lines(&line).as_bytes());
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

/// Prints JSON as `outln!` prints text.
macro_rules! outjson {
    ($json:expr) => {
        $crate::cli::print::write_json(&$json)?
    };
}

/// Prints a line to standard error and ignores failures.
macro_rules! errln {
    ($($text:tt)*) => { $crate::cli::print::error_line(format_args!($($text)*)) };
}
