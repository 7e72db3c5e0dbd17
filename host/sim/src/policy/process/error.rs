//! Errors of a scheduler program and of its answers.

use std::io;

/// Error of a scheduler program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source}; is it installed, and is the path right?")]
    Start {
        /// Path of the program.
        program: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The program ended before it answered.
    #[error("it ended with {status} before it answered{stderr}")]
    Died {
        /// Exit status of the program.
        status: String,
        /// Its last lines on standard error.
        stderr: String,
    },
    /// The program closed a stream and is still running.
    #[error("it closed its standard {stream} and did not end{stderr}")]
    Closed {
        /// Name of the stream.
        stream: &'static str,
        /// Its last lines on standard error.
        stderr: String,
    },
    /// The program did not answer in time.
    #[error(
        "no answer within run.decision_limit_s = {limit_s} s; does it flush its standard output \
         after every line?{stderr}"
    )]
    Late {
        /// Time limit of an answer.
        limit_s: f64,
        /// Its last lines on standard error.
        stderr: String,
    },
    /// The answer has no end of line.
    #[error("its line is longer than {limit} bytes; one JSON object with a line break is expected")]
    TooLong {
        /// The most bytes of a line.
        limit: usize,
    },
    /// The program wrote a line without a request.
    #[error("unexpected line `{line}`: write one line for each request")]
    Unasked {
        /// Beginning of the line.
        line: String,
    },
    /// Its line is not UTF-8.
    #[error("byte {at} of its line is not UTF-8: `{line}`")]
    NotText {
        /// The first byte that is not.
        at: usize,
        /// Beginning of the line.
        line: String,
    },
    /// Its line is not JSON, or not the JSON that is expected.
    #[error("{place}{message}, in `{line}`{hint}")]
    Malformed {
        /// The field, followed by a colon; empty where the line as a whole is wrong.
        place: String,
        /// Message of the parser.
        message: String,
        /// Beginning of the line.
        line: String,
        /// The fix, where it is known.
        hint: &'static str,
    },
    /// A field has a value that cannot be.
    #[error("{field} = {value}: {fix}")]
    Value {
        /// Path of the field.
        field: String,
        /// Value of the field.
        value: String,
        /// Values that are allowed.
        fix: String,
    },
}

impl ProcessError {
    pub(super) fn value(
        field: impl Into<String>,
        value: impl ToString,
        fix: impl Into<String>,
    ) -> Self {
        Self::Value {
            field: field.into(),
            value: value.to_string(),
            fix: fix.into(),
        }
    }
}
