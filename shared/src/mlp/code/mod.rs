//! The codes of a model's change on the wire: the difference to the last model that both ends hold.
//!
//! | code | bits a parameter of 784-50-10 | how |
//! |---|---|---|
//! | `q16`, `q8` | 16, 8 | [`plain`]: one code a parameter, one scale a layer |
//! | `q6` | 6 | [`six`]: four codes in three bytes, one scale a layer |
//! | `q4` | 4.17 | [`blocks`]: two codes a byte, one scale for up to 64 of them |
//! | `rank-8`, `-4`, `-2`, `-1` | 1.46, 0.79, 0.45, 0.28 | [`rank`]: two thin factors of a layer, a byte a number |
//!
//! A coder reads a [`Change`] in stretches of at most 64 numbers of a row, and a decoded upload is a
//! [`Change`] again: neither is ever in memory as a whole. All arithmetic is of integers and has one
//! result on every machine. Random bits come from the streams of the order ([`Draw`]).
//!
//! What a code leaves out may be remembered and sent later ([`feedback`]).
//!
//! Bytes from the other end are checked for their length and for scales that no encoder writes. Any
//! other bytes decode to differences of magnitudes below 2^31 units; the model they are added to
//! saturates at [`Tensor::limit`](super::params::Tensor::limit), and an aggregation rule or
//! [`Clip`] bounds the length of what remains.

pub mod blocks;
pub mod change;
pub mod feedback;
mod orthogonal;
pub mod plain;
pub mod rank;
mod scale;
pub mod six;

pub use self::change::{
    Between, Change, LayerSize, Layers, MOST_LAYERS, STRETCH, apply, write_f32,
};
pub use self::feedback::{Memory, memory_bytes};
pub use self::plain::{Code, HEADER_BYTES, Width, encode};

use self::blocks::Blocks;
use self::plain::Plain;
use self::rank::{LowRank, Rank};
use self::six::Six;
use super::clip::Clip;
use crate::rng::{Purpose, Rng};

/// The error of bytes that are no coded model, or of memory that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum CodeError {
    #[error("a coded model of this size has {expected} bytes, not {bytes}")]
    Length { bytes: usize, expected: usize },
    #[error("scale {scale} of layer {layer} cannot come from an encoder")]
    Scale { layer: usize, scale: u32 },
    #[error("coding takes {expected} words of memory, not {words}")]
    Memory { words: usize, expected: usize },
}

/// The code of an upload. On the wire it is its number, from 0 in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub enum UploadCode {
    Q16,
    Q8,
    Q6,
    Q4,
    Rank8,
    Rank4,
    Rank2,
    Rank1,
}

/// The coder of a code.
enum Coder {
    Plain(Width),
    Six,
    Blocks,
    Rank(Rank),
}

impl UploadCode {
    /// All codes, the longest first.
    pub const ALL: [Self; 8] = [
        Self::Q16,
        Self::Q8,
        Self::Q6,
        Self::Q4,
        Self::Rank8,
        Self::Rank4,
        Self::Rank2,
        Self::Rank1,
    ];

    const fn coder(self) -> Coder {
        match self {
            Self::Q16 => Coder::Plain(Width::Wide),
            Self::Q8 => Coder::Plain(Width::Byte),
            Self::Q6 => Coder::Six,
            Self::Q4 => Coder::Blocks,
            Self::Rank8 => Coder::Rank(Rank::Eight),
            Self::Rank4 => Coder::Rank(Rank::Four),
            Self::Rank2 => Coder::Rank(Rank::Two),
            Self::Rank1 => Coder::Rank(Rank::One),
        }
    }

