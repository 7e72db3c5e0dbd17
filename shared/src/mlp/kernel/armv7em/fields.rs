//! Hidden errors for a Cortex-M4: two 8-bit mantissas in a word, e = b + 2^24 a, so that one SMLAL
//! adds both products to a 64-bit sum.
//!
//! S = sum x e = sum x b + 2^24 sum x a. While the scales x add up to less than 2^16 the lower sum
//! stays within 2^23 and is the sign-extended lower field of S; the rest is the upper sum.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use super::super::{Entry, LIST_LIMIT, SCALE_LIMIT, Shift, common};
use super::assembler::naked_asm;
use super::walks::{add_twos, first_turn};

/// The hidden errors of one sample: 8-bit mantissas in words of two fields, and one power of two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(crate) struct ErrorRow<const HID: usize> {
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
/// to [`LIST_LIMIT`] entries.
pub(crate) fn sum_errors<const HID: usize>(
    _rows: &[ErrorRow<HID>],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    const { assert!(HID <= 128, "a Cortex-M4 trains up to 128 hidden units") };
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    let mut cuts = [const { MaybeUninit::<*const Entry>::uninit() }; LIST_LIMIT / 8 + 2];
    // SAFETY: the list is not empty, and there is room for a cut at every turn of eight entries, at
    // the end of a shorter one before them, and a null.
    let cut = entries.len() <= LIST_LIMIT
        && unsafe { cut(list.start, list.end, cuts.as_mut_ptr().cast(), SCALE_LIMIT) };
    if cut {
        // SAFETY: every entry holds the address of one of the rows: callers list and sum rows under
        // one borrow of them. The cuts are those of this list up to the null.
        return unsafe { add_part(list.start, cuts.as_ptr().cast(), out) };
    }
    // Two entries fit whatever they are: a scale is at most 255 * 2^7.
    let mut sums = [0; HID];
    for part in entries.chunks(2) {
        let part = part.as_ptr_range();
        // SAFETY: as above, with one cut at the end.
        unsafe {
            add_part(
                part.start,
                [part.end, core::ptr::null()].as_ptr(),
                &mut sums,
            )
        };
    }
    common::add(out, &sums);
}

/// Adds the sum of scaled rows to `out`, which saturates.
///
/// # Safety
/// The list must not be empty, every entry must hold the address of an [`ErrorRow`] of HID units,
/// and `ends` must be cuts of the list, as [`cut`] makes them.
unsafe fn add_part<const HID: usize>(
    list: *const Entry,
    ends: *const *const Entry,
    out: &mut [i32; HID],
) {
    // SAFETY: a row has two bytes a unit and two more.
    unsafe { walk_words::<HID>(list, ends, out) };
    let rest = &mut out[HID / 8 * 8..];
    // SAFETY: as above.
    unsafe { add_twos(walk_word, 2, 2 * (HID / 8 * 8) as u32, list, ends, rest) };
}

/// Cuts a list into parts whose scales add up to no more than `limit`, each but the first a number
/// of whole turns of eight entries: writes where parts end, and a null. Says no if the entries
/// before the whole turns or those of one turn are too much already.
///
/// # Safety
/// `list` must be below `end`, and `cuts` have room for a cut at every turn and two more.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn cut(
    list: *const Entry,
    end: *const Entry,
    cuts: *mut *const Entry,
    limit: u32,
) -> bool {
    naked_asm!(
        "push {{r3, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "sub r12, r1, r0",
        "ands r12, r12, #56",
        "beq 3f",
        "2:",
        "ldr r4, [r0]",
        "adds r0, #8",
        "subs r12, #8",
        "sub r3, r4",
        "bne 2b",
        "cmp r3, #0",
        "blt 6f",
        "cmp r0, r1",
        "beq 5f",
        ".p2align 2",
        "3:",
        "ldr r4, [r0]",
        "ldr r5, [r0, #8]",
        "ldr r6, [r0, #16]",
        "ldr r7, [r0, #24]",
        "ldr.w r8, [r0, #32]",
        "ldr.w r9, [r0, #40]",
        "ldr.w r10, [r0, #48]",
        "ldr.w r11, [r0, #56]",
        "add r4, r5",
        "add r6, r7",
        "add r8, r9",
        "add r10, r11",
        "add r4, r6",
        "add r8, r10",
        "add r4, r8",
        "subs r3, r3, r4",
        "bmi 7f",
        "4:",
        "adds r0, #64",
        "cmp r0, r1",
        "bne 3b",
        "5:",
        "movs r3, #0",
        "stm r2!, {{r1, r3}}",
        "movs r0, #1",
        "pop {{r3, r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        "7:",
        "stm r2!, {{r0}}",
        "ldr r3, [sp]",
        "subs r3, r3, r4",
        "bpl 4b",
        "6:",
        "movs r0, #0",
        "pop {{r3, r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
    )
}

