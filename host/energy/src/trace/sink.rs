//! Where a trace is written to.

use std::io;

use super::{Block, Trace, TraceError};

/// Something that takes the samples of a trace in order.
pub trait Sink {
    /// Takes samples.
    ///
    /// # Errors
    /// Whatever the system refuses.
    fn push(&mut self, block: &Block) -> io::Result<()>;

    /// Takes note of samples that were lost, as its format shows them.
    ///
    /// # Errors
    /// Whatever the system refuses.
    fn lose(&mut self, samples: u64) -> io::Result<()>;

    /// Ends the trace.
    ///
    /// # Errors
    /// Whatever the system refuses.
    fn finish(self) -> io::Result<()>;
}

/// What becomes of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// They end the copy.
    Refused,
    /// They are written as the target's format shows them.
    Kept,
}

/// A copy that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The trace is refused.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The target does not take it.
    #[error("writing the trace: {0}")]
    Target(#[from] io::Error),
}

/// Copies a trace; `seen` looks at every block on the way.
///
/// # Errors
/// What is wrong with the trace, or with where it goes.
pub fn copy<T: Trace<Error = TraceError>>(
    trace: &mut T,
    mut sink: impl Sink,
    losses: Losses,
    mut seen: impl FnMut(&Block),
) -> Result<(), CopyError> {
    let mut block = Block::default();
    loop {
        match trace.read(&mut block) {
            Ok(true) => {
                seen(&block);
                sink.push(&block)?;
            }
            Ok(false) => break,
            Err(error) => match error.gap() {
                Some(missing) if losses == Losses::Kept => sink.lose(missing.least())?,
                _ => return Err(error.into()),
            },
        }
    }
    Ok(sink.finish()?)
}
