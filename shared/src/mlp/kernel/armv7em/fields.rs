//! Hidden errors for a Cortex-M4: two 8-bit mantissas in a word, e = b + 2^24 a, so that one SMLAL
//! adds both products to a 64-bit sum.
//!
//! S = sum x e = sum x b + 2^24 sum x a. While the scales x add up to less than 2^16 the lower sum
//! stays within 2^23 and is the sign-extended lower field of S; the rest is the upper sum.
#![allow(unsafe_code)]

use super::super::arm::eights;
use super::super::{Entry, LIST_LIMIT, SCALE_LIMIT, Shift};
use super::assembler::naked_asm;
use super::walks::{Eight, add_walks};

/// The hidden errors of one sample: 8-bit mantissas in words of two fields, and one power of two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(crate) struct ErrorRow<const HID: usize> {
    /// Halves of words.
    halves: [i16; HID],
    /// The upper half of the last word if HID is odd.
    last: i16,
    pub(crate) shift: Shift,
}

impl<const HID: usize> ErrorRow<HID> {
    /// Makes every error zero.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.halves.fill(0);
        self.last = 0;
        self.shift = Shift::DEAD;
    }

    /// Stores the error of a unit, a mantissa of at most 127, in a row that was cleared before.
    #[inline(always)]
    pub(crate) fn set(&mut self, unit: usize, mantissa: i32) {
        assert!(unit < HID);
        // SAFETY: a row is aligned to words and consists of integers; it has HID + 1 halves and
        // thus a whole word for every unit below HID.
        unsafe {
            let word = (&raw mut *self).cast::<i32>().add(unit / 2);
            word.write(word.read() + (mantissa << (24 * (unit % 2))));
        }
    }
}

/// Adds the sum of scaled error rows to `out`, which saturates; the sum itself is exact for up
/// to 256 entries, 256 * 255 * 127 * 2^7 being less than 2^31; there may be [`LIST_LIMIT`].
pub(crate) fn sum_errors<const HID: usize>(
    _rows: &[ErrorRow<HID>],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    if entries.is_empty() {
        return;
    }
    // Where parts end whose scales add up to less than 2^16, and a null after the last. A scale
    // is at most 255 * 2^7, so that a part has at least two entries but for the last.
    const PARTS: usize = LIST_LIMIT / 2 + 1;
    let list = entries.as_ptr_range();
    let mut cuts = [core::ptr::null(); PARTS];
    let mut end = list.start;
    for cut in &mut cuts[..PARTS - 1] {
        if end >= list.end {
            break;
        }
        // SAFETY: from `end` on there are more entries of the list.
        end = unsafe { reach(end, list.end, SCALE_LIMIT) };
        *cut = end;
    }
    let eights = eights!(walk_words as Eight<_>, 2, HID);
    // SAFETY: every entry holds the address of one of the rows: callers list and sum rows under
    // one borrow of them. A row has two bytes a unit and two more, and the cuts are those of this
    // list, which is not empty.
    unsafe { add_walks(eights, walk_word, 2, list.start, cuts.as_ptr(), out) }
}

/// Returns how far a list reaches before its scales add up to more than `limit`.
///
/// # Safety
/// `list` to `end` must be entries.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn reach(list: *const Entry, end: *const Entry, limit: u32) -> *const Entry {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, lr}}",
        // Four entries at a time while there are as many, then one.
        "sub r12, r1, #32",
        "2:",
        "cmp r0, r12",
        "bhi 3f",
        "ldm r0!, {{r3, r4, r5, r6, r7, r8, r9, r10}}",
        "add r3, r5",
        "add r7, r9",
        "add r3, r7",
        "subs r2, r2, r3",
        "bpl 2b",
        "add r2, r3",
        "subs r0, #32",
        "3:",
        "cmp r0, r1",
        "beq 4f",
        "ldr r3, [r0]",
        "subs r2, r2, r3",
        "bmi 4f",
        "adds r0, #8",
        "b 3b",
        "4:",
        "pop {{r4, r5, r6, r7, r8, r9, r10, pc}}",
    )
}

