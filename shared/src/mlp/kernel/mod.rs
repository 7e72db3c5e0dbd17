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
mod shift;

pub(crate) use chosen::{
    ErrorRow, activate, backward, begin, list_block, list_column, list_errors, list_pixels,
    list_row, load, locate, place, round_errors, step_row, store, sum_errors, sum_pixels, sum_rows,
};
pub(crate) use shift::Shift;

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