    /// Returns the name, as in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Q16 => "q16",
            Self::Q8 => "q8",
            Self::Q6 => "q6",
            Self::Q4 => "q4",
            Self::Rank8 => "rank-8",
            Self::Rank4 => "rank-4",
            Self::Rank2 => "rank-2",
            Self::Rank1 => "rank-1",
        }
    }

    /// Returns the bit of this code in a set of codes.
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the code of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// Returns the bytes of a coded model of these layers, whatever its values.
    #[must_use]
    pub fn encoded_len(self, layers: &impl Layers) -> usize {
        match self.coder() {
            Coder::Plain(width) => plain::coded_bytes(layers, width),
            Coder::Six => six::coded_bytes(layers),
            Coder::Blocks => blocks::coded_bytes(layers),
            Coder::Rank(rank) => rank.coded_bytes(layers),
        }
    }

    /// Returns the words of working memory that [`UploadCode::encode`] takes.
    #[must_use]
    pub fn work_words(self, layers: &impl Layers) -> usize {
        match self.coder() {
            Coder::Plain(_) | Coder::Six | Coder::Blocks => 0,
            Coder::Rank(rank) => rank.work_words(layers),
        }
    }

    /// Writes a change, at most as long as `clip`, into the first [`UploadCode::encoded_len`] bytes of
    /// `out` and returns how many those are. `work` has [`UploadCode::work_words`] words.
    ///
    /// # Errors
    /// If `out` or `work` is too short; nothing is written then.
    pub fn encode(
        self,
        change: &impl Change,
        clip: Clip,
        draw: Draw,
        work: &mut [i32],
        out: &mut [u8],
    ) -> Result<usize, CodeError> {
        let expected = self.encoded_len(change);
        let (bytes, words) = (out.len(), work.len());
        let Some(out) = out.get_mut(..expected) else {
            return Err(CodeError::Length { bytes, expected });
        };
        let expected_words = self.work_words(change);
        if words < expected_words {
            return Err(CodeError::Memory {
                words,
                expected: expected_words,
            });
        }
        let mut rng = draw.rounding();
        match self.coder() {
            Coder::Plain(width) => plain::encode_change(change, width, clip, &mut rng, out)?,
            Coder::Six => six::encode(change, clip, &mut rng, out),
            Coder::Blocks => blocks::encode(change, clip, &mut rng, out),
            Coder::Rank(rank) => rank.encode(change, clip, draw, work, out),
        };
        Ok(expected)
    }

    /// Checks the form of a coded model of these layers.
    ///
    /// # Errors
    /// If the length is another, or a scale is impossible.
    pub fn decode<L: Layers>(self, layers: L, bytes: &[u8]) -> Result<Decoded<'_, L>, CodeError> {
        let expected = self.encoded_len(&layers);
        if bytes.len() != expected || layers.count() > MOST_LAYERS {
            return Err(CodeError::Length {
                bytes: bytes.len(),
                expected,
            });
        }
        Ok(match self.coder() {
            Coder::Plain(width) => Decoded::Plain(Plain::parse(layers, bytes, width)?),
            Coder::Six => Decoded::Six(Six::parse(layers, bytes)?),
            Coder::Blocks => Decoded::Blocks(Blocks::parse(layers, bytes)?),
            Coder::Rank(rank) => Decoded::Rank(LowRank::parse(layers, rank, bytes)?),
        })
    }
}

impl core::fmt::Display for UploadCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

/// The keys of an upload's random streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the client.
    pub client: u32,
    /// Number of the round.
    pub round: u32,
}

impl Draw {
    /// Returns the stream that rounds the upload.
    #[must_use]
    pub const fn rounding(self) -> Rng {
        Rng::stream(self.seed, Purpose::Uplink, self.client, self.round)
    }

    /// Returns the stream of a layer's sketch, the same for all clients.
    #[must_use]
    pub const fn sketch(self, layer: usize) -> Rng {
        Rng::stream(self.seed, Purpose::Sketch, layer as u32, self.round)
    }
}

/// A coded model whose form was checked, of any code.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Decoded<'a, L> {
    Plain(Plain<'a, L>),
    Six(Six<'a, L>),
    Blocks(Blocks<'a, L>),
    Rank(LowRank<'a, L>),
}

impl<L: Layers> Layers for Decoded<'_, L> {
    fn count(&self) -> usize {
        match self {
            Self::Plain(it) => it.count(),
            Self::Six(it) => it.count(),
            Self::Blocks(it) => it.count(),
            Self::Rank(it) => it.count(),
        }
    }

    fn size(&self, layer: usize) -> LayerSize {
        match self {
            Self::Plain(it) => it.size(layer),
            Self::Six(it) => it.size(layer),
            Self::Blocks(it) => it.size(layer),
            Self::Rank(it) => it.size(layer),
        }
    }
}

impl<L: Layers> Change for Decoded<'_, L> {
    decoded!();

    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        match self {
            Self::Plain(it) => it.read(layer, row, first, out, convert),
            Self::Six(it) => it.read(layer, row, first, out, convert),
            Self::Blocks(it) => it.read(layer, row, first, out, convert),
            Self::Rank(it) => it.read(layer, row, first, out, convert),
        }
    }
}

/// What a decoded change says of itself: it is never coded again.
macro_rules! decoded {
    () => {
        fn bits(&self, _: usize) -> u32 {
            30
        }

        fn exceeded(&self, _: crate::mlp::Clip) -> Option<(u32, u32)> {
            None
        }
    };
}
use decoded;
