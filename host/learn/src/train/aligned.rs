//! Values aligned to a cache line: a vector load across two lines costs two.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;
const VALUES_PER_LINE: usize = LINE / size_of::<f32>();

/// A fixed number of `f32` that begin at a cache line.
#[derive(Debug)]
pub(crate) struct Aligned {
    room: Vec<f32>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub(crate) fn zeros(length: usize) -> Self {
        let room = vec![0.0; length + VALUES_PER_LINE - 1];
        // The offset affects only the speed, so the cap is harmless where it is unknown.
        let start = room.as_ptr().align_offset(LINE).min(VALUES_PER_LINE - 1);
        Self {
            room,
            start,
            length,
        }
    }

    /// Changes the length; the values are any.
    pub(crate) fn resize(&mut self, length: usize) {
        if self.length != length {
            *self = Self::zeros(length);
        }
    }

    pub(crate) fn copy(values: &[f32]) -> Self {
        let mut copy = Self::zeros(values.len());
        copy.copy_from_slice(values);
        copy
    }

    /// Returns `row` `count` times over.
    pub(crate) fn repeat(row: &[f32], count: usize) -> Self {
        let mut rows = Self::zeros(row.len() * count);
        for to in rows.chunks_exact_mut(row.len()) {
            to.copy_from_slice(row);
        }
        rows
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.room[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_a_cache_line() {
        for length in [0, 1, 100, 40_000] {
            assert_eq!(Aligned::zeros(length).len(), length);
        }
        let rows = Aligned::repeat(&[1.0, 2.0], 3);
        assert_eq!(*rows, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
        assert_eq!(rows.as_ptr() as usize % LINE, 0);
        assert_eq!(*Aligned::copy(&[3.0]), [3.0]);
    }
}
