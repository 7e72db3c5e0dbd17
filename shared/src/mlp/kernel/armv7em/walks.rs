//! What the row sums of a Cortex-M4 share: they walk over the list for eight columns at a time, then
//! for two, and add what they find. Walks over rows of weights differ only in what they do
//! with an entry.
//!
//! A load takes two cycles, one right after another load that does not give its address and where
//! neither updates its base (LDRD takes three, and nothing overlaps with it). So loads stand
//! together, entries are read at fixed distances, and wide instructions begin at words.
#![allow(unsafe_code)]

use super::super::{Entry, common};

/// A walk that adds eight columns of the rows in a list to sums, which saturate; where the list
/// ends is said by an `E`.
pub(super) type Eight<E> = unsafe extern "C" fn(*const Entry, E, &mut [i32; 8]);
/// A walk that sums two columns from a byte on.
type Two<E> = unsafe extern "C" fn(*const Entry, E, &mut [i32; 2], u32);

/// Adds to `out`, which saturates, what walks over a list find in rows with `bytes` bytes a column.
///
/// # Safety
/// The list must be one the walks take: not empty, every entry with the address of a row that has
/// `bytes` bytes for every column and, if W is odd, for one more.
#[inline(always)]
pub(super) unsafe fn add_walks<const W: usize, E: Copy>(
    eights: [Eight<E>; 16],
    two: Two<E>,
    bytes: u32,
    list: *const Entry,
    end: E,
    out: &mut [i32; W],
) {
    const { assert!(W <= 128, "a Cortex-M4 trains up to 128 hidden units") };
    let (whole, rest) = out.as_chunks_mut::<8>();
    let mut at = bytes * 8 * whole.len() as u32;
    for (walk, out) in eights.into_iter().zip(whole) {
        // SAFETY: each of `whole` stands for eight columns of a row.
        unsafe { walk(list, end, out) };
    }
    let mut sums = [0; 2];
    for out in rest.chunks_mut(2) {
        // SAFETY: two columns from `at` on lie within a row.
        unsafe { two(list, end, &mut sums, at) };
        common::add(out, &sums);
        at += 2 * bytes;
    }
}

/// Begins a turn of eight entries of `$bytes` bytes of code each in the middle, so that a multiple
/// of eight is left: the list begins in r0 and ends in r12. Changes r1 and r3.
macro_rules! first_turn {
    ($bytes:literal) => {
        concat!(
            "sub r3, r0, r12\n",
            "ubfx r3, r3, #3, #3\n",
            "sub r0, r0, r3, lsl #3\n",
            "mov r1, #",
            $bytes,
            "\n",
            "mul r3, r1, r3\n",
            ".p2align 2\n",
            "add pc, r3\n",
            "nop\n",
        )
    };
}
pub(super) use first_turn;

/// Adds r4 to r11 to the eight words at r0, saturating. Changes r0 to r3 and r12.
macro_rules! add_eight {
    () => {
        concat!(
            "ldm r0, {{r1, r2, r3, r12}}\n",
            "qadd r1, r1, r4\n",
            "qadd r2, r2, r5\n",
            "qadd r3, r3, r6\n",
            "qadd r12, r12, r7\n",
            "stm r0!, {{r1, r2, r3, r12}}\n",
            "ldm r0, {{r1, r2, r3, r12}}\n",
            "qadd r1, r1, r8\n",
            "qadd r2, r2, r9\n",
            "qadd r3, r3, r10\n",
            "qadd r12, r12, r11\n",
            "stm r0, {{r1, r2, r3, r12}}\n",
        )
    };
}
pub(super) use add_eight;

/// Walks a list with eight sums in r4 to r11. The instructions handle one entry: its scale is in
/// r1, its row in r2; r3, r12 and lr are free. With the load of the entry they take `$bytes` bytes.
/// Eight entries make a turn; the first turn begins where it leaves a multiple of eight.
macro_rules! walk_of_eight {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $($instruction:literal),+ $(,)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The list must not be empty, and every entry must hold the address of a row that has
        /// eight columns from byte `AT` on, aligned to a word.
        #[unsafe(naked)]
        #[cfg_attr(feature = "kernels-in-ram", unsafe(link_section = ".data.gleaner_kernel"))]
        unsafe extern "C" fn $name<const AT: usize>(
            list: *const Entry,
            end: *const Entry,
            out: &mut [i32; 8],
        ) {
            naked_asm!(
                "push {{r1, r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
                "mov r12, r1",
                "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
                "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
                first_turn!($bytes),
                "2:",
                ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
                "ldr r2, [r0, #\\entry + 4]",
                "ldr r1, [r0, #\\entry]",
                $($instruction,)+
                ".endr",
                "ldr r3, [sp]",
                "adds r0, #64",
                "cmp r0, r3",
                "bne 2b",
                "ldr r0, [sp, #4]",
                add_eight!(),
                "add sp, #8",
                "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
                at = const AT,
            )
        }
    };
}
pub(super) use walk_of_eight;

/// Walks a list with two sums in r4 and r5, like [`walk_of_eight`]: the scale is in r1, the row in
/// r2, the byte its columns begin at in r6 and the one four bytes on in r7; r3 is free.
macro_rules! walk_of_two {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $($instruction:literal),+ $(,)?) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The list must not be empty, and every entry must hold the address of a row that has two
        /// columns from byte `at` on, aligned to a word.
        #[unsafe(naked)]
        #[cfg_attr(feature = "kernels-in-ram", unsafe(link_section = ".data.gleaner_kernel"))]
        unsafe extern "C" fn $name(
            list: *const Entry,
            end: *const Entry,
            sums: &mut [i32; 2],
            at: u32,
        ) {
            naked_asm!(
                "push {{r2, r4, r5, r6, r7, lr}}",
                "mov r12, r1",
                "movs r4, #0",
                "movs r5, #0",
                "mov r6, r3",
                "adds r7, r3, #4",
                first_turn!($bytes),
                "2:",
                ".irp entry, 0, 8, 16, 24, 32, 40, 48, 56",
                "ldr r2, [r0, #\\entry + 4]",
                "ldr r1, [r0, #\\entry]",
                $($instruction,)+
                ".endr",
                "adds r0, #64",
                "cmp r0, r12",
                "bne 2b",
                "pop {{r2}}",
                "stm r2!, {{r4, r5}}",
                "pop {{r4, r5, r6, r7, pc}}",
            )
        }
    };
}
pub(super) use walk_of_two;
