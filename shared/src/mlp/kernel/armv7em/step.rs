//! The step of a row of W1 for a Cortex-M4: two weights and the random word they share at once.
#![allow(unsafe_code)]

use super::super::super::descent::RowFactor;
use super::super::super::params::Tensor;
use super::super::common;
use super::assembler::naked_asm;
use super::paired::paired;
use super::place;
use crate::rng::Rng;

/// Steps the weights of one pixel.
pub(crate) fn step_row<const IN: usize, const HID: usize>(
    w1: &mut [[i16; HID]; IN],
    (pixel, hidden): (usize, usize),
    gradient: &[i32; HID],
    factor: RowFactor,
    rng: &mut Rng,
) {
    const { assert!(Tensor::W1.limit() == i16::MAX as i32) };
    // As a signed half the mantissa is 2^16 less than it is, for which the product is corrected.
    let (mantissa, shift) = match factor {
        RowFactor::Down { mantissa, shift }
            if paired::<IN, HID>() && HID > 0 && mantissa >= 1 << 15 =>
        {
            (mantissa, shift)
        }
        _ => return common::step_row(w1, (pixel, hidden), gradient, factor, rng),
    };
    let mut draw = Draw {
        state: rng.state(),
        mantissa,
        shift,
    };
    let (row, column) = place::<IN, HID>(pixel, 0);
    let weights = (&raw mut w1[row][column]).expose_provenance();
    let gradients = gradient.as_ptr_range();
    // SAFETY: of two rows that are stored as a pair the weights of one pixel are every other half
    // word, HID of them, an even number; there are as many gradients. The two rows lie within `w1`,
    // which is borrowed as a whole.
    unsafe {
        walk_row(
            core::ptr::with_exposed_provenance_mut(weights),
            gradients.start,
            &mut draw,
            gradients.end,
        );
    }
    *rng = Rng::from_state(draw.state);
}

/// The generator's state, and the factor that makes steps of gradients.
#[repr(C)]
struct Draw {
    state: [u32; 4],
    mantissa: u32,
    shift: u32,
}

/// Steps every other weight, two in 35 cycles: xoshiro128++, then for each weight
/// w - ((g mantissa / 2^16 / 2^shift + random) >> 16), kept within 16 bits and above -2^15.
///
/// # Safety
/// `gradient` must be below `end`, an even number of them, and `weights` have a weight for each, the
/// next one four bytes on.
#[unsafe(naked)]
unsafe extern "C" fn walk_row(
    weights: *mut i16,
    gradient: *const i32,
    draw: &mut Draw,
    end: *const i32,
) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldm r2, {{r4, r5, r6, r7, r8, r9}}",
        "mov r2, r3",
        "mov r3, r8",
        "mov r8, r9",
        "mov lr, #0x00010001",
        ".p2align 2",
        "2:",
        "add r12, r4, r7",
        "add r12, r4, r12, ror #25",
        "eor r6, r6, r4",
        "eor r7, r7, r5",
        "lsl r11, r5, #9",
        "eor r5, r5, r6",
        "eor r4, r4, r7",
        "eor r6, r6, r11",
        "ror r7, r7, #21",
        "ldrd r9, r10, [r1], #8",
        "smlawb r9, r9, r3, r9",
        "smlawb r10, r10, r3, r10",
        "asr r9, r9, r8",
        "asr r10, r10, r8",
        "uxth r11, r12",
        "lsr r12, r12, #16",
        "qadd r9, r9, r11",
        "qadd r10, r10, r12",
        "ldrh.w r11, [r0]",
        "ldrh.w r12, [r0, #4]",
        // Both steps and both weights in the halves of a word.
        "pkhtb r9, r10, r9, asr #16",
        "pkhbt r11, r11, r12, lsl #16",
        "qsub16 r11, r11, r9",
        "qsub16 r11, r11, lr",
        "qadd16 r11, r11, lr",
        "strh.w r11, [r0]",
        "lsr r11, r11, #16",
        "strh.w r11, [r0, #4]",
        "adds r0, #8",
        "cmp r1, r2",
        "bne 2b",
        "pop {{r2}}",
        "stm r2!, {{r4, r5, r6, r7}}",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
    )
}
