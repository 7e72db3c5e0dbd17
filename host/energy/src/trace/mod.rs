//! Recordings of current meters, read block by block, so that a trace may be longer than memory.
//!
//! [`open()`] detects the format of a file and reads it as a [`Trace`]; [`copy()`] writes one to a
//! [`Sink`].

mod columns;
mod csv;
mod error;
mod open;
pub mod ppk2;
mod sink;
mod summary;
mod watch;

pub use columns::Columns;
pub use csv::{CsvReader, CsvWriter};
pub use error::{Kind, Missing, Place, TraceError};
pub use open::{AnyTrace, Format, Options, digest, open};
pub use sink::{Losses, Sink, copy};
pub use summary::Summary;

/// Properties of a trace that are known before its first sample.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Name for messages, usually the path of the file.
    pub source: String,
    /// Sample rate of the meter.
    pub rate_hz: f64,
    /// Number of samples, if the format states it.
    pub samples: Option<u64>,
    /// Whether the meter recorded logic levels beside the current.
    pub has_pins: bool,
}

/// Consecutive samples of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Power drawn, in watts: current times voltage.
    pub power_w: Vec<f32>,
    /// Logic levels, one bit per input, input 0 lowest; empty if the trace has none.
    pub pins: Vec<u8>,
}

impl Block {
    /// Removes the samples and keeps the allocation.
    pub fn clear(&mut self) {
        self.power_w.clear();
        self.pins.clear();
    }
}

/// A recorded trace, which can be read once.
pub trait Trace {
    /// Error of reading the trace.
    type Error: std::error::Error + 'static;

    /// Returns the properties of the whole trace.
    fn about(&self) -> &About;

    /// Replaces the content of `block` by the next samples, as many as suit the format; returns
    /// false at the end of the trace.
    ///
    /// # Errors
    /// Returns the problem and its place.
    fn read(&mut self, block: &mut Block) -> Result<bool, Self::Error>;
}
