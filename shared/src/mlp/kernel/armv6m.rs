//! Row sums for a Cortex-M0+, which has one 32-bit multiplication and no other.
//!
//! Two 16-bit weights share a word w = 2^16 hi + lo. A walk over the list sums A = sum x w and
//! H = sum x (w >> 16), both modulo 2^32: two multiplications and one shift for two weights, where
//! taking the halves apart would need another shift. If lo is stored as an unsigned number, that
//! is with its sign bit flipped, then sum x lo = A - 2^16 H - 2^15 sum x, exactly modulo 2^32, and
//! the true sum fits 32 bits. Hidden errors have 8-bit mantissas, four to a word, and all but the
//! topmost are stored flipped: with A_k = sum x (w >> 8 k),
//! sum x b_k = A_k - 2^8 A_(k+1) - 2^7 sum x.
//!
//! Eight sums stay in registers while the list is walked, so a row of 50 takes seven walks: 31
//! cycles a walk and entry with weights, 29 with errors, 11 in the last one.
#![allow(unsafe_code)]

use core::arch::naked_asm;

mod step;
mod units;

pub(crate) use self::step::step_row;
pub(crate) use self::units::{backward, round_errors};
pub(crate) use super::arm::{activate, list_block, list_pixels, locate, locate_error};
pub(crate) use super::common::{list_errors, sum_unit as backward_unit};
pub(crate) use super::portable::place;
use super::{Entry, portable};

/// Whether rows of this width suit the assembly: whole words, within reach of an offset.
const fn packed<const W: usize>() -> bool {
    W.is_multiple_of(2) && W <= 64
}

/// The bits of a weight that are flipped in storage.
#[inline(always)]
const fn flip<const W: usize>(column: usize) -> i16 {
    if packed::<W>() && column.is_multiple_of(2) {
        i16::MIN
    } else {
        0
    }
}

/// Reads weight `column` of a row.
#[inline(always)]
pub(crate) fn load<const W: usize>(row: &[i16; W], column: usize) -> i16 {
    row[column] ^ flip::<W>(column)
}

/// Writes weight `column` of a row.
#[inline(always)]
pub(crate) fn store<const W: usize>(row: &mut [i16; W], column: usize, value: i16) {
    row[column] = value ^ flip::<W>(column);
}

/// Returns pixels `first..first + 4`, the first in the low byte; pixels past the end are zero.
#[inline(always)]
pub(crate) fn pixel_word<const IN: usize>(pixels: &[u8; IN], first: usize) -> u32 {
    if first + 4 <= IN && (pixels.as_ptr().addr() + first).is_multiple_of(4) {
        // SAFETY: four bytes from `first` on lie within the array, and the address was checked
        // to be that of a word.
        unsafe { pixels.as_ptr().add(first).cast::<u32>().read() }
    } else {
        portable::pixel_word(pixels, first)
    }
}

/// Adds the sum of scaled rows to `out`, which saturates; the sum itself is exact because the
/// scales add up to no more than [`super::SCALE_LIMIT`].
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    if entries.is_empty() {
        return;
    }
    if !packed::<W>() {
        let base = rows.as_ptr().addr();
        return portable::sum(entries, out, |entry| {
            &rows[(entry.at as usize - base) / size_of::<[i16; W]>()]
        });
    }
    let list = entries.as_ptr_range();
    let (whole, rest) = out.as_chunks_mut::<8>();
    let mut last = [0; 3];
    let mut at = 16 * whole.len() as u32;
    // SAFETY: every entry holds the address of one of `rows`: callers list and sum
    // rows under one borrow of them; offsets stay within the W weights of a row, which is a
    // whole number of words; the list is not empty.
    unsafe { walk_pair(list.start, list.end, &mut last, at.min(2 * W as u32 - 4)) };
    let bias = last[2] << 15;
    for pair in rest.as_chunks_mut::<2>().0 {
        add_pairs(pair, &last, bias);
        at += 4;
        if at < 2 * W as u32 {
            // SAFETY: as above.
            unsafe { walk_pair(list.start, list.end, &mut last, at) };
        }
    }
    macro_rules! groups {
        ($($group:literal)*) => {
            $(if W / 8 > $group {
                // Chosen in a constant, walks beyond the row do not come into being.
                let walk: Walk = const {
                    if W / 8 > $group { walk_pairs::<{ 16 * $group }> } else { walk_pairs::<0> }
                };
                // SAFETY: as above.
                unsafe { walk(list.start, list.end, &mut whole[$group], bias) };
            })*
        };
    }
    groups!(0 1 2 3 4 5 6 7);
}

