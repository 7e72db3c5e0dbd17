//! The codes of an upload for a Cortex-M0+: the generator's state stays in registers.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::common;
use crate::rng::Rng;

/// Writes numbers in units of 2^-16 as codes from -127 to 127, each rounded by the lower half of a random
/// word.
pub(crate) fn round_codes(numbers: &[i32], codes: &mut [u8], rng: &mut Rng) {
    if numbers.is_empty() || numbers.len() != codes.len() {
        return common::round_codes(numbers, codes, rng);
    }
    let mut state = rng.state();
    let numbers = numbers.as_ptr_range();
    // SAFETY: the range is that of a slice, which is not empty, and there are as many codes.
    unsafe { walk_codes(numbers.start, codes.as_mut_ptr(), &mut state, numbers.end) };
    *rng = Rng::from_state(state);
}

/// Rounds numbers by xoshiro128++, 27 cycles each.
///
/// # Safety
/// `numbers` must be below `end`, all between them valid, and `codes` have room for as many.
#[unsafe(naked)]
unsafe extern "C" fn walk_codes(
    numbers: *const i32,
    codes: *mut u8,
    state: &mut [u32; 4],
    end: *const i32,
) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r12, r3",
        "ldm r2!, {{r4, r5, r6, r7}}",
        "2:",
        "adds r2, r4, r7",
        "movs r3, #25",
        "rors r2, r3",
        "adds r2, r2, r4",
        "uxth r2, r2",
        "lsls r3, r5, #9",
        "eors r6, r4",
        "eors r7, r5",
        "eors r5, r6",
        "eors r4, r7",
        "eors r6, r3",
        "movs r3, #21",
        "rors r7, r3",
        "ldm r0!, {{r3}}",
        "adds r3, r3, r2",
        "asrs r3, r3, #16",
        "movs r2, #127",
        "adds r2, r2, r3",
        "cmp r2, #254",
        "bhi 4f",
        "3:",
        "strb r3, [r1]",
        "adds r1, #1",
        "cmp r0, r12",
        "bne 2b",
        "pop {{r2}}",
        "stm r2!, {{r4, r5, r6, r7}}",
        "pop {{r4, r5, r6, r7, pc}}",
        // Codes past the limits, which rounding reaches by one at most.
        "4:",
        "asrs r3, r3, #31",
        "movs r2, #127",
        "eors r3, r2",
        "cmp r3, #127",
        "beq 3b",
        "adds r3, #1",
        "b 3b",
    )
}
