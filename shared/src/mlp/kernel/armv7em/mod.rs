//! Row sums for a Cortex-M4 with its multiplications of 16-bit halves and into 64 bits.
//!
//! Rows of W2: SMLABB and SMLABT multiply a scale with the lower or the upper half of a word, one
//! instruction a weight. Rows of W1 are stored in pairs (`paired`), rows of hidden errors as two
//! fields a word (`fields`): there one instruction multiplies two numbers. Six or eight sums stay in
//! registers while a list is walked, so a row of 50 takes seven or eight walks. Cycles are those of
//! the table in `docs/internals/boards.md`.
#![allow(unsafe_code)]

mod assembler;
mod fields;
mod hidden;
mod lists;
mod paired;
mod samples;
mod step;
mod units;
mod walks;

use self::assembler::naked_asm;
pub(crate) use self::fields::{ErrorRow, sum_errors};
pub(crate) use self::hidden::{activate, begin};
pub(crate) use self::lists::{list_column, list_row};
use self::paired::paired;
pub(crate) use self::paired::{list_pixels, place, sum_pixels};
pub(crate) use self::samples::walk_samples;
pub(crate) use self::step::step_row;
pub(crate) use self::units::{backward, round_errors};
use self::walks::{add_twos, add_words, first_turn, walk_of_two};
pub(crate) use super::arm::{list_block, locate, locate_error};
pub(crate) use super::common::{add_products, list_errors, round_codes, sum_unit as backward_unit};
pub(crate) use super::portable::{difference, differences, load, pixel_word, store};
use super::{Entry, arm};

/// Adds the sum of scaled rows to `out`, which saturates; the sum itself is exact because the
/// scales add up to no more than [`super::SCALE_LIMIT`].
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    if !W.is_multiple_of(2) || W > 256 {
        return arm::sum_rows(rows, entries, out);
    }
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    // SAFETY: every entry holds the address of one of `rows`: callers list and sum rows under
    // one borrow of them. A row is a whole number of words, and the list is not empty.
    unsafe { walk_eights::<W>(list.start, list.end, out) };
    let rest = &mut out[W / 8 * 8..];
    // SAFETY: as above; the columns from there on are an even number.
    unsafe {
        add_twos(
            walk_two,
            2,
            2 * (W / 8 * 8) as u32,
            list.start,
            list.end,
            rest,
        )
    };
}

/// Adds the sums of as many columns as make whole eights to `out`, eight at a time in 15 cycles an
/// entry. Eight entries make a turn; the first turn begins where it leaves a multiple of eight.
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a row of W weights, aligned
/// to a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_eights<const W: usize>(
    list: *const Entry,
    end: *const Entry,
    out: &mut [i32; W],
) {
    naked_asm!(
        "push {{r0, r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        ".set gleaner_at, 0",
        ".rept {eights}",
        "ldr r0, [sp]",
        "ldr r12, [sp, #4]",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
        first_turn!("52"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r3, [r2, #gleaner_at]",
        "ldr.w r12, [r2, #gleaner_at+4]",
        "ldr.w lr, [r2, #gleaner_at+8]",
        "ldr.w r2, [r2, #gleaner_at+12]",
        "smlabb r4, r1, r3, r4",
        "smlabt r5, r1, r3, r5",
        "smlabb r6, r1, r12, r6",
        "smlabt r7, r1, r12, r7",
        "smlabb r8, r1, lr, r8",
        "smlabt r9, r1, lr, r9",
        "smlabb r10, r1, r2, r10",
        "smlabt r11, r1, r2, r11",
        ".endr",
        "ldr r3, [sp, #4]",
        "adds r0, #64",
        "cmp r0, r3",
        "bne 2b",
        "ldr r0, [sp, #8]",
        add_words!("r1, r2, r3, r12", "r1" + "r4", "r2" + "r5", "r3" + "r6", "r12" + "r7"),
        add_words!("r1, r2, r3, r12", "r1" + "r8", "r2" + "r9", "r3" + "r10", "r12" + "r11"),
        "str r0, [sp, #8]",
        ".set gleaner_at, gleaner_at+16",
        ".endr",
        "add sp, #12",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        eights = const W / 8,
    )
}

walk_of_two!(
    /// Sums two weights of every row from byte `at` on.
    walk_two,
    16,
    "ldr.w r2, [r2, r6]",
    "smlabb r4, r1, r2, r4",
    "smlabt r5, r1, r2, r5",
);

/// Writes `convert` of the weights from a pixel less those of another model, from a hidden unit on.
#[inline(always)]
pub(crate) fn pixel_differences<const IN: usize, const HID: usize>(
    rows: &[[i16; HID]; IN],
    base: &[[i16; HID]; IN],
    (pixel, first): (usize, usize),
    out: &mut [i32],
    convert: impl Fn(i32) -> i32,
) {
    if !paired::<IN, HID>() {
        return differences(&rows[pixel], &base[pixel], first, out, convert);
    }
    // Two rows are one of pairs.
    let start = (pixel & !1) * HID + 2 * first;
    let (rows, base) = (rows.as_flattened(), base.as_flattened());
    let rows = rows[start..][..2 * out.len()].as_chunks::<2>().0;
    let base = base[start..][..2 * out.len()].as_chunks::<2>().0;
    for ((out, pair), base) in out.iter_mut().zip(rows).zip(base) {
        *out = convert(i32::from(pair[pixel % 2]) - i32::from(base[pixel % 2]));
    }
}
