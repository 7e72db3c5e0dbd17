//! The network that this firmware trains: its layer sizes, and all memory it needs.
//!
//! `GLEANER_NETWORK=192-50-7` in the environment of a build selects another network, as `gleaner
//! flash` does for a scenario.

use gleaner_shared::board::{self, Board, Shape};
use gleaner_shared::mlp::{self, Scratch, Width, scratch_words};
use gleaner_shared::shard;
use gleaner_shared::wire::message::ModelShape;

pub use crate::local::Local;

/// The sizes of the network, from the build script.
const NETWORK: Shape = Shape::parse(env!("GLEANER_NETWORK")).expect("the build script checks it");
/// Bytes of one sample.
pub const INPUTS: usize = NETWORK.inputs;
/// Number of hidden units.
pub const HIDDEN: usize = NETWORK.hidden;
/// Number of classes, one output each.
pub const OUTPUTS: usize = NETWORK.classes;

/// The board this image is built for, named by the build script.
pub const BOARD: &Board = &BUILT;

const BUILT: Board = match board::named(env!("GLEANER_BOARD")).built_for(NETWORK) {
    Ok(board) => board,
    Err(_) => panic!("the network does not fit the board"),
};

/// The most samples a board trains on, limited by its RAM for error rows and by its flash.
pub const MAX_SAMPLES: usize = BOARD.most_samples;

/// The parameters of the network.
pub type Params = mlp::Params<INPUTS, HIDDEN, OUTPUTS>;
/// Working memory of the trainer.
pub type Work = mlp::Work<HIDDEN, OUTPUTS>;
/// Memory that holds error rows during training and the coded update after it.
pub type Rows = Scratch<ROW_WORDS>;

const ROW_WORDS: usize = {
    let rows = scratch_words::<HIDDEN>(MAX_SAMPLES);
    let update = board::update_bytes(NETWORK).div_ceil(size_of::<u32>());
    if rows > update { rows } else { update }
};

/// The layer sizes, as reported to the base station.
pub const SHAPE: ModelShape = ModelShape {
    inputs: INPUTS as u16,
    hidden: HIDDEN as u16,
    outputs: OUTPUTS as u16,
};

/// The largest transfer accepted, in bytes: the whole model.
pub const STORE_BYTES: usize = Params::EXACT_BYTES;

/// All large memory, in one static.
#[allow(missing_docs)]
pub struct Memory {
    /// The global model, which both ends hold.
    pub global: Params,
    /// The model in training; otherwise the receive buffer of the link.
    pub local: Local,
    pub work: Work,
    /// Error rows during training, the coded update afterwards.
    pub rows: Rows,
}

impl Memory {
    /// Returns cleared memory, ready for a static.
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
