//! The memory that a network needs on a board, computed before anything is built: models and error
//! rows in RAM, samples and the saved model in flash.

use core::fmt;

use super::row::{Board, Boot};
use super::shape::Shape;

/// Statics beside models, error rows and the trainers' working memory: link, client, drivers, and
/// row sums that run from RAM. They take 25.6 KB in the image of 784-50-10 for an RP2040.
const OTHER_STATICS_BYTES: usize = 27_400;
/// Flash sectors of the journal, beside two models.
const JOURNAL_SECTORS: usize = 4;
/// Bytes of a flash sector.
const SECTOR_BYTES: usize = 4_096;
/// The page after a model in flash, with its mark.
const PAGE_BYTES: usize = 256;
/// Bytes of a shard before its samples.
const SHARD_HEADER_BYTES: usize = 64;
/// A board must have room for at least this many samples.
const LEAST_SAMPLES: usize = 50;
/// Sums over samples are proved for at most 16 bits of them.
const MOST_SAMPLES: usize = u16::MAX as usize;

/// The reason why a network does not fit a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Unfit {
    /// Sizes beyond the limits of the fixed-point arithmetic.
    Sizes(Shape),
    /// An odd number of hidden units, which the kernels process in pairs, or too many.
    Hidden {
        shape: Shape,
        /// The largest number of hidden units.
        most: usize,
    },
    /// The network does not fit the RAM.
    Ram {
        shape: Shape,
        /// Bytes of statics needed, with error rows of fifty samples.
        needs: usize,
        /// Bytes of statics available.
        has: usize,
    },
    /// The network does not fit the flash.
    Flash {
        shape: Shape,
        /// Bytes of flash needed for the saved model and fifty samples.
        needs: usize,
        /// Bytes of flash available.
        has: usize,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sizes(shape) => write!(f, "{}", super::shape::ShapeError(*shape)),
            Self::Hidden { shape, most } => write!(
                f,
                "a network of {shape}: it trains an even number of hidden units, {most} at most"
            ),
            Self::Ram { shape, needs, has } => write!(
                f,
                "a network of {shape} needs {needs} bytes of RAM (two models of {}, their update and \
                 error rows, working memory), and it has {has}; lower learning.hidden",
                shape.exact_bytes()
            ),
            Self::Flash { shape, needs, has } => write!(
                f,
                "a network of {shape} needs {needs} bytes of flash (two saved models of {}, {LEAST_SAMPLES} \
                 samples), and it has {has} beside its program",
                shape.exact_bytes()
            ),
        }
    }
}

impl core::error::Error for Unfit {}

impl Board {
    /// Returns the row for images of another network: the flash for the saved model and the largest
    /// number of samples.
    ///
    /// # Errors
    /// Returns why the network does not fit, with the numbers.
    pub const fn built_for(&self, shape: Shape) -> Result<Self, Unfit> {
        if shape.is(Shape::PAPER) {
            return Ok(*self);
        }
        if shape.check().is_err() {
            return Err(Unfit::Sizes(shape));
        }
        let most = self.most_hidden();
        if !shape.hidden.is_multiple_of(2) || shape.hidden > most {
            return Err(Unfit::Hidden { shape, most });
        }
        let area = (shape.exact_bytes() + PAGE_BYTES).div_ceil(SECTOR_BYTES);
        let state_bytes = (JOURNAL_SECTORS + 2 * area) * SECTOR_BYTES;
        let has = self.flash.bytes as usize - (self.program_bytes + self.key_bytes) as usize;
        let samples_bytes = SHARD_HEADER_BYTES + LEAST_SAMPLES * (shape.inputs + 1);
        if state_bytes + samples_bytes > has {
            let needs = state_bytes + samples_bytes;
            return Err(Unfit::Flash { shape, needs, has });
        }
        let in_flash = (has - state_bytes - SHARD_HEADER_BYTES) / (shape.inputs + 1);

        let row = self.row_bytes(shape.hidden);
        let fixed = OTHER_STATICS_BYTES + 2 * shape.exact_bytes() + 2 * work_bytes(shape);
        let rows = larger(update_bytes(shape), LEAST_SAMPLES * row);
        let has = self.statics().bytes as usize;
        if fixed + rows > has {
            let needs = fixed + rows;
            return Err(Unfit::Ram { shape, needs, has });
        }
        let in_ram = (has - fixed) / row;
        Ok(Self {
            state_bytes: state_bytes as u32,
            most_samples: smaller(smaller(in_flash, in_ram), MOST_SAMPLES),
            ..*self
        })
    }

