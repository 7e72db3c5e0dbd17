//! What a measured board says it did: one mark per phase, in order.

use gleaner_shared::energy::Phase;
use serde::{Deserialize, Serialize};

/// One phase of a measured board, told when it is over.
///
/// A phase lasts from its own `t_us` to that of the next mark, so marks leave no gap. While it
/// lasts the board's pins show the phase's code; two marks of one phase in a row share one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Number of the mark, from 0; a gap means that one was lost.
    pub seq: u32,
    /// What the board did.
    pub phase: Phase,
    /// When it began, in microseconds of the board's own clock.
    pub t_us: u64,
    /// Processor cycles it took, as the board counted them; 0 while it waits.
    pub cycles: u64,
    /// Samples worked on.
    pub samples: u32,
    /// Bytes received or sent.
    pub bytes: u32,
    /// The processor's clock meanwhile.
    pub clk_hz: u32,
}