/// Adds the sum of rows of W1 scaled by pixels to `out`: as [`sum_rows`].
#[inline]
pub(crate) fn sum_pixels<const IN: usize, const HID: usize>(
    rows: &[[i16; HID]; IN],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    sum_rows(rows, entries, out);
}

/// Adds what a walk over pairs of weights found.
#[inline(always)]
fn add_pairs(out: &mut [i32], sums: &[u32], bias: u32) {
    for (out, sums) in out
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(sums.as_chunks::<2>().0)
    {
        let low = sums[0].wrapping_sub(sums[1] << 16).wrapping_sub(bias);
        out[0] = out[0].saturating_add(low as i32);
        out[1] = out[1].saturating_add(sums[1] as i32);
    }
}

/// The hidden errors of one sample: 8-bit mantissas and one power of two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(crate) struct ErrorRow<const HID: usize> {
    mantissas: [u8; HID],
    shift: u8,
}

/// The bits of an error that are flipped in storage.
#[inline(always)]
const fn flip_byte(column: usize) -> u8 {
    if column % 4 == 3 { 0 } else { 0x80 }
}

/// The shift of a row without errors.
const DEAD: u8 = u8::MAX;

impl<const HID: usize> ErrorRow<HID> {
    /// Where in a row its shift is, in bytes; [`u8::MAX`] there says that there are no errors.
    pub(crate) const SHIFT_AT: usize = core::mem::offset_of!(Self, shift);

    /// Makes every error zero.
    #[inline]
    pub(crate) fn clear(&mut self) {
        for (column, byte) in self.mantissas.iter_mut().enumerate() {
            *byte = flip_byte(column);
        }
        self.shift = DEAD;
    }

    /// Stores the error of a unit, a mantissa of at most 127 times 2^`shift`.
    #[inline(always)]
    pub(crate) fn set(&mut self, unit: usize, mantissa: i32, _shift: u32) {
        self.mantissas[unit] = mantissa as u8 ^ flip_byte(unit);
    }

    /// Notes that an error is not zero, and the power of two of all of them.
    #[inline(always)]
    pub(crate) fn enliven(&mut self, shift: u32) {
        self.shift = shift as u8;
    }

    /// Says whether any error is not zero.
    #[inline(always)]
    pub(crate) fn is_live(&self) -> bool {
        self.shift != DEAD
    }

    /// Returns the factor that stands for pixel `x` in a sum of such rows.
    #[inline(always)]
    pub(crate) fn scale(&self, x: u32) -> u32 {
        x << (self.shift & 7)
    }
}

