//! Row sums for a Cortex-M4 with its multiplications of 16-bit halves and into 64 bits.
//!
//! Rows of W2: SMLABB and SMLABT multiply a scale with the lower or the upper half of a word, one
//! instruction a weight. Rows of W1 are stored in pairs (`paired`), rows of hidden errors as two
//! fields a word (`fields`): there one instruction multiplies two numbers. Eight sums stay in
//! registers while a list is walked, so a row of 50 takes seven walks.
#![allow(unsafe_code)]

mod assembler;
mod fields;
mod paired;
mod walks;

use self::assembler::naked_asm;
pub(crate) use self::fields::{ErrorRow, sum_errors};
pub(crate) use self::paired::{list_pixels, place, sum_pixels};
use self::walks::{Eight, add_walks, walk_of_eight, walk_of_two};
use super::arm::eights;
pub(crate) use super::arm::{activate, list_block, locate, locate_error};
pub(crate) use super::common::{backward, list_errors, round_errors, step_row};
pub(crate) use super::portable::{load, pixel_word, store};
use super::{Entry, arm, common};

/// Adds h d2 to a unit's row of dW2 and returns the unit's error W2 d2 in units of 2^-24.
#[inline(always)]
pub(crate) fn backward_unit<const OUT: usize>(
    hidden: i32,
    output: &[i32; OUT],
    w2: &[i16; OUT],
    dw2: &mut [i32; OUT],
) -> i32 {
    if !OUT.is_multiple_of(2) || OUT > 64 || !w2.as_ptr().addr().is_multiple_of(4) {
        return common::sum_unit(hidden, output, w2, dw2);
    }
    // SAFETY: the rows have OUT elements, an even number, and the weights begin at a word.
    unsafe {
        walk_unit::<OUT>(
            output.as_ptr(),
            w2.as_ptr().cast(),
            dw2.as_mut_ptr(),
            hidden,
        )
    }
}

/// Adds h d2 to a row of dW2 and returns the sum of W2 d2, a pair of classes in 8 instructions:
/// errors fit 16 bits, so that halves are multiplied.
///
/// # Safety
/// The rows must have OUT elements, an even number, the weights aligned to a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_unit<const OUT: usize>(
    output: *const i32,
    w2: *const u32,
    dw2: *mut i32,
    hidden: i32,
) -> i32 {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, lr}}",
        "movs r4, #0",
        ".rept {pairs}",
        "ldrd r5, r6, [r0], #8",
        "ldr r7, [r1], #4",
        "ldrd r8, lr, [r2]",
        "smlabb r4, r5, r7, r4",
        "smlabt r4, r6, r7, r4",
        "mla r8, r5, r3, r8",
        "mla lr, r6, r3, lr",
        "strd r8, lr, [r2], #8",
        ".endr",
        "mov r0, r4",
        "pop {{r4, r5, r6, r7, r8, pc}}",
        pairs = const OUT / 2,
    )
}

/// Adds the sum of scaled rows to `out`, which saturates; the sum itself is exact because the
/// scales add up to no more than [`super::SCALE_LIMIT`].
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    if !W.is_multiple_of(2) {
        return arm::sum_rows(rows, entries, out);
    }
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    let eights = eights!(walk_eight as Eight<_>, 2, W);
    // SAFETY: every entry holds the address of one of `rows`: callers list and sum rows under
    // one borrow of them. A row is a whole number of words, and the list is not empty.
    unsafe { add_walks(eights, walk_two, 2, list.start, list.end, out) }
}

walk_of_eight!(
    /// Sums eight weights of every row from byte `AT` on.
    walk_eight,
    42,
    "ldrd r3, lr, [r2, #{at}]",
    "smlabb r4, r1, r3, r4",
    "smlabt r5, r1, r3, r5",
    "smlabb r6, r1, lr, r6",
    "smlabt r7, r1, lr, r7",
    "ldrd r3, lr, [r2, #{at}+8]",
    "smlabb r8, r1, r3, r8",
    "smlabt r9, r1, r3, r9",
    "smlabb r10, r1, lr, r10",
    "smlabt r11, r1, lr, r11",
);

walk_of_two!(
    /// Sums two weights of every row from byte `at` on.
    walk_two,
    12,
    "ldr r7, [r7, r3]",
    "smlabb r4, r6, r7, r4",
    "smlabt r5, r6, r7, r5",
);
