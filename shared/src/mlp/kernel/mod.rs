//! The one inner loop of training: a sum of scaled rows over a sparse list.
//!
//! The forward pass sums rows of W1 scaled by pixels and rows of W2 scaled by activations; the
//! backward pass sums rows of hidden errors scaled by pixels. A kernel may store rows
//! as suits it ([`store`], [`load`], [`ErrorRow`]); the numbers are the same to the bit.

mod portable;

pub(crate) use portable::{ErrorRow, load, locate, pixel_word, store, sum_errors, sum_rows};

/// One row of a sum and its factor.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Entry {
    /// The factor: a pixel or an activation, below 2^15.
    pub scale: u32,
    /// Where the row is, as [`locate`] gives it.
    pub at: u32,
}

/// The most the factors of one sum may add up to: 2^16 - 1 times a 16-bit number fits 32 bits, so
/// a sum of 16-bit rows is exact whatever they hold.
pub(crate) const SCALE_LIMIT: u32 = u16::MAX as u32;
