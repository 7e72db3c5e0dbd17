//! The network this firmware trains: its layer sizes, and all memory it needs.
//!
//! Another perceptron is built by changing the constants here; nothing else knows them.

use gleaner_shared::mlp::{self, Scratch, Width, scratch_words};
use gleaner_shared::wire::message::ModelShape;

pub use crate::local::Local;

/// Pixels of a sample.
pub const INPUTS: usize = 784;
/// Hidden units.
pub const HIDDEN: usize = 50;
/// Classes.
pub const OUTPUTS: usize = 10;

/// RAM for the error rows, one a sample: what an RP2040 has left beside two models and the row sums'
/// program.
#[cfg(feature = "board-rp2040")]
const ROWS_BYTES: usize = 57_200;
/// RAM for the error rows, one a sample: two thousand of them, or a 16-bit update.
#[cfg(not(feature = "board-rp2040"))]
const ROWS_BYTES: usize = 208_000;

/// Most samples a board trains on.
pub const MAX_SAMPLES: usize = ROWS_BYTES / size_of::<u32>() / scratch_words::<HIDDEN>(1);

/// The parameters of the network.
pub type Params = mlp::Params<INPUTS, HIDDEN, OUTPUTS>;
/// The trainer's working memory.
pub type Work = mlp::Work<HIDDEN, OUTPUTS>;
/// Memory that holds error rows during training and the coded update after it.
pub type Rows = Scratch<{ scratch_words::<HIDDEN>(MAX_SAMPLES) }>;

/// The sizes as they are told to the base station.
pub const SHAPE: ModelShape = ModelShape {
    inputs: INPUTS as u16,
    hidden: HIDDEN as u16,
    outputs: OUTPUTS as u16,
};

/// Bytes of the largest transfer taken: the whole model.
pub const STORE_BYTES: usize = Params::EXACT_BYTES;

/// Everything large, in one static.
pub struct Memory {
    /// The model both ends hold.
    pub global: Params,
    /// The model being trained; while none is, the link receives into it.
    pub local: Local,
    /// The trainer's working memory.
    pub work: Work,
    /// Error rows while training, the coded update afterwards.
    pub rows: Rows,
}

impl Memory {
    /// Returns cleared memory, ready for a static.
    #[must_use]
    pub const fn new() -> Self {
        const {
            let update = Width::Byte.coded_bytes(Params::COUNT);
            assert!(
                size_of::<Rows>() >= update,
                "MAX_SAMPLES leaves no room for the coded update"
            );
        }
        Self {
            global: Params::new(),
            local: Local::new(),
            work: Work::new(),
            rows: Rows::new(),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}
