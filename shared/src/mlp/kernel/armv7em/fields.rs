//! Hidden errors for a Cortex-M4: two 8-bit mantissas in a word, e = b + 2^24 a, so that one SMLAL
//! adds both products to a 64-bit sum.
//!
//! S = sum x e = sum x b + 2^24 sum x a. While the scales x add up to less than 2^16 the lower sum
//! stays within 2^23 and is the sign-extended lower field of S; the rest is the upper sum.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::mem::MaybeUninit;

use super::super::arm::eights;
use super::super::{Entry, LIST_LIMIT, SCALE_LIMIT, Shift};
use super::walks::{Eight, add_eight, add_walks, first_turn};

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

    /// Returns the words, two errors in each but the last if HID is odd.
    #[inline(always)]
    pub(super) fn words(&mut self) -> *mut u32 {
        (&raw mut *self).cast()
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
    let mut cuts = [const { MaybeUninit::uninit() }; PARTS];
    let mut end = list.start;
    for cut in &mut cuts {
        if end >= list.end {
            cut.write(core::ptr::null());
            break;
        }
        // SAFETY: from `end` on there are more entries of the list.
        end = unsafe { reach(end, list.end, SCALE_LIMIT) };
        cut.write(end);
    }
    let eights = eights!(walk_words as Eight<_>, 2, HID);
    // SAFETY: every entry holds the address of one of the rows: callers list and sum rows under
    // one borrow of them. A row has two bytes a unit and two more, and the cuts are those of this
    // list, which is not empty, up to the null.
    unsafe { add_walks(eights, walk_word, 2, list.start, cuts.as_ptr().cast(), out) }
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
        "push {{r4, r5, r6, lr}}",
        // Four entries at a time while there are as many, then one.
        "sub r12, r1, #32",
        ".p2align 2",
        "2:",
        "cmp r0, r12",
        "bhi 3f",
        "ldr r3, [r0]",
        "ldr r4, [r0, #8]",
        "ldr r5, [r0, #16]",
        "ldr r6, [r0, #24]",
        "adds r0, #32",
        "add r3, r4",
        "add r5, r6",
        "add r3, r5",
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
        "pop {{r4, r5, r6, pc}}",
    )
}

/// Sums four words of every row from byte `AT` on, in 11 cycles an entry, and adds the fields to
/// `out`, which saturates. Eight entries make a turn; the first turn of a part begins where it
/// leaves a multiple of eight. The sums go on from part to part; what the lower fields came to
/// before is known, and they differ by less than 2^23 from it.
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
    out: &mut [i32; 8],
) {
    // Moves a lower sum on to where a part brought it.
    macro_rules! lower {
        ($low:literal, $lower:literal) => {
            concat!(
                "sub lr, ",
                $low,
                ", ",
                $lower,
                "\n",
                "sbfx lr, lr, #0, #24\n",
                "add ",
                $lower,
                ", lr\n",
            )
        };
    }
    // Leaves the upper sum in `$high` and the lower one in `$low`.
    macro_rules! split {
        ($low:literal, $high:literal, $lower:literal) => {
            concat!(
                "subs ",
                $low,
                ", ",
                $low,
                ", ",
                $lower,
                "\n",
                "sbc ",
                $high,
                ", ",
                $high,
                ", ",
                $lower,
                ", asr #31\n",
                "lsl ",
                $high,
                ", ",
                $high,
                ", #8\n",
                "orr ",
                $high,
                ", ",
                $high,
                ", ",
                $low,
                ", lsr #24\n",
                "mov ",
                $low,
                ", ",
                $lower,
                "\n",
            )
        };
    }
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        // On the stack: the end of the part, where the next one is said, four lower sums.
        "sub sp, #24",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
        "add r3, sp, #8",
        "stm r3!, {{r4, r5, r6, r7}}",
        "ldr r12, [r1], #4",
        "3:",
        "strd r12, r1, [sp]",
        first_turn!("36"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r3, [r2, #{at}]",
        "ldr.w r12, [r2, #{at}+4]",
        "ldr.w lr, [r2, #{at}+8]",
        "ldr.w r2, [r2, #{at}+12]",
        "smlal r4, r5, r1, r3",
        "smlal r6, r7, r1, r12",
        "smlal r8, r9, r1, lr",
        "smlal r10, r11, r1, r2",
        ".endr",
        "ldr r3, [sp]",
        "adds r0, #64",
        "cmp r0, r3",
        "bne 2b",
        "add lr, sp, #8",
        "ldm lr, {{r1, r2, r3, r12}}",
        lower!("r4", "r1"),
        lower!("r6", "r2"),
        lower!("r8", "r3"),
        lower!("r10", "r12"),
        "add lr, sp, #8",
        "stm lr, {{r1, r2, r3, r12}}",
        "ldr lr, [sp, #4]",
        "ldr lr, [lr]",
        "cmp lr, #0",
        "beq 4f",
        "ldr r1, [sp, #4]",
        "ldr r12, [r1], #4",
        "b 3b",
        "4:",
        split!("r4", "r5", "r1"),
        split!("r6", "r7", "r2"),
        split!("r8", "r9", "r3"),
        split!("r10", "r11", "r12"),
        "ldr r0, [sp, #24]",
        add_eight!(),
        "add sp, #28",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
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
        "push {{r2, r4, r5, r6, r7, lr}}",
        "movs r4, #0",
        "movs r5, #0",
        // The byte, the lower sum, and where the next part's end is said.
        "mov r6, r3",
        "movs r7, #0",
        "mov lr, r1",
        "3:",
        "ldr r12, [lr], #4",
        first_turn!("12"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r2, [r2, r6]",
        "smlal r4, r5, r1, r2",
        ".endr",
        "adds r0, #64",
        "cmp r0, r12",
        "bne 2b",
        "sub r3, r4, r7",
        "sbfx r3, r3, #0, #24",
        "add r7, r3",
        "ldr r3, [lr]",
        "cmp r3, #0",
        "bne 3b",
        "subs r4, r4, r7",
        "sbc r5, r5, r7, asr #31",
        "lsls r5, r5, #8",
        "orr r5, r5, r4, lsr #24",
        "pop {{r2}}",
        "strd r7, r5, [r2]",
        "pop {{r4, r5, r6, r7, pc}}",
    )
}
