//! The network this firmware trains: its layer sizes, and all memory it needs.
//!
//! Another perceptron is built with `GLEANER_NETWORK=192-50-7` in the environment, as `gleaner flash`
//! does for a scenario; nothing else knows the sizes.

use gleaner_shared::board::{self, Board, Shape};
use gleaner_shared::mlp::{self, Scratch, Width, scratch_words};
use gleaner_shared::shard;
use gleaner_shared::wire::message::ModelShape;

pub use crate::local::Local;

/// The sizes of the network, from the build script.
const NETWORK: Shape = Shape::parse(env!("GLEANER_NETWORK")).expect("the build script checks it");
/// Pixels of a sample.
pub const INPUTS: usize = NETWORK.inputs;
/// Hidden units.
pub const HIDDEN: usize = NETWORK.hidden;
/// Classes.
pub const OUTPUTS: usize = NETWORK.classes;

/// The board this is built for; the build script names it.
pub const BOARD: &Board = &BUILT;

const BUILT: Board = match board::named(env!("GLEANER_BOARD")).built_for(NETWORK) {
    Ok(board) => board,
    Err(_) => panic!("the network does not fit the board"),
};

/// Most samples a board trains on: what its RAM has error rows for and its flash holds.
pub const MAX_SAMPLES: usize = BOARD.most_samples;

/// The parameters of the network.
pub type Params = mlp::Params<INPUTS, HIDDEN, OUTPUTS>;
/// The trainer's working memory.
pub type Work = mlp::Work<HIDDEN, OUTPUTS>;
/// Memory that holds error rows during training and the coded update after it.
pub type Rows = Scratch<ROW_WORDS>;

const ROW_WORDS: usize = {
    let rows = scratch_words::<HIDDEN>(MAX_SAMPLES);
    let update = board::update_bytes(NETWORK).div_ceil(size_of::<u32>());
    if rows > update { rows } else { update }
};

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
            assert!(
                shard::bytes_of(MAX_SAMPLES, INPUTS) <= BOARD.shard().bytes as usize,
                "the board's flash does not hold MAX_SAMPLES"
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