/// Sums four words of every row from byte `AT` on. Eight entries make a turn; the first turn of a
/// part begins where it leaves a multiple of eight. After a part the lower fields move to `sums`.
///
/// # Safety
/// The list must not be empty, every entry must hold the address of a row that reaches 16 bytes
/// beyond `AT`, aligned to a word, and `ends` must be the cuts of the list.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_words<const AT: usize>(
    list: *const Entry,
    ends: *const *const Entry,
    sums: &mut [i32; 8],
) {
    // Takes the lower field out of a sum and adds it to the word at `$at` of `sums`.
    macro_rules! lower {
        ($low:literal, $high:literal, $at:literal) => {
            concat!(
                "sbfx r2, ",
                $low,
                ", #0, #24\n",
                "subs ",
                $low,
                ", ",
                $low,
                ", r2\n",
                "sbc ",
                $high,
                ", ",
                $high,
                ", r2, asr #31\n",
                "ldr r3, [r1, #",
                $at,
                "]\n",
                "add r3, r2\n",
                "str r3, [r1, #",
                $at,
                "]\n",
            )
        };
    }
    macro_rules! upper {
        ($low:literal, $high:literal, $at:literal) => {
            concat!(
                "lsls r3, ",
                $high,
                ", #8\n",
                "orr r3, r3, ",
                $low,
                ", lsr #24\n",
                "str r3, [r1, #",
                $at,
                "]\n",
            )
        };
    }
    naked_asm!(
        "push {{r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}}",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
        "stm r2, {{r4, r5, r6, r7, r8, r9, r10, r11}}",
        "ldr r12, [r1], #4",
        "3:",
        "str r1, [sp]",
        "sub r3, r0, r12",
        "ubfx r3, r3, #3, #3",
        "movs r1, #26",
        "muls r3, r1, r3",
        "add pc, r3",
        "nop",
        "2:",
        // 26 bytes. The scale is in r1, the row in r2; r3 and lr take two words at a time.
        ".rept 8",
        "ldm r0!, {{r1, r2}}",
        "ldrd r3, lr, [r2, #{at}]",
        "smlal r4, r5, r1, r3",
        "smlal r6, r7, r1, lr",
        "ldrd r3, lr, [r2, #{at}+8]",
        "smlal r8, r9, r1, r3",
        "smlal r10, r11, r1, lr",
        ".endr",
        "cmp r0, r12",
        "bne 2b",
        "ldr r1, [sp, #4]",
        lower!("r4", "r5", "0"),
        lower!("r6", "r7", "8"),
        lower!("r8", "r9", "16"),
        lower!("r10", "r11", "24"),
        "ldr r1, [sp]",
        "ldr r12, [r1], #4",
        "cmp r12, #0",
        "bne 3b",
        "ldr r1, [sp, #4]",
        upper!("r4", "r5", "4"),
        upper!("r6", "r7", "12"),
        upper!("r8", "r9", "20"),
        upper!("r10", "r11", "28"),
        "pop {{r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}}",
        at = const AT,
    )
}

/// Sums one word of every row at byte `at`.
///
/// # Safety
/// As for [`walk_words`], of 4 bytes from `at` on.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_word(
    list: *const Entry,
    ends: *const *const Entry,
    sums: &mut [i32; 2],
    at: u32,
) {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, lr}}",
        "movs r4, #0",
        "movs r5, #0",
        "mov r8, r4",
        "ldr r12, [r1], #4",
        "3:",
        "sub r6, r0, r12",
        "ubfx r6, r6, #3, #3",
        "lsls r6, r6, #3",
        "add pc, r6",
        "nop",
        "2:",
        // 8 bytes.
        ".rept 8",
        "ldm r0!, {{r6, r7}}",
        "ldr r7, [r7, r3]",
        "smlal r4, r5, r6, r7",
        ".endr",
        "cmp r0, r12",
        "bne 2b",
        "sbfx r6, r4, #0, #24",
        "subs r4, r4, r6",
        "sbc r5, r5, r6, asr #31",
        "add r8, r6",
        "ldr r12, [r1], #4",
        "cmp r12, #0",
        "bne 3b",
        "lsls r5, r5, #8",
        "orr r5, r5, r4, lsr #24",
        "strd r8, r5, [r2]",
        "pop {{r4, r5, r6, r7, r8, pc}}",
    )
}
