//! W1 for a Cortex-M4: the rows of two neighbouring pixels interleaved, so that one SMLAD adds
//! both products of a hidden unit.
#![allow(unsafe_code)]

use super::super::arm::{Cursor, list_by};
use super::super::{Entry, arm, common};
use super::assembler::naked_asm;
use super::walks::{add_twos, add_words, first_turn, walk_of_two};
use super::{locate, pixel_word};

/// Whether W1 is stored in pairs of rows: whole words of pixels and of weights.
pub(super) const fn paired<const IN: usize, const W: usize>() -> bool {
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
/// `end` or `entry` is past `full`. Two words are loaded at a time, after one if their number is odd:
/// a word of zeros takes 5 cycles, any other about 20.
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
    // Lists a word that is not zero and lies `$back` bytes before r1, and goes on at `$next` while
    // there is room.
    macro_rules! found {
        ($found:literal, $word:literal, $back:literal, $next:literal) => {
            concat!(
                ".p2align 2\n",
                $found,
                ":\n",
                "sub r0, r1, #",
                $back,
                "\n",
                "mla r9, r0, r5, r10\n",
                // Bytes 0 and 2, bytes 1 and 3, then the first two and the last two.
                "uxtb16 r8, ",
                $word,
                "\n",
                "uxtb16 lr, ",
                $word,
                ", ror #8\n",
                "pkhbt r0, r8, lr, lsl #16\n",
                "pkhtb ",
                $word,
                ", lr, r8, asr #16\n",
                "cbz r0, 6f\n",
                "stm r3!, {{r0, r9}}\n",
                "6:\n",
                "cbz ",
                $word,
                ", 6f\n",
                "add r9, r9, r5, lsl #1\n",
                "stm r3!, {{",
                $word,
                ", r9}}\n",
                "6:\n",
                "cmp r3, r4\n",
                "bls ",
                $next,
                "b\n",
                // From the word after this one on.
                "sub r1, r1, #",
                $back,
                " - 4\n",
                "b 5b\n",
            )
        };
    }
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, r8, r9, r10, lr}}",
        "ldm r0, {{r1, r2, r3, r4, r5, r9}}",
        // A row from its word: four rows, thus a stride a byte.
        "mls r10, r1, r5, r9",
        "cmp r3, r4",
        "bhi 5f",
        "subs r0, r2, r1",
        "lsls r0, r0, #29",
        "beq 2f",
        "ldr r6, [r1]",
        "adds r1, #4",
        "cmp r6, #0",
        "bne 42f",
        "32:",
        "cmp r1, r2",
        "beq 5f",
        ".p2align 2",
        "2:",
        "ldr r6, [r1]",
        "ldr r7, [r1, #4]",
        "adds r1, #8",
        "cbnz r6, 40f",
        "30:",
        "cbnz r7, 41f",
        "31:",
        "cmp r1, r2",
        "bne 2b",
        "5:",
        "ldr r0, [sp]",
        "stm r0!, {{r1, r2, r3}}",
        "pop {{r0, r4, r5, r6, r7, r8, r9, r10, pc}}",
        found!("40", "r6", "8", "30"),
        found!("41", "r7", "4", "31"),
        found!("42", "r6", "4", "32"),
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
    const { assert!(W <= 128, "a Cortex-M4 trains up to 128 hidden units") };
    if !paired::<IN, W>() {
        return common::sum_pixels(rows, entries, out);
    }
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    // SAFETY: every entry holds the address of the first of two of `rows`: callers list and sum
    // rows under one borrow of them. A unit takes four bytes of the two rows together, and the
    // list is not empty.
    unsafe { walk_sixes::<W>(list.start, list.end, out) };
    let done = 6 * sixes::<W>() + 8 * eights::<W>();
    let (at, rest) = (4 * done as u32, &mut out[done..]);
    // SAFETY: as above; the units from there on are an even number.
    unsafe { add_twos(walk_two, 4, at, list.start, list.end, rest) };
}