/// Adds the sums of as many units as make whole eights to `out`, which saturates: four words at a
/// time in 11 cycles an entry. Eight entries make a turn; the first turn begins where it leaves a
/// multiple of eight. The sums go on from part to part; what the lower fields came to before is
/// known, and they differ by less than 2^23 from it.
///
/// # Safety
/// The list must not be empty, every entry must hold the address of a row of HID units, and `ends`
/// must be cuts of the list, as [`cut`] makes them.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_words<const HID: usize>(
    list: *const Entry,
    ends: *const *const Entry,
    out: &mut [i32; HID],
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
    // Leaves the upper sum in `$high`.
    macro_rules! upper {
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
            )
        };
    }
    naked_asm!(
        "push {{r0, r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        // On the stack: four lower sums, the end of the part, where the next one is said; the list,
        // the ends, the sums.
        "sub sp, #24",
        ".set gleaner_at, 0",
        ".rept {eights}",
        "ldr r0, [sp, #24]",
        "ldr r1, [sp, #28]",
        "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
        "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
        "ldr r12, [r1], #4",
        "stm sp, {{r4, r5, r6, r7}}",
        "strd r12, r1, [sp, #16]",
        first_turn!("36"),
        "2:",
        ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
        "ldr r2, [r0, #\\entry + 4]",
        "ldr r1, [r0, #\\entry]",
        "ldr.w r3, [r2, #gleaner_at]",
        "ldr.w r12, [r2, #gleaner_at+4]",
        "ldr.w lr, [r2, #gleaner_at+8]",
        "ldr.w r2, [r2, #gleaner_at+12]",
        "smlal r4, r5, r1, r3",
        "smlal r6, r7, r1, r12",
        "smlal r8, r9, r1, lr",
        "smlal r10, r11, r1, r2",
        ".endr",
        "ldr r3, [sp, #16]",
        "adds r0, #64",
        "cmp r0, r3",
        "bne 2b",
        "ldm sp, {{r1, r2, r3, r12}}",
        lower!("r4", "r1"),
        lower!("r6", "r2"),
        lower!("r8", "r3"),
        lower!("r10", "r12"),
        "stm sp, {{r1, r2, r3, r12}}",
        "ldr r1, [sp, #20]",
        "ldr r3, [r1], #4",
        "cmp r3, #0",
        "strd r3, r1, [sp, #16]",
        "bne 2b",
        "ldm sp, {{r1, r2, r3, r12}}",
        upper!("r4", "r5", "r1"),
        upper!("r6", "r7", "r2"),
        upper!("r8", "r9", "r3"),
        upper!("r10", "r11", "r12"),
        "ldr r0, [sp, #32]",
        "ldm r0, {{r4, r6, r8, r10}}",
        "qadd r4, r4, r1",
        "qadd r6, r6, r5",
        "qadd r8, r8, r2",
        "qadd r10, r10, r7",
        "stm r0!, {{r4, r6, r8, r10}}",
        "ldm r0, {{r4, r6, r8, r10}}",
        "qadd r4, r4, r3",
        "qadd r6, r6, r9",
        "qadd r8, r8, r12",
        "qadd r10, r10, r11",
        "stm r0!, {{r4, r6, r8, r10}}",
        "str r0, [sp, #32]",
        ".set gleaner_at, gleaner_at+16",
        ".endr",
        "add sp, #36",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        eights = const HID / 8,
    )
}

/// Sums one word of every row at byte `at`.
///
/// # Safety
/// As for [`walk_words`], with a word from `at` on in every row.
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
        "ldr r12, [lr], #4",
        "sub r3, r4, r7",
        "sbfx r3, r3, #0, #24",
        "add r7, r3",
        "cmp r12, #0",
        "bne 2b",
        "subs r4, r4, r7",
        "sbc r5, r5, r7, asr #31",
        "lsls r5, r5, #8",
        "orr r5, r5, r4, lsr #24",
        "pop {{r2}}",
        "strd r7, r5, [r2]",
        "pop {{r4, r5, r6, r7, pc}}",
    )
}
