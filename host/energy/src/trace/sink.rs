//! Writers of traces, and the copy from a reader to a writer.

use std::io;

use super::{Block, Kind, Trace, TraceError};

/// A writer that takes the samples of a trace in order.
pub trait Sink {
    /// Writes the next samples.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn push(&mut self, block: &Block) -> io::Result<()>;

    /// Writes lost samples in the way of its format.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn lose(&mut self, samples: u64) -> io::Result<()>;

    /// Writes the end of the trace.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    fn finish(self) -> io::Result<()>;
}

/// Treatment of gaps by [`copy()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// A gap is an error and ends the copy.
    Refused,
    /// Gaps are written in the way of the target's format.
    Kept,
}

/// Copies a trace and calls `seen` with every block.
///
/// # Errors
/// Returns the error of the trace, or [`Kind::Write`] if the sink fails.
pub fn copy<T: Trace<Error = TraceError>>(
    trace: &mut T,
    mut sink: impl Sink,
    losses: Losses,
    mut seen: impl FnMut(&Block),
) -> Result<(), TraceError> {
    let file = trace.about().source.clone();
    let written =
        |result: io::Result<()>| result.map_err(|error| TraceError::of(&file, Kind::Write(error)));
    let mut block = Block::default();
    loop {
        match trace.read(&mut block) {
            Ok(true) => {
                seen(&block);
                written(sink.push(&block))?;
            }
            Ok(false) => break,
            Err(error) => match error.gap() {
                Some(missing) if losses == Losses::Kept => written(sink.lose(missing.least()))?,
                _ => return Err(error),
            },
        }
    }
    written(sink.finish())
}
