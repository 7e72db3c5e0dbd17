//! The hidden units of one sample for a Cortex-M0+: their part of the backward pass, and their
//! errors rounded into a row.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::{Shift, common};
use super::{ErrorRow, packed};

/// Adds h d2 to the row of dW2 of every live unit, turns `units` from activations into errors
/// W2 d2 in units of 2^-24, zero for dead units, and returns the largest magnitude.
pub(crate) fn backward<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    output: &[i32; OUT],
    w2: &[[i16; OUT]; HID],
    dw2: &mut [[i32; OUT]; HID],
) -> u32 {
    if !packed::<OUT>() || OUT >= 64 || HID == 0 {
        return common::backward(units, output, w2, dw2);
    }
    let end = units.as_ptr_range().end;
    let rows = Rows {
        output: output.as_ptr(),
        w2: w2.as_ptr().cast(),
        dw2: dw2.as_mut_ptr().cast(),
    };
    // SAFETY: there is a row of OUT weights and one of OUT sums for each of the units, of which
    // there is one at least; OUT is even, so that the weights are words of the packed form.
    unsafe { walk_units::<OUT>(&rows, units.as_mut_ptr(), end) }
}

/// Where the rows of the output layer begin.
#[repr(C)]
struct Rows {
    output: *const i32,
    w2: *const u32,
    dw2: *mut i32,
}

/// Goes over the units: a dead one takes 12 cycles, a live one 28 and 23 for a pair of classes.
///
/// # Safety
/// `unit` must be below `end`, and every unit have OUT weights and OUT sums, OUT even and below
/// 64, the weights packed and aligned to a word.
#[unsafe(naked)]
unsafe extern "C" fn walk_units<const OUT: usize>(
    rows: &Rows,
    unit: *mut i32,
    end: *const i32,
) -> u32 {
    naked_asm!(
        "push {{r4, r5, r6, r7, lr}}",
        "mov r4, r8", "mov r5, r9", "mov r6, r10", "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        "mov r9, r1",
        "mov r10, r2",
        "movs r4, #0",
        "mov r11, r4",
        "subs r4, #1",
        "lsls r4, r4, #15",
        "mov r8, r4",
        "ldm r0!, {{r4, r5, r6}}",
        "movs r0, r4",
        "movs r1, r5",
        "movs r2, r6",
        "2:",
        "mov r7, r9",
        "ldr r3, [r7]",
        "cmp r3, #0",
        "bne 4f",
        "adds r1, #2*{classes}",
        "adds r2, #4*{classes}",
        "3:",
        "adds r7, #4",
        "mov r9, r7",
        "cmp r7, r10",
        "bne 2b",
        "mov r0, r11",
        "pop {{r4, r5, r6, r7}}",
        "mov r8, r4", "mov r9, r5", "mov r10, r6", "mov r11, r7",
        "pop {{r4, r5, r6, r7, pc}}",
        "4:",
        "movs r4, #0",
        "mov r12, r4",
        ".rept {classes}/2",
        "ldm r0!, {{r4, r5}}",
        "ldm r1!, {{r6}}",
        "asrs r7, r6, #16",
        "muls r7, r5, r7",
        "add r12, r7",
        "uxth r6, r6",
        "add r6, r8",
        "muls r6, r4, r6",
        "add r12, r6",
        "muls r4, r3, r4",
        "muls r5, r3, r5",
        "ldr r6, [r2]",
        "ldr r7, [r2, #4]",
        "adds r4, r4, r6",
        "adds r5, r5, r7",
        "stm r2!, {{r4, r5}}",
        ".endr",
        "subs r0, #4*{classes}",
        "mov r4, r12",
        "mov r7, r9",
        "str r4, [r7]",
        "asrs r5, r4, #31",
        "adds r4, r4, r5",
        "eors r4, r5",
        "cmp r4, r11",
        "bls 3b",
        "mov r11, r4",
        "b 3b",
        classes = const OUT,
    )
}

/// Rounds the errors of a sample to mantissas with one power of two, keeps them in its row and
/// adds them to db1.
pub(crate) fn round_errors<const HID: usize>(
    units: &[i32; HID],
    shift: u32,
    row: &mut ErrorRow<HID>,
    db1: &mut [i32; HID],
) {
    let whole = HID / 4 * 4;
    // Only with the largest power may a mantissa need clamping.
    if shift > 6 || whole == 0 {
        return common::round_errors(units, shift, row, db1);
    }
    // SAFETY: `whole` units, a multiple of four and not none, have as many sums and mantissas.
    unsafe {
        walk_errors(
            units.as_ptr(),
            db1.as_mut_ptr(),
            row.mantissas.as_mut_ptr(),
            shift,
            units.as_ptr().wrapping_add(whole),
        );
    }
    for (unit, &error) in units.iter().enumerate().skip(whole) {
        common::round_error(error, shift, unit, row, db1);
    }
    row.shift = Shift::new(shift);
}

/// Rounds four errors a turn, 16 cycles each.
///
/// # Safety
/// `error` must be a whole number of fours before `end`, one at least, and have as many sums and
/// mantissas; no error rounds to more than 127 times 2^(12 + `shift`).
#[unsafe(naked)]
unsafe extern "C" fn walk_errors(
    error: *const i32,
    sum: *mut i32,
    mantissa: *mut u8,
    shift: u32,
    end: *const i32,
) {
    // Half is added by the carry of the shift. `$flip` is an instruction on r4.
    macro_rules! body {
        ($unit:literal, $flip:literal) => {
            concat!(
                "ldm r0!, {{r4}}\n",
                "mov r7, r8\n",
                "asrs r4, r7\n",
                "movs r7, #0\n",
                "adcs r4, r7\n",
                "movs r5, r4\n",
                "lsls r5, r3\n",
                "ldr r7, [r1, #4*",
                $unit,
                "]\n",
                "adds r5, r5, r7\n",
                "str r5, [r1, #4*",
                $unit,
                "]\n",
                $flip,
                "\n",
                "strb r4, [r2, #",
                $unit,
                "]\n",
            )
        };
    }
    naked_asm!(
        "push {{r4, r5, r6, r7, lr}}",
        "ldr r5, [sp, #20]",
        "mov lr, r5",
        "mov r4, r8",
        "push {{r4}}",
        "movs r4, r3",
        "adds r4, #12",
        "mov r8, r4",
        "movs r6, #0x80",
        "2:",
        body!("0", "eors r4, r6"),
        body!("1", "eors r4, r6"),
        body!("2", "eors r4, r6"),
        body!("3", ""),
        "adds r1, #16",
        "adds r2, #4",
        "cmp r0, lr",
        "bne 2b",
        "pop {{r4}}",
        "mov r8, r4",
        "pop {{r4, r5, r6, r7, pc}}",
    )
}
