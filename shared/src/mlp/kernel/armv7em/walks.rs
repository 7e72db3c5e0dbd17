//! What the row sums of a Cortex-M4 share: they walk over the list for some columns at a time, with
//! the sums in registers, and add what they find.
//!
//! A load takes two cycles, one right after another load that does not give its address and where
//! neither updates its base (LDRD takes three, and nothing overlaps with it). So loads stand
//! together, entries are read at fixed distances, and wide instructions begin at words.
#![allow(unsafe_code)]

use super::super::{Entry, common};

/// A walk that sums two columns from a byte on; where the list ends is said by an `E`.
type Two<E> = unsafe extern "C" fn(*const Entry, E, &mut [i32; 2], u32);

/// Adds to `out`, which saturates, what a walk finds in the columns from byte `at` of rows with
/// `bytes` bytes a column.
///
/// # Safety
/// The list must be one the walk takes: not empty, every entry with the address of a row that has
/// `bytes` bytes for every column and, if there is an odd number of them, for one more.
#[inline(always)]
pub(super) unsafe fn add_twos<E: Copy>(
    two: Two<E>,
    bytes: u32,
    mut at: u32,
    list: *const Entry,
    end: E,
    out: &mut [i32],
) {
    let mut sums = [0; 2];
    for out in out.chunks_mut(2) {
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

/// Adds registers, as many as the sums in r1, r2 and so on, to the words at r0, saturating, and moves
/// r0 on.
macro_rules! add_words {
    ($sums:literal, $($sum:literal + $register:literal),+) => {
        concat!(
            "ldm r0, {{",
            $sums,
            "}}\n",
            $("qadd ", $sum, ", ", $sum, ", ", $register, "\n",)+
            "stm r0!, {{",
            $sums,
            "}}\n",
        )
    };
}
pub(super) use add_words;

/// Walks a list with two sums in r4 and r5, the scale of an entry in r1 and its row in r2, the
/// byte its columns begin at in r6 and the one four bytes on in r7; r3 is free. With the load of the
/// entry the instructions take `$bytes` bytes.
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