/// Adds the sum of scaled error rows to `out`, which saturates; the sum itself is exact for up
/// to 256 entries, 256 * 255 * 127 * 2^7 being less than 2^31.
pub(crate) fn sum_errors<const HID: usize>(
    _rows: &[ErrorRow<HID>],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    const { assert!(HID <= 64, "a Cortex-M0+ trains up to 64 hidden units") };
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    let (whole, rest) = out.as_chunks_mut::<8>();
    let at = 8 * whole.len() as u32;
    // Every entry holds the address of one of the rows: callers list and sum rows under one
    // borrow of them; a row has HID + 1 bytes, rounded up to whole words, and offsets stay
    // within those; the list is not empty.
    let bias = if let [first, second] = rest {
        let mut last = [0; 3];
        // SAFETY: as said above.
        unsafe { walk_half(list.start, list.end, &mut last, at) };
        let bias = last[2] << 7;
        let lower = last[0].wrapping_sub(last[1] << 8).wrapping_sub(bias);
        *first = first.saturating_add(lower as i32);
        *second = second.saturating_add(last[1].wrapping_sub(bias) as i32);
        bias
    } else {
        let mut last = [0; 5];
        // SAFETY: as above.
        unsafe { walk_word(list.start, list.end, &mut last, at) };
        let bias = last[4] << 7;
        let (first, second) = rest.split_at_mut(rest.len().min(4));
        add_words(first, &last, bias);
        if !second.is_empty() {
            // SAFETY: as above.
            unsafe { walk_word(list.start, list.end, &mut last, at + 4) };
            add_words(second, &last, bias);
        }
        bias
    };
    macro_rules! groups {
        ($($group:literal)*) => {
            $(if HID / 8 > $group {
                // Chosen in a constant, walks beyond the row do not come into being.
                let walk: Walk = const {
                    if HID / 8 > $group { walk_words::<{ 8 * $group }> } else { walk_words::<0> }
                };
                // SAFETY: as above.
                unsafe { walk(list.start, list.end, &mut whole[$group], bias) };
            })*
        };
    }
    groups!(0 1 2 3 4 5 6 7);
}

/// Adds what a walk over words of four errors found.
#[inline(always)]
fn add_words(out: &mut [i32], sums: &[u32], bias: u32) {
    for (byte, out) in out.iter_mut().enumerate() {
        let sum = match byte {
            3 => sums[3],
            _ => (sums[byte].wrapping_sub(sums[byte + 1] << 8)).wrapping_sub(bias),
        };
        *out = out.saturating_add(sum as i32);
    }
}

/// A walk that adds eight sums to what is there; the last argument is the bias.
type Walk = unsafe extern "C" fn(*const Entry, *const Entry, &mut [i32; 8], u32);

/// Adds r2 to the word at r0, which saturates, and moves on; spoils r4.
macro_rules! add_up {
    () => {
        concat!(
            "ldr r4, [r0]\n",
            "adds r2, r2, r4\n",
            "bvc 3f\n",
            "asrs r2, r2, #31\n",
            "movs r4, #1\n",
            "lsls r4, r4, #31\n",
            "eors r2, r4\n",
            "3:\n",
            "stm r0!, {{r2}}\n",
        )
    };
}

