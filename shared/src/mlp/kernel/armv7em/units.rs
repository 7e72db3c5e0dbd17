//! The backward pass through the hidden units of a sample, for a Cortex-M4.
#![allow(unsafe_code)]

use super::assembler::naked_asm;
use core::mem::MaybeUninit;

use super::super::{Shift, common};
use super::fields::ErrorRow;

/// The most classes the assembly takes.
const CLASSES: usize = 64;

/// Adds h d2 to the row of dW2 of every live unit, turns `units` from activations into errors
/// W2 d2 in units of 2^-24, zero for dead units, and returns the largest magnitude.
pub(crate) fn backward<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    output: &[i32; OUT],
    w2: &[[i16; OUT]; HID],
    dw2: &mut [[i32; OUT]; HID],
) -> u32 {
    let words = OUT.is_multiple_of(2) && w2.as_ptr().addr().is_multiple_of(4);
    if !words || OUT > CLASSES || HID == 0 {
        return common::backward(units, output, w2, dw2);
    }
    // Errors fit 16 bits: two to a word.
    let mut errors = [const { MaybeUninit::uninit() }; CLASSES / 2];
    for (pair, &[low, high]) in errors.iter_mut().zip(output.as_chunks::<2>().0) {
        pair.write(low as u32 & 0xFFFF | (high as u32) << 16);
    }
    let layer = Layer {
        errors: errors.as_ptr().cast(),
        w2: w2.as_ptr().cast(),
        dw2: dw2.as_mut_ptr().cast(),
    };
    let all = units.as_mut_ptr_range();
    // SAFETY: there is a unit, and each has its row of W2, in words, and of dW2; the errors that
    // belong to OUT classes were written.
    unsafe { walk_units::<OUT>(all.start, all.end, &layer) }
}

/// The output layer: its errors in pairs, and rows of weights and of their gradients.
#[repr(C)]
struct Layer {
    errors: *const u32,
    w2: *const u32,
    dw2: *mut i32,
}

/// Walks over units: a dead one takes 9 cycles, a live one 20 and 10 for every pair of classes.
///
/// # Safety
/// `unit` must be below `end`; every unit from there on has a row of OUT weights, aligned to a word,
/// and of OUT gradients, and OUT is even.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_units<const OUT: usize>(
    unit: *mut i32,
    end: *const i32,
    layer: &Layer,
) -> u32 {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, lr}}",
        "ldm r2, {{r2, r3, r4}}",
        "mov r12, #0",
        ".p2align 2",
        "2:",
        "ldr r5, [r0]",
        "cbnz r5, 5f",
        "4:",
        "adds r0, #4",
        "adds r3, #{row}",
        "add r4, #2*{row}",
        "cmp r0, r1",
        "bne 2b",
        "mov r0, r12",
        "pop {{r4, r5, r6, r7, r8, r9, r10, pc}}",
        ".p2align 2",
        "5:",
        "mov.w r6, #0",
        ".set gleaner_pair, 0",
        ".rept {pairs}",
        "ldr.w r7, [r2, #4*gleaner_pair]",
        "ldr.w r8, [r3, #4*gleaner_pair]",
        "ldr.w r9, [r4, #8*gleaner_pair]",
        "ldr.w r10, [r4, #8*gleaner_pair+4]",
        "smlad r6, r7, r8, r6",
        "smlabb r9, r5, r7, r9",
        "str.w r9, [r4, #8*gleaner_pair]",
        "smlabt r10, r5, r7, r10",
        "str.w r10, [r4, #8*gleaner_pair+4]",
        ".set gleaner_pair, gleaner_pair+1",
        ".endr",
        "str r6, [r0]",
        "eor r7, r6, r6, asr #31",
        "sub r6, r7, r6, asr #31",
        "cmp r6, r12",
        "it hi",
        "movhi r12, r6",
        "b 4b",
        pairs = const OUT / 2,
        row = const 2 * OUT,
    )
}

/// Rounds the errors of a sample to mantissas with one power of two, keeps them in its row and
/// adds them to db1. Below the largest power, 2^7, the power is the one that makes every mantissa
/// fit.
pub(crate) fn round_errors<const HID: usize>(
    units: &[i32; HID],
    shift: u32,
    row: &mut ErrorRow<HID>,
    db1: &mut [i32; HID],
) {
    if !HID.is_multiple_of(2) || HID == 0 || shift >= 7 {
        return common::round_errors(units, shift, row, db1);
    }
    let errors = units.as_ptr_range();
    // SAFETY: there are errors, an even number, and a word of the row for every two.
    unsafe {
        walk_errors(
            errors.start,
            errors.end,
            row.words(),
            db1.as_mut_ptr(),
            shift,
        );
    }
    row.shift = Shift::new(shift);
}

/// Rounds errors to mantissas, two in 22 cycles: (error + 2^(11 + shift)) >> (12 + shift).
///
/// # Safety
/// `error` must be below `end`, an even number of errors whose mantissas are at most 127, with a
/// word of `row` for every two and a sum in `db1` for each.
#[unsafe(naked)]
unsafe extern "C" fn walk_errors(
    error: *const i32,
    end: *const i32,
    row: *mut u32,
    db1: *mut i32,
    shift: u32,
) {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldr r8, [sp, #36]",
        "add r9, r8, #12",
        "mov r10, #2048",
        "lsl r10, r10, r8",
        ".p2align 2",
        "2:",
        "ldm r0!, {{r4, r5}}",
        "ldm r3, {{r6, r7}}",
        "add r4, r4, r10",
        "add r5, r5, r10",
        "asr r4, r4, r9",
        "asr r5, r5, r9",
        "lsl r11, r4, r8",
        "lsl r12, r5, r8",
        "add r6, r11",
        "add r7, r12",
        "stm r3!, {{r6, r7}}",
        "add r4, r4, r5, lsl #24",
        "str r4, [r2], #4",
        "cmp r0, r1",
        "bne 2b",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
    )
}
