//! A bitmap with one bit per chunk.

use serde::{Deserialize, Serialize};

use super::MAX_CHUNKS;
use crate::wire::schema::{Schema, text};

const BYTES: usize = MAX_CHUNKS / 8;

/// The chunks that have arrived, the first in bit 0 of the first byte; others are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Bitmap(heapless::Vec<u8, BYTES>);

impl Schema for Bitmap {
    const HASH: u64 = text(<heapless::Vec<u8, BYTES>>::HASH, "bitmap");
}

impl Bitmap {
    /// The bitmap without chunks.
    pub const EMPTY: Self = Self(heapless::Vec::new());

    /// Returns whether chunk `index` has arrived.
    pub fn contains(&self, index: u16) -> bool {
        self.0
            .get(usize::from(index / 8))
            .is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// Adds chunk `index`; beyond [`MAX_CHUNKS`] nothing happens.
    pub fn insert(&mut self, index: u16) {
        let at = usize::from(index / 8);
        if self.0.len() <= at && self.0.resize(at + 1, 0).is_err() {
            return;
        }
        if let Some(byte) = self.0.get_mut(at) {
            *byte |= 1 << (index % 8);
        }
    }

    /// Removes all chunks from the bitmap.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns how many of the first `chunks` have arrived.
    pub fn count(&self, chunks: u16) -> u16 {
        (0..chunks)
            .map(|index| u16::from(self.contains(index)))
            .sum()
    }

    /// Returns whether all of the first `chunks` have arrived.
    pub fn is_full(&self, chunks: u16) -> bool {
        self.count(chunks) == chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_exactly_what_was_inserted() {
        let mut bitmap = Bitmap::EMPTY;
        for index in [0, 7, 8, 41, 255] {
            bitmap.insert(index);
        }
        bitmap.insert(256);
        bitmap.insert(u16::MAX);
        let held: Vec<u16> = (0..=u16::MAX).filter(|&i| bitmap.contains(i)).collect();
        assert_eq!(held, [0, 7, 8, 41, 255]);
        assert_eq!(bitmap.count(42), 4);
        assert!(!bitmap.is_full(42));
        bitmap.clear();
        assert_eq!(bitmap, Bitmap::EMPTY);
    }
}