/// Walks a list with eight sums in r5 to r12. `$body` handles one entry in 50 bytes: its scale is
/// in r1, its row in r2; r3 and r4 are free. Eight bodies make a turn; the first turn begins
/// where it leaves a multiple of eight. `$finish` adds the sums to the words from r0 on, the bias
/// being in r1.
macro_rules! walk_of_eight {
    ($(#[$doc:meta])* $name:ident, $body:expr, $finish:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The list must not be empty, and every entry must hold the address of a row that
        /// reaches 16 bytes (8 for errors) beyond `AT`, aligned to a word.
        #[unsafe(naked)]
        #[cfg_attr(feature = "kernels-in-ram", unsafe(link_section = ".data.gleaner_kernel"))]
        unsafe extern "C" fn $name<const AT: usize>(
            list: *const Entry,
            end: *const Entry,
            out: &mut [i32; 8],
            bias: u32,
        ) {
            naked_asm!(
                "push {{r2, r3, r4, r5, r6, r7, lr}}",
                "mov r4, r8", "mov r5, r9", "mov r6, r10", "mov r7, r11",
                "push {{r4, r5, r6, r7}}",
                "mov lr, r1",
                "subs r3, r0, r1",
                "lsrs r3, r3, #3",
                "movs r4, #7",
                "ands r3, r4",
                "movs r4, #50",
                "muls r3, r4, r3",
                "movs r5, #0", "movs r6, #0", "movs r7, #0",
                "mov r8, r5", "mov r9, r5", "mov r10, r5", "mov r11, r5", "mov r12, r5",
                "add pc, r3",
                "nop",
                "2:",
                $body, $body, $body, $body, $body, $body, $body, $body,
                "cmp r0, lr",
                "beq 4f",
                "b 2b",
                "4:",
                "ldr r0, [sp, #16]",
                "ldr r1, [sp, #20]",
                $finish,
                "pop {{r4, r5, r6, r7}}",
                "mov r8, r4", "mov r9, r5", "mov r10, r6", "mov r11, r7",
                "pop {{r2, r3, r4, r5, r6, r7, pc}}",
                at = const AT,
            )
        }
    };
}

macro_rules! pair {
    ($offset:literal, $low:literal, $high:literal) => {
        concat!(
            "ldr r3, [r2, #{at}+",
            $offset,
            "]\n",
            "asrs r4, r3, #16\n",
            "muls r3, r1, r3\n",
            "muls r4, r1, r4\n",
            "add ",
            $low,
            ", r3\n",
            "add ",
            $high,
            ", r4\n",
        )
    };
}

/// Adds what a pair's sums A and H come to.
macro_rules! finish_pair {
    ($low:literal, $high:literal) => {
        concat!(
            "mov r2, ",
            $low,
            "\n",
            "mov r3, ",
            $high,
            "\n",
            "lsls r4, r3, #16\n",
            "subs r2, r2, r4\n",
            "subs r2, r2, r1\n",
            add_up!(),
            "movs r2, r3\n",
            add_up!(),
        )
    };
}

walk_of_eight!(
    /// Adds the sums of the four pairs of weights from byte `AT` on.
    walk_pairs,
    concat!(
        "ldm r0!, {{r1, r2}}\n",
        pair!("0", "r5", "r6"),
        pair!("4", "r7", "r8"),
        pair!("8", "r9", "r10"),
        pair!("12", "r11", "r12"),
    ),
    concat!(
        finish_pair!("r5", "r6"),
        finish_pair!("r7", "r8"),
        finish_pair!("r9", "r10"),
        finish_pair!("r11", "r12"),
    )
);

macro_rules! word {
    ($offset:literal, $b0:literal, $b1:literal, $b2:literal, $b3:literal) => {
        concat!(
            "ldr r3, [r2, #{at}+",
            $offset,
            "]\n",
            "asrs r4, r3, #24\n",
            "muls r4, r1, r4\n",
            "add ",
            $b3,
            ", r4\n",
            "asrs r4, r3, #16\n",
            "muls r4, r1, r4\n",
            "add ",
            $b2,
            ", r4\n",
            "asrs r4, r3, #8\n",
            "muls r4, r1, r4\n",
            "add ",
            $b1,
            ", r4\n",
            "muls r3, r1, r3\n",
            "add ",
            $b0,
            ", r3\n",
        )
    };
}

/// Adds what a word's sums A_0 to A_3 come to.
macro_rules! finish_word {
    ($b0:literal, $b1:literal, $b2:literal, $b3:literal) => {
        concat!(
            finish_byte!($b0, $b1),
            finish_byte!($b1, $b2),
            finish_byte!($b2, $b3),
            "mov r2, ",
            $b3,
            "\n",
            add_up!(),
        )
    };
}

/// Adds what a sum A_k and the next come to.
macro_rules! finish_byte {
    ($sum:literal, $next:literal) => {
        concat!(
            "mov r2, ",
            $sum,
            "\n",
            "mov r3, ",
            $next,
            "\n",
            "lsls r3, r3, #8\n",
            "subs r2, r2, r3\n",
            "subs r2, r2, r1\n",
            add_up!(),
        )
    };
}

walk_of_eight!(
    /// Adds the sums of the two words of four errors from byte `AT` on.
    walk_words,
    concat!(
        "ldm r0!, {{r1, r2}}\n",
        word!("0", "r5", "r6", "r7", "r8"),
        word!("4", "r9", "r10", "r11", "r12"),
    ),
    concat!(
        finish_word!("r5", "r6", "r7", "r8"),
        finish_word!("r9", "r10", "r11", "r12"),
    )
);

/// Walks a list with two sums and the sum of scales. `$load` reads a pair of numbers into r3 and
/// `$upper` leaves the upper one in r4.
macro_rules! walk_of_two {
    ($(#[$doc:meta])* $name:ident, $load:literal, $upper:literal) => {
$(#[$doc])*
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a row that has a whole
/// pair, aligned, from byte `at` on.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn $name(
    list: *const Entry,
    end: *const Entry,
    sums: &mut [u32; 3],
    at: u32,
) {
    macro_rules! body {
        () => {
            concat!(
                "ldm r0!, {{r1, r2}}\n",
                $load, "\n",
                $upper, "\n",
                "muls r3, r1, r3\n",
                "muls r4, r1, r4\n",
                "adds r5, r5, r3\n",
                "adds r6, r6, r4\n",
                "add r12, r1\n",
            )
        };
    }
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r7, r3",
        "mov lr, r1",
        "subs r3, r0, r1",
        "lsrs r3, r3, #3",
        "movs r4, #3",
        "ands r3, r4",
        "lsls r3, r3, #4",
        "movs r5, #0",
        "movs r6, #0",
        "mov r12, r5",
        "add pc, r3",
        "nop",
        "2:",
        body!(),
        body!(),
        body!(),
        body!(),
        "cmp r0, lr",
        "bne 2b",
        "ldr r0, [sp]",
        "mov r7, r12",
        "stm r0!, {{r5, r6, r7}}",
        "pop {{r2, r4, r5, r6, r7, pc}}",
    )
}
    };
}

walk_of_two!(
    /// Sums A and H of one pair of weights at byte `at`, and the scales.
    walk_pair,
    "ldr r3, [r2, r7]",
    "asrs r4, r3, #16"
);

walk_of_two!(
    /// Sums A_0 and A_1 of two errors at byte `at`, both stored flipped, and the scales.
    walk_half,
    "ldrh r3, [r2, r7]",
    "lsrs r4, r3, #8"
);

/// Sums A_0 to A_3 of one word of errors at byte `at`, and the scales.
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a row that reaches 4
/// bytes beyond `at`, aligned to a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_word(
    list: *const Entry,
    end: *const Entry,
    sums: &mut [u32; 5],
    at: u32,
) {
    macro_rules! body {
        () => {
            concat!(
                "ldm r0!, {{r1, r2}}\n",
                "ldr r3, [r2, r7]\n",
                "asrs r4, r3, #24\n",
                "muls r4, r1, r4\n",
                "add r9, r4\n",
                "asrs r4, r3, #16\n",
                "muls r4, r1, r4\n",
                "add r8, r4\n",
                "asrs r4, r3, #8\n",
                "muls r4, r1, r4\n",
                "adds r6, r6, r4\n",
                "muls r3, r1, r3\n",
                "adds r5, r5, r3\n",
                "add r12, r1\n",
            )
        };
    }
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "push {{r4, r5}}",
        "mov r7, r3",
        "mov lr, r1",
        "subs r3, r0, r1",
        "lsrs r3, r3, #3",
        "movs r4, #3",
        "ands r3, r4",
        "movs r4, #28",
        "muls r3, r4, r3",
        "movs r5, #0",
        "movs r6, #0",
        "mov r8, r5",
        "mov r9, r5",
        "mov r12, r5",
        "add pc, r3",
        "nop",
        "2:",
        body!(),
        body!(),
        body!(),
        body!(),
        "cmp r0, lr",
        "bne 2b",
        "ldr r0, [sp, #8]",
        "mov r2, r8",
        "mov r3, r9",
        "mov r4, r12",
        "stm r0!, {{r5, r6}}",
        "stm r0!, {{r2, r3, r4}}",
        "pop {{r4, r5}}",
        "mov r8, r4",
        "mov r9, r5",
        "pop {{r2, r4, r5, r6, r7, pc}}",
    )
}