/// How many times eight units are summed at once: the last eight, if two would be left over.
const fn eights<const W: usize>() -> usize {
    (W >= 8 && W % 6 == 2) as usize
}

/// How many times six units are summed at once.
const fn sixes<const W: usize>() -> usize {
    W / 6 - eights::<W>()
}

/// Adds the sums of most units to `out`: six at a time in 15 cycles an entry, eight in 21. Eight
/// entries make a turn; the first turn begins where it leaves a multiple of eight.
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a pair of rows of W units,
/// aligned to a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_sixes<const W: usize>(
    list: *const Entry,
    end: *const Entry,
    out: &mut [i32; W],
) {
    naked_asm!(
        "push {{r0, r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        ".set gleaner_at, 0",
        ".rept {sixes}",
        "ldr r0, [sp]",
        "ldr r12, [sp, #4]",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4",
        first_turn!("52"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r3, [r2, #gleaner_at]",
        "ldr.w r10, [r2, #gleaner_at+4]",
        "ldr.w r11, [r2, #gleaner_at+8]",
        "ldr.w r12, [r2, #gleaner_at+12]",
        "ldr.w lr, [r2, #gleaner_at+16]",
        "ldr.w r2, [r2, #gleaner_at+20]",
        "smlad r4, r1, r3, r4",
        "smlad r5, r1, r10, r5",
        "smlad r6, r1, r11, r6",
        "smlad r7, r1, r12, r7",
        "smlad r8, r1, lr, r8",
        "smlad r9, r1, r2, r9",
        ".endr",
        "ldr r3, [sp, #4]",
        "adds r0, #64",
        "cmp r0, r3",
        "bne 2b",
        "ldr r0, [sp, #8]",
        add_words!("r1, r2, r3, r10, r11, r12", "r1" + "r4", "r2" + "r5", "r3" + "r6", "r10" + "r7", "r11" + "r8", "r12" + "r9"),
        "str r0, [sp, #8]",
        ".set gleaner_at, gleaner_at+24",
        ".endr",
        ".rept {eights}",
        "ldr r0, [sp]",
        "ldr r12, [sp, #4]",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
        first_turn!("68"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r3, [r2, #gleaner_at]",
        "ldr.w r12, [r2, #gleaner_at+4]",
        "ldr.w lr, [r2, #gleaner_at+8]",
        "smlad r4, r1, r3, r4",
        "smlad r5, r1, r12, r5",
        "smlad r6, r1, lr, r6",
        "ldr.w r3, [r2, #gleaner_at+12]",
        "ldr.w r12, [r2, #gleaner_at+16]",
        "smlad r7, r1, r3, r7",
        "smlad r8, r1, r12, r8",
        "ldr.w r3, [r2, #gleaner_at+20]",
        "ldr.w r12, [r2, #gleaner_at+24]",
        "ldr.w lr, [r2, #gleaner_at+28]",
        "smlad r9, r1, r3, r9",
        "smlad r10, r1, r12, r10",
        "smlad r11, r1, lr, r11",
        ".endr",
        "ldr r3, [sp, #4]",
        "adds r0, #64",
        "cmp r0, r3",
        "bne 2b",
        "ldr r0, [sp, #8]",
        add_words!("r1, r2, r3, r12", "r1" + "r4", "r2" + "r5", "r3" + "r6", "r12" + "r7"),
        add_words!("r1, r2, r3, r12", "r1" + "r8", "r2" + "r9", "r3" + "r10", "r12" + "r11"),
        ".endr",
        "add sp, #12",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        sixes = const sixes::<W>(),
        eights = const eights::<W>(),
    )
}

walk_of_two!(
    /// Sums two units of every pair of rows from byte `at` on.
    walk_two,
    16,
    "ldr r3, [r2, r6]",
    "ldr r2, [r2, r7]",
    "smlad r4, r1, r3, r4",
    "smlad r5, r1, r2, r5",
);
