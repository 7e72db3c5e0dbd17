//! What is wrong with a trace, where, and what to do.

use std::fmt;
use std::io;

/// A trace that is refused.
///
/// After a [`Kind::Gap`] the reader stands behind the gap and may be read on, so that all gaps of
/// a trace can be told at once; after anything else it is at its end.
#[derive(Debug)]
pub struct TraceError {
    /// The file.
    pub source: String,
    /// Where in it, if the trouble has a place.
    pub place: Option<Place>,
    /// What is wrong there.
    pub kind: Kind,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, from 1.
    Line(u64),
    /// A byte, from 0.
    Byte(u64),
    /// A sample, from 0.
    Sample(u64),
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is none of the known kinds.
    #[error(
        "neither a .ppk2 archive nor a CSV with a known header (it begins with {0:?}); for any \
         other CSV say which columns are what with --columns time=NAME:s,current=NAME:mA, and for \
         the bytes of a PPK2's serial line say --format ppk2-raw"
    )]
    Unknown(String),
    /// A Joulescope's own file.
    #[error(
        "a Joulescope's .jls file is read by its own tool; export it with `python -m pyjls export \
         --signal current FILE.jls current.csv` and import that with --columns current=1:A --rate \
         HZ --voltage V, or export CSV with time, current and voltage from the Joulescope UI"
    )]
    Jls,
    /// The archive is damaged or not one of a PPK2.
    #[error("the archive is damaged or not a PPK2's: {0}; save the recording again")]
    Archive(String),
    /// The archive's or the calibration's text is not as it should be.
    #[error("{0}")]
    Metadata(String),
    /// The samples have no rate.
    #[error("{0} samples a second; a rate is a number between 0.001 and 100,000,000")]
    Rate(f64),
    /// Time is not in the file.
    #[error("the file has no time column; say the samples a second with --rate HZ")]
    NoRate,
    /// The voltage is not in the file.
    #[error(
        "the file has no voltage; say at how many volts the board was supplied, for example \
         --voltage 3.3"
    )]
    NoVoltage,
    /// The voltage cannot be.
    #[error("a supply of {0} V; the voltage of a board is above 0 and at most 60 V")]
    Voltage(f64),
    /// Samples are missing.
    #[error("{missing}; record again{advice}", advice = missing.advice())]
    Gap {
        /// How many.
        missing: Missing,
    },
    /// Time stands still or runs backwards.
    #[error("time runs from {from} s to {to} s; the rows are out of order or the clock was reset")]
    Backwards {
        /// The time of the row before.
        from: f64,
        /// The time of this row.
        to: f64,
    },
    /// The samples are not equally far apart.
    #[error(
        "{step:.4e} s after the row before it, where samples are {period:.4e} s apart; irregular rows are \
         refused: export the recording at a fixed rate"
    )]
    Irregular {
        /// Seconds since the row before.
        step: f64,
        /// Seconds between samples.
        period: f64,
    },
    /// A value is not a finite number.
    #[error("{what} is {value}; only finite numbers can be summed, record or export again")]
    NotFinite {
        /// Which value.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// A value that no board draws.
    #[error(
        "{current_a:e} A is more than any board of this kind draws; the values are in another \
         unit than {unit}: say the right one in --columns, or --trust-units if it is right"
    )]
    TooMuch {
        /// The current as understood.
        current_a: f64,
        /// The unit it was read in.
        unit: &'static str,
    },
    /// A trace that no meter resolves.
    #[error(
        "the mean current is {current_a:e} A, less than a meter resolves; the values are in \
         another unit than {unit}: say the right one in --columns, or --trust-units if it is right"
    )]
    TooLittle {
        /// The mean as understood.
        current_a: f64,
        /// The unit it was read in.
        unit: &'static str,
    },
    /// A column is missing or named wrongly.
    #[error("{0}")]
    Column(String),
    /// A cell is not what its column promises.
    #[error("column {column}: {text:?} is not {expected}")]
    Cell {
        /// The column's name.
        column: String,
        /// What is there.
        text: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A line is too long to be one of a table.
    #[error("a line of more than {0} bytes; this is no table of samples")]
    LongLine(usize),
    /// The file ends inside a sample.
    #[error("the file ends inside a sample ({0} bytes too many); the recording was cut off")]
    Torn(usize),
    /// Raw samples no longer begin where they should.
    #[error(
        "the counter of the samples jumps again and again: bytes are missing and the rest does \
         not line up; record again"
    )]
    Slipped,
    /// A raw sample of a range that the meter does not have.
    #[error("measuring range {0}, and a PPK2 has 0 to 4; the bytes are not those of its line")]
    Range(u8),
    /// There is nothing in it.
    #[error("no sample; record again")]
    Empty,
}

/// How many samples a gap lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// This many.
    Exactly(u64),
    /// This many, or that and a multiple of the counter's 64.
    Modulo64(u8),
}

impl Missing {
    /// Returns the least number that fits.
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

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        if let Some(place) = self.place {
            write!(f, ", {place}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => error.source(),
            _ => None,
        }
    }
}

impl TraceError {
    /// Tells of a file as a whole.
    pub fn of(source: &str, kind: impl Into<Kind>) -> Self {
        Self {
            source: source.to_owned(),
            place: None,
            kind: kind.into(),
        }
    }

    /// Tells of a place in a file.
    pub fn at(source: &str, place: Place, kind: impl Into<Kind>) -> Self {
        Self {
            place: Some(place),
            ..Self::of(source, kind)
        }
    }

    /// Returns how many samples are missing here, if that is what is wrong.
    #[must_use]
    pub const fn gap(&self) -> Option<Missing> {
        match self.kind {
            Kind::Gap { missing } => Some(missing),
            _ => None,
        }
    }
}
