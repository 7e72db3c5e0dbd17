//! The fixed-point network, its training and its compressed updates.
//!
//! A perceptron of one hidden ReLU layer with softmax cross-entropy, trained by exact full-batch
//! gradient descent in integers, so that x86-64, a Cortex-M0+ and a Cortex-M4 hold the same
//! parameters to the bit after any number of epochs.
//!
//! | quantity | type | one unit is | range |
//! |---|---|---|---|
//! | input x | `u8` | 1/255 | 0 to 1 |
//! | weights W1 | `i16` | 2^-14 | +-2 |
//! | bias b1, hidden sum z | `i32` | 2^-14 / 255 | +-514 |
//! | hidden activation h | 15 bits | 2^-10 | 0 to 32 |
//! | weights W2 | `i16` | 2^-12 | +-8 |
//! | bias b2, output sum | `i32` | 2^-22 | +-512 |
//! | output error d2 = p - y | `i32` | 2^-12 | +-1 |
//! | hidden error d1 = h' W2 d2 | 8 bits times 2^0 to 2^7, one power a sample | 2^-12 | +-3.97 |
//! | dW1, summed for one pixel at a time | `i32` | 2^-12 / 255 | |
//! | dW2 | `i32`, folded into 48 bits | 2^-22 | |
//!
//! RAM of a client with 784-50-10 and N samples, in bytes; the samples stay in flash:
//!
//! | what | Cortex-M0+ | elsewhere |
//! |---|---|---|
//! | [`Params`] being trained | 79,640 | 79,640 |
//! | [`Scratch`]: one row of hidden errors a sample | 52 N | 104 N |
//! | [`Work`], once a core | 9,424 | 9,424 |
//! | training alone, one core, N = 1000 | about 141,000 | about 193,000 |
//! | [`Params`] of the base, to code the difference to | 79,640 | 79,640 |
//! | all, N = 1000 | about 221,000 | about 273,000 |
//!
//! The scratch memory is free outside an epoch and then holds a coded model of 39,776 bytes on
//! its way in or out ([`Scratch::bytes`]). A Cortex-M0+ keeps four 8-bit mantissas of hidden errors
//! in a word, a Cortex-M4 two, both with the power of two apart; other cores keep the 16-bit
//! product: the same numbers.
//!
//! One epoch of 784-50-10 over 1000 images of MNIST with their [`crate::lists`], rate 0.5, the update
//! included, takes about 74,000 cycles a sample on a Cortex-M0+ and 43,300 on two of them (rp2040js,
//! flash that answers at once), and 34,000 on a Cortex-M4 (by its table): `tests/emulated.rs` measures
//! the latter two in the firmware's images.
//!
//! Sizes are constants of a build on a device. Elsewhere memory for a network may hold a smaller one
//! (`Params::reshape`): inputs, units and classes beyond its [`Shape`] stay zero, draw no random bits and
//! add nothing to any sum, so that the outcome is that of memory of its own size.
//!
//! A unit whose activation rounds to zero counts as dead. Sums over a sample's pixels, its hidden
//! units and a pixel's samples are exact in 32 bits up to a stated number of entries and
//! saturate where such parts are joined; the lists are cut at the same places everywhere.
//!
//! Layers, lowest first: the private row-sum kernels, [`softmax`], [`params`] (the parameters and
//! the order of bytes on the wire), [`forward`], [`mod@evaluate`] and [`mod@classify`], [`descent`]
//! (the step of one weight), [`work`] (the share of one core in an epoch), [`partner`] (the division
//! between cores), [`trainer`] (an epoch as a resumable state machine), [`Clip`] (the longest update), [`code`] (codes of
//! the difference to the last model that both ends hold), [`selftest`] (a fingerprint that two builds
//! must agree on).

pub mod classify;
mod clip;
pub mod code;
pub mod descent;
pub mod evaluate;
pub mod forward;
mod kernel;
mod list;
pub mod params;
pub mod partner;
pub mod sample;
pub mod scratch;
pub mod selftest;
pub mod softmax;
pub mod trainer;
pub mod work;

pub use crate::board::{Shape, ShapeError};
pub use classify::{Guess, classify};
pub use clip::Clip;
pub use code::{CodeError, UploadCode, Width};
pub use descent::LearningRate;
pub use evaluate::{EpochResult, evaluate, evaluate_with};
pub use params::Params;
pub use partner::{Alone, Helper, Partner};
pub use sample::Samples;
pub use scratch::{Scratch, scratch_words};
pub use trainer::{Step, TrainError, Trainer};
pub use work::Work;

/// The network of the paper: 784 pixels, 50 hidden units, 10 classes; 39,760 parameters.
pub type PaperParams = Params<784, 50, 10>;
