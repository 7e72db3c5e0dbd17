//! Errors of traces: the file, the place in it, the problem and the fix.

use std::fmt;
use std::io;

/// Error of reading or copying a trace.
///
/// After a [`Kind::Gap`] the reader stands behind the gap and can continue, so that all gaps of a
/// trace can be reported at once. After any other error the trace has ended.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {kind}", place.map_or(String::new(), |place| format!(", {place}")))]
#[allow(missing_docs)]
pub struct TraceError {
    pub file: String,
    pub place: Option<Place>,
    pub kind: Kind,
}

/// A place in a file. Lines count from 1, bytes and samples from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Place {
    Line(u64),
    Byte(u64),
    Sample(u64),
}

/// The problem of a [`TraceError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Kind {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The target of a copy could not be written.
    #[error("writing the trace: {0}")]
    Write(io::Error),
    /// The format of the file is unknown.
    #[error(
        "neither a .ppk2 archive nor a CSV with a known header (it begins with {0:?}); for any \
         other CSV declare its columns with --columns time=NAME:s,current=NAME:mA, and for \
         the bytes of a PPK2's serial line use --format ppk2-raw"
    )]
    Unknown(String),
    /// The file is a Joulescope's own `.jls`.
    #[error(
        "a Joulescope's .jls file is read by its own tool; export it with `python -m pyjls export \
         --signal current FILE.jls current.csv` and import that with --columns current=1:A --rate \
         HZ --voltage V, or export CSV with time, current and voltage from the Joulescope UI"
    )]
    Jls,
    #[error("the archive is damaged or not a PPK2's: {0}; save the recording again")]
    Archive(String),
    /// The metadata of an archive, or a calibration, is invalid.
    #[error("{0}")]
    Metadata(String),
    #[error("{0} samples per second; a rate is a number between 0.001 and 100,000,000")]
    Rate(f64),
    #[error("the file has no time column; state the samples per second with --rate HZ")]
    NoRate,
    #[error(
        "the file has no voltage; state the supply voltage of the board, for example --voltage 3.3"
    )]
    NoVoltage,
    #[error("a supply of {0} V; the voltage of a board is above 0 and at most 60 V")]
    Voltage(f64),
    #[error("{missing}; record again{advice}", advice = missing.advice())]
    Gap { missing: Missing },
    /// A time stamp is not after the one before it.
    #[error("time runs from {from} s to {to} s; the rows are out of order or the clock was reset")]
    Backwards { from: f64, to: f64 },
    /// The time between two rows is not a multiple of the sample period.
    #[error(
        "{step:.4e} s after the row before it, where samples are {period:.4e} s apart; irregular rows are \
         refused: export the recording at a fixed rate"
    )]
    Irregular { step: f64, period: f64 },
    #[error("{what} is {value}; only finite numbers can be summed, record or export again")]
    NotFinite { what: &'static str, value: f64 },
    /// A current is larger than any board draws.
    #[error(
        "{current_a:e} A is more than any board of this kind draws; the values are in another \
         unit than {unit}: correct --columns, or use --trust-units if the values are right"
    )]
    TooMuch { current_a: f64, unit: &'static str },
    /// The mean current is smaller than a meter resolves.
    #[error(
        "the mean current is {current_a:e} A, less than a meter resolves; the values are in \
         another unit than {unit}: correct --columns, or use --trust-units if the values are right"
    )]
    TooLittle { current_a: f64, unit: &'static str },
    /// A column is missing, or its name is wrong.
    #[error("{0}")]
    Column(String),
    /// A cell is invalid for its column.
    #[error("column {column}: {text:?} is not {expected}")]
    Cell {
        column: String,
        text: String,
        expected: &'static str,
    },
    #[error("a line of more than {0} bytes; this is not a table of samples")]
    LongLine(usize),
    #[error("the file ends inside a sample ({0} bytes too many); the recording was cut off")]
    Torn(usize),
    /// Raw samples are no longer aligned to their four bytes.
    #[error(
        "the counter of the samples jumps repeatedly: bytes are missing and the rest is not \
         aligned; record again"
    )]
    Slipped,
    /// A raw sample names a measuring range that the meter does not have.
    #[error(
        "measuring range {0}, but a PPK2 has 0 to 4; the bytes are not from a PPK2's serial line"
    )]
    Range(u8),
    #[error("no sample; record again")]
    Empty,
}

/// The number of samples that a gap lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The exact number of samples.
    Exactly(u64),
    /// The number of samples modulo 64, the range of the PPK2's counter.
    Modulo64(u8),
}

impl Missing {
    /// Returns the smallest number of samples that fits.
    #[must_use]
    pub const fn least(self) -> u64 {
        match self {
            Self::Exactly(samples) => samples,
            Self::Modulo64(samples) => samples as u64,
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Exactly(_) => " at a lower rate or with nothing else on the USB hub",
            Self::Modulo64(_) => " with the reader of the serial line keeping up",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(1) => write!(f, "1 sample is missing"),
            Self::Exactly(samples) => write!(f, "{samples} samples are missing"),
            Self::Modulo64(samples) => write!(f, "{samples} samples are missing (or 64 more)"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Sample(sample) => write!(f, "sample {sample}"),
        }
    }
}

impl TraceError {
    /// Returns the error of a whole file.
    pub fn of(file: &str, kind: impl Into<Kind>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            kind: kind.into(),
        }
    }

    /// Returns the error of a place in a file.
    pub fn at(file: &str, place: Place, kind: impl Into<Kind>) -> Self {
        Self {
            place: Some(place),
            ..Self::of(file, kind)
        }
    }

    /// Returns the number of missing samples if the error is a gap.
    #[must_use]
    pub const fn gap(&self) -> Option<Missing> {
        match self.kind {
            Kind::Gap { missing } => Some(missing),
            _ => None,
        }
    }

    /// Returns whether a trace has ended after this result of reading it.
    pub(super) fn is_end(read: &Result<bool, Self>) -> bool {
        match read {
            Ok(more) => !more,
            Err(error) => error.gap().is_none(),
        }
    }
}
