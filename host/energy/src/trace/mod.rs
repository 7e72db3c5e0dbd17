//! What a current meter recorded, read block by block so that no trace is too long.
//!
//! [`open()`] recognises a file and reads it as a [`Trace`]; [`copy()`] writes one through a [`Sink`].

mod columns;
mod csv;
mod error;
mod open;
mod options;
pub mod ppk2;
mod sink;
mod summary;
mod watch;

pub use columns::Columns;
pub use csv::{CsvReader, CsvWriter};
pub use error::{Kind, Missing, Place, TraceError};
pub use open::{AnyTrace, digest, open};
pub use options::{Format, Options};
pub use sink::{CopyError, Losses, Sink, copy};
pub use summary::Summary;

/// What is known of a trace before its first sample.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Where it comes from, for messages: a file's name as a rule.
    pub source: String,
    /// Samples a second.
    pub rate_hz: f64,
    /// How many there are, if the format says so beforehand.
    pub samples: Option<u64>,
    /// Whether the meter recorded logic levels beside the current.
    pub has_pins: bool,
}

/// Some samples in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Power drawn, in watts: current times voltage.
    pub power_w: Vec<f32>,
    /// Logic levels, one bit an input, input 0 lowest; empty if there are none.
    pub pins: Vec<u8>,
}

impl Block {
    /// Forgets the samples and keeps the memory.
    pub fn clear(&mut self) {
        self.power_w.clear();
        self.pins.clear();
    }
}

/// A recorded trace; what is read once is gone.
pub trait Trace {
    /// What went wrong on the way.
    type Error: std::error::Error + 'static;

    /// Returns what is known of the whole.
    fn about(&self) -> &About;

    /// Puts the next samples into `block`, of which it has whatever suits it; false at the end.
    ///
    /// # Errors
    /// What is wrong with the trace, and where.
    fn read(&mut self, block: &mut Block) -> Result<bool, Self::Error>;
}