    /// Returns the size of one sample's row of hidden errors.
    pub const fn row_bytes(&self, hidden: usize) -> usize {
        let bytes = match self.is_cortex_m0() {
            true => hidden + 1,
            false => 2 * hidden + 3,
        };
        bytes.next_multiple_of(4)
    }

    /// Returns the largest number of hidden units of the board's kernels.
    const fn most_hidden(&self) -> usize {
        match self.is_cortex_m0() {
            true => 128,
            false => super::shape::MOST_HIDDEN,
        }
    }

    const fn is_cortex_m0(&self) -> bool {
        matches!(self.boot, Boot::Loader)
    }
}

/// Returns the size of a coded update, which is stored in the memory of the error rows.
#[must_use]
pub const fn update_bytes(shape: Shape) -> usize {
    16 + shape.parameters()
}

/// Returns the size of one core's working memory.
const fn work_bytes(shape: Shape) -> usize {
    let Shape {
        hidden, classes, ..
    } = shape;
    4_096 + 24 * hidden + 8 * hidden * classes + 8 * classes + 48
}

const fn smaller(one: usize, other: usize) -> usize {
    if one < other { one } else { other }
}

const fn larger(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::super::{BOARDS, M4, RP2040, STM32L4R5, STM32L496};
    use super::*;

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn the_papers_network_is_built_as_the_table_says() {
        for board in BOARDS {
            assert_eq!(board.built_for(Shape::PAPER), Ok(*board));
        }
        // The rows of the table fit by the same sums.
        assert_eq!(work_bytes(Shape::PAPER), 9_424);
        assert_eq!((RP2040.row_bytes(50), M4.row_bytes(50)), (52, 104));
        let fixed = OTHER_STATICS_BYTES + 2 * 79_640 + 2 * 9_424;
        assert!(fixed + 52 * RP2040.most_samples <= RP2040.statics().bytes as usize);
    }

    #[test]
    fn smaller_networks_leave_room_for_more_samples() {
        let har = RP2040.built_for(shape("192-50-7")).unwrap();
        assert_eq!((har.state_bytes, har.most_samples), (14 * 4_096, 3_336));
        assert_eq!(har.shard().end() + har.state_bytes, har.keys().start);
        let digits = STM32L496.built_for(shape("64-32-10")).unwrap();
        assert!(digits.most_samples > 2_000, "{}", digits.most_samples);
        let wide = STM32L4R5.built_for(shape("784-100-10")).unwrap();
        assert!(
            (1_000..1_100).contains(&wide.most_samples),
            "{}",
            wide.most_samples
        );
    }

    #[test]
    fn a_network_that_does_not_fit_is_refused_with_its_numbers() {
        let said = |board: &Board, text| board.built_for(shape(text)).unwrap_err().to_string();
        let ram = said(&RP2040, "784-100-10");
        for words in ["784-100-10", "bytes of RAM", "159240", "257536"] {
            assert!(ram.contains(words), "{words} in {ram}");
        }
        assert!(said(&STM32L496, "4000-60-10").contains("bytes of flash"));
        assert!(said(&RP2040, "64-31-10").contains("even number"));
        assert!(said(&RP2040, "16-130-10").contains("128 at most"));
        assert!(said(&M4, "9-4-1").contains("2 to 256 classes"));
        assert!(said(&M4, "5000-4-2").contains("4096"));
    }
}
