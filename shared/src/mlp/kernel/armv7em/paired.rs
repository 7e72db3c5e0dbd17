//! W1 for a Cortex-M4: the rows of two neighbouring pixels interleaved, so that one SMLAD adds
//! both products of a hidden unit.
#![allow(unsafe_code)]

use super::super::arm::{Cursor, eights, list_by};
use super::super::{Entry, arm, common};
use super::assembler::naked_asm;
use super::walks::{Eight, add_walks, walk_of_eight, walk_of_two};
use super::{locate, pixel_word};

/// Whether W1 is stored in pairs of rows: whole words of pixels and of weights.
const fn paired<const IN: usize, const W: usize>() -> bool {
    IN.is_multiple_of(4) && W.is_multiple_of(2)
}

/// Returns the row and the column of W1 that hold the weight from `pixel` to `unit`.
#[inline(always)]
pub(crate) const fn place<const IN: usize, const W: usize>(
    pixel: usize,
    unit: usize,
) -> (usize, usize) {
    if !paired::<IN, W>() {
        return (pixel, unit);
    }
    let (row, column) = (pixel & !1, 2 * unit + pixel % 2);
    if column < W {
        (row, column)
    } else {
        (row + 1, column - W)
    }
}

/// The most pixels a list may hold before another word of four is added.
const FULL: usize = 252;

/// Lists the pixels from `first` on that are not zero, with their rows, until the list could be
/// too full for another word of four. Returns the length of the list and the next pixel. In
/// pairs, an entry has two pixels in the halves of its scale and the first row of two.
pub(crate) fn list_pixels<const IN: usize, const W: usize>(
    pixels: &[u8; IN],
    first: usize,
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
    mut length: usize,
) -> (usize, usize) {
    if !paired::<IN, W>() {
        return arm::list_pixels(pixels, first, rows, entries, length);
    }
    let mut next = first;
    let mut listed = 0;
    // An entry may be one pixel or two. Lists are cut by pixels, as everywhere.
    while next < IN && listed <= FULL {
        let start = length;
        (length, next) = list_pairs(pixels, next, rows, entries, start, (FULL - listed) / 2);
        if next < IN {
            listed += (entries[start..length].iter())
                .map(|entry| 1 + usize::from(entry.scale > 0xFFFF && entry.scale & 0xFFFF != 0))
                .sum::<usize>();
        }
    }
    (length, next)
}

/// Lists pairs of pixels from `first` on, a word at a time, until there are more than `most`.
fn list_pairs<const IN: usize, const W: usize>(
    pixels: &[u8; IN],
    first: usize,
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
    mut length: usize,
    most: usize,
) -> (usize, usize) {
    let full = length + most;
    let aligned = pixels.as_ptr().addr().is_multiple_of(4);
    if aligned && first < IN && full + 2 <= entries.len() {
        // SAFETY: the pixels are words, from `first` on at least one, and the list has two entries
        // from `full` on.
        return unsafe { list_by(walk_pixels, pixels, first, rows, entries, length, full) };
    }
    for pixel in (first..IN).step_by(4) {
        if length > full {
            return (length, pixel);
        }
        let word = pixel_word(pixels, pixel);
        for (pair, bytes) in [word & 0xFFFF, word >> 16].into_iter().enumerate() {
            if bytes != 0 {
                let scale = bytes & 0xFF | (bytes >> 8) << 16;
                let at = locate(rows, pixel + 2 * pair);
                entries[length] = Entry { scale, at };
                length += 1;
            }
        }
    }
    (length, IN)
}

/// Lists the pairs of pixels that are not zero, a word of four pixels at a time, until `word` is
/// `end` or `entry` is past `full`. A word of zeros takes 4 instructions, any other about 16.
///
/// # Safety
/// `word` must be below `end`, both aligned and of one array, and `entry` must have room for the
/// entries up to two past `full`.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_pixels(cursor: &mut Cursor) {
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, r8, r9, r10, lr}}",
        "ldm r0, {{r1, r2, r3, r4, r5, r9}}",
        // A row from its word: four rows, thus a stride a byte.
        "mls r10, r1, r5, r9",
        "2:",
        "cmp r3, r4",
        "bhi 5f",
        "3:",
        "ldr r7, [r1], #4",
        "cbnz r7, 4f",
        "cmp r1, r2",
        "bne 3b",
        "b 5f",
        "4:",
        "subs r0, r1, #4",
        "mla r9, r0, r5, r10",
        // Bytes 0 and 2, bytes 1 and 3, then the first two and the last two.
        "uxtb16 r6, r7",
        "uxtb16 r8, r7, ror #8",
        "pkhbt r7, r6, r8, lsl #16",
        "cbz r7, 6f",
        "stm r3!, {{r7, r9}}",
        "6:",
        "add r9, r9, r5, lsl #1",
        "pkhtb r7, r8, r6, asr #16",
        "cbz r7, 6f",
        "stm r3!, {{r7, r9}}",
        "6:",
        "cmp r1, r2",
        "bne 2b",
        "5:",
        "ldr r0, [sp]",
        "stm r0!, {{r1, r2, r3}}",
        "pop {{r0, r4, r5, r6, r7, r8, r9, r10, pc}}",
    )
}

/// Adds the sum of rows of W1 scaled by pixels to `out`, which saturates; the sum itself is exact
/// because the scales add up to no more than [`super::super::SCALE_LIMIT`].
#[inline]
pub(crate) fn sum_pixels<const IN: usize, const W: usize>(
    rows: &[[i16; W]; IN],
    entries: &[Entry],
    out: &mut [i32; W],
) {
    if !paired::<IN, W>() {
        return common::sum_pixels(rows, entries, out);
    }
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    let eights = eights!(walk_eight as Eight<_>, 4, W);
    // SAFETY: every entry holds the address of the first of two of `rows`: callers list and sum
    // rows under one borrow of them. A unit takes four bytes of the two rows together, and the
    // list is not empty.
    unsafe { add_walks(eights, walk_two, 4, list.start, list.end, out) }
}

walk_of_eight!(
    /// Sums eight units of every pair of rows from byte `AT` on.
    walk_eight,
    50,
    "ldrd r3, lr, [r2, #{at}]",
    "smlad r4, r1, r3, r4",
    "smlad r5, r1, lr, r5",
    "ldrd r3, lr, [r2, #{at}+8]",
    "smlad r6, r1, r3, r6",
    "smlad r7, r1, lr, r7",
    "ldrd r3, lr, [r2, #{at}+16]",
    "smlad r8, r1, r3, r8",
    "smlad r9, r1, lr, r9",
    "ldrd r3, lr, [r2, #{at}+24]",
    "smlad r10, r1, r3, r10",
    "smlad r11, r1, lr, r11",
);

walk_of_two!(
    /// Sums two units of every pair of rows from byte `at` on.
    walk_two,
    16,
    "add r7, r3",
    "ldrd r12, r7, [r7]",
    "smlad r4, r6, r12, r4",
    "smlad r5, r6, r7, r5",
);
