//! What the row sums of a Cortex-M4 share: they walk over the list for eight columns at a time, then
//! for two, and add what the walks find. Walks over rows of weights differ only in what they do
//! with an entry.
#![allow(unsafe_code)]

use super::super::{Entry, common};

/// A walk that sums eight columns of the rows in a list; where the list ends is said by an `E`.
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
    let mut sums = [0; 8];
    let mut at = bytes * 8 * whole.len() as u32;
    for (walk, out) in eights.into_iter().zip(whole) {
        // SAFETY: each of `whole` stands for eight columns of a row.
        unsafe { walk(list, end, &mut sums) };
        common::add(out, &sums);
    }
    let mut sums = [0; 2];
    for out in rest.chunks_mut(2) {
        // SAFETY: two columns from `at` on lie within a row.
        unsafe { two(list, end, &mut sums, at) };
        common::add(out, &sums);
        at += 2 * bytes;
    }
}

/// Walks a list with eight sums in r4 to r11. The instructions handle one entry: its scale is in
/// r1, its row in r2; r3 and lr are free. With the load of the entry they take `$bytes` bytes.
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
            sums: &mut [i32; 8],
        ) {
            naked_asm!(
                "push {{r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
                "mov r12, r1",
                "subs r3, r0, r1",
                "ubfx r3, r3, #3, #3",
                concat!("movs r1, #", $bytes),
                "muls r3, r1, r3",
                "movs r4, #0", "movs r5, #0", "movs r6, #0", "movs r7, #0",
                "mov r8, r4", "mov r9, r4", "mov r10, r4", "mov r11, r4",
                "add pc, r3",
                "nop",
                "2:",
                ".rept 8",
                "ldm r0!, {{r1, r2}}",
                $($instruction,)+
                ".endr",
                "cmp r0, r12",
                "bne 2b",
                "ldr r0, [sp]",
                "stm r0!, {{r4, r5, r6, r7, r8, r9, r10, r11}}",
                "pop {{r2, r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
                at = const AT,
            )
        }
    };
}
pub(super) use walk_of_eight;

/// Walks a list with two sums in r4 and r5, like [`walk_of_eight`]: the scale is in r6, the row in
/// r7, the byte its columns begin at in r3; r12 is free.
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
                "push {{r4, r5, r6, r7, lr}}",
                "subs r6, r0, r1",
                "ubfx r6, r6, #3, #3",
                concat!("movs r7, #", $bytes),
                "muls r6, r7, r6",
                "movs r4, #0",
                "movs r5, #0",
                "add pc, r6",
                "nop",
                "2:",
                ".rept 8",
                "ldm r0!, {{r6, r7}}",
                $($instruction,)+
                ".endr",
                "cmp r0, r1",
                "bne 2b",
                "stm r2!, {{r4, r5}}",
                "pop {{r4, r5, r6, r7, pc}}",
            )
        }
    };
}
pub(super) use walk_of_two;
