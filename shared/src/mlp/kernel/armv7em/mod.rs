//! Row sums for a Cortex-M4 with its multiplications of 16-bit halves and into 64 bits.
//!
//! Rows of W2: SMLABB and SMLABT multiply a scale with the lower or the upper half of a word, one
//! instruction a weight. Rows of W1 are stored in pairs (`paired`), rows of hidden errors as two
//! fields a word (`fields`): there one instruction multiplies two numbers. Eight sums stay in
//! registers while a list is walked, so a row of 50 takes seven walks.
#![allow(unsafe_code)]

use core::arch::naked_asm;

mod fields;
mod paired;
mod samples;
mod step;
mod units;
mod walks;

pub(crate) use self::fields::{ErrorRow, sum_errors};
pub(crate) use self::paired::{list_pixels, place, sum_pixels};
pub(crate) use self::samples::walk_samples;
pub(crate) use self::step::step_row;
pub(crate) use self::units::{backward, round_errors};
use self::walks::{Eight, add_eight, add_walks, first_turn, walk_of_eight, walk_of_two};
use super::arm::eights;
pub(crate) use super::arm::{activate, list_block, locate, locate_error};
pub(crate) use super::common::{list_errors, sum_unit as backward_unit};
pub(crate) use super::portable::{load, pixel_word, store};
use super::{Entry, arm};

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
    /// Sums eight weights of every row from byte `AT` on, in 15 cycles an entry.
    walk_eight,
    52,
    "ldr.w r3, [r2, #{at}]",
    "ldr.w r12, [r2, #{at}+4]",
    "ldr.w lr, [r2, #{at}+8]",
    "ldr.w r2, [r2, #{at}+12]",
    "smlabb r4, r1, r3, r4",
    "smlabt r5, r1, r3, r5",
    "smlabb r6, r1, r12, r6",
    "smlabt r7, r1, r12, r7",
    "smlabb r8, r1, lr, r8",
    "smlabt r9, r1, lr, r9",
    "smlabb r10, r1, r2, r10",
    "smlabt r11, r1, r2, r11",
);

walk_of_two!(
    /// Sums two weights of every row from byte `at` on.
    walk_two,
    16,
    "ldr.w r2, [r2, r6]",
    "smlabb r4, r1, r2, r4",
    "smlabt r5, r1, r2, r5",
);
