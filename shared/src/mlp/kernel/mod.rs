//! The one inner loop of training: a sum of scaled rows over a sparse list.
//!
//! The forward pass sums rows of W1 scaled by pixels and rows of W2 scaled by activations; the
//! backward pass sums rows of hidden errors scaled by pixels. One of three modules implements it:
//! `armv6m` and `armv7em` in assembly, `portable` on other cores. Each stores rows in its own form
//! ([`place`], [`store`], [`load`], [`ErrorRow`]); the results are equal to the bit.

// A core without compare-and-swap is an ARMv6-M; one with a floating-point unit has the DSP
// instructions of the ARMv7E-M too.
#[cfg(all(target_arch = "arm", target_os = "none", not(target_has_atomic = "32")))]
#[path = "armv6m/mod.rs"]
mod chosen;
#[cfg(all(
    target_arch = "arm",
    target_os = "none",
    target_has_atomic = "32",
    target_abi = "eabihf"
))]
#[path = "armv7em/mod.rs"]
mod chosen;
#[cfg(not(all(
    target_arch = "arm",
    target_os = "none",
    any(not(target_has_atomic = "32"), target_abi = "eabihf")
)))]
use portable as chosen;

#[cfg(all(
    target_arch = "arm",
    target_os = "none",
    any(not(target_has_atomic = "32"), target_abi = "eabihf")
))]
mod arm;
mod common;
#[cfg_attr(
    all(
        target_arch = "arm",
        target_os = "none",
        any(not(target_has_atomic = "32"), target_abi = "eabihf")
    ),
    expect(
        dead_code,
        unused_imports,
        reason = "assembly only falls back to parts of it"
    )
)]
mod portable;

pub(crate) use chosen::{
    ErrorRow, activate, add_products, backward, begin, difference, differences, list_block,
    list_column, list_errors, list_pixels, list_row, load, locate, pixel_differences, place,
    round_codes, round_errors, step_row, store, sum_errors, sum_pixels, sum_rows,
};

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

/// The most error rows of one sum: 512 * 255 * 127 * 2^7 is less than 2^31, so it is exact whatever
/// they hold.
pub(crate) const LIST_LIMIT: usize = 512;

/// Rows that are multiplied with a factor at a time: enough to pay for loading the sums.
pub(crate) const TILE: usize = 8;

/// The power of two that the errors of one sample share, or the mark of a row without errors.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Shift(u8);

impl Shift {
    /// The value of a row without errors, which the assembly compares with.
    pub(crate) const DEAD: Self = Self(u8::MAX);

    /// Returns the power of errors that are mantissas times 2^`shift`, at most 7.
    #[inline(always)]
    pub(crate) const fn new(shift: u32) -> Self {
        Self(shift as u8)
    }

    /// Returns whether any error is non-zero.
    #[inline(always)]
    pub(crate) const fn is_live(self) -> bool {
        self.0 != Self::DEAD.0
    }

    /// Returns the largest magnitude an error of the row can have, in units of 2^-12.
    pub(crate) const fn most(self) -> u32 {
        if self.is_live() { self.scale(127) } else { 0 }
    }

    /// Returns the factor that stands for pixel `x` in a sum of rows of mantissas.
    #[inline(always)]
    pub(crate) const fn scale(self, x: u32) -> u32 {
        x << (self.0 & 7)
    }
}
