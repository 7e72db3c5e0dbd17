//! The step of a row of W1 for a Cortex-M0+: two weights and the random word they share at once.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::super::descent::RowFactor;
use super::super::super::params::Tensor;
use super::super::common;
use super::packed;
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
    if !packed::<HID>() || HID == 0 {
        return common::step_row(w1, (pixel, hidden), gradient, factor, rng);
    }
    type Walk = unsafe extern "C" fn(*mut u32, *const i32, &mut Draw, *const u32);
    let (walk, mantissa, shift) = match factor {
        RowFactor::Down { mantissa, shift } => (walk_row::<0> as Walk, mantissa, shift),
        RowFactor::Up { mantissa, shift } => (walk_row::<1> as Walk, mantissa, shift),
    };
    let mut draw = Draw {
        state: rng.state(),
        mantissa,
        shift,
    };
    let row = w1[pixel].as_mut_ptr_range();
    // SAFETY: the row consists of HID packed weights, an even number and thus words, and there
    // are as many gradients.
    unsafe {
        walk(
            row.start.cast(),
            gradient.as_ptr(),
            &mut draw,
            row.end.cast(),
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

/// Steps a row, a pair of weights in 71 cycles: xoshiro128++, then for each weight
/// w - ((g mantissa / 2^16 / 2^shift + random) >> 16), kept within 16 bits; 81 cycles with `UP` not
/// zero, which multiplies by 2^shift.
///
/// # Safety
/// `weights` must be below `end`, words of packed pairs, and have a gradient each.
#[unsafe(naked)]
unsafe extern "C" fn walk_row<const UP: usize>(
    weights: *mut u32,
    gradient: *const i32,
    draw: &mut Draw,
    end: *const u32,
) {
    naked_asm!(
        "push {{r2, r3, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        // 65534, the width of the range of a weight.
        "movs r3, #1",
        "lsls r3, r3, #16",
        "subs r3, #2",
        "push {{r3}}",
        "ldm r2!, {{r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "ldm r2!, {{r4, r5}}",
        "mov r12, r4",
        "mov lr, r5",
        "2:",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "adds r2, r4, r7",
        "movs r3, #25",
        "rors r2, r3",
        "adds r2, r2, r4",
        "lsls r3, r5, #9",
        "eors r6, r4",
        "eors r7, r5",
        "eors r5, r6",
        "eors r4, r7",
        "eors r6, r3",
        "movs r3, #21",
        "rors r7, r3",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "ldm r1!, {{r4, r5}}",
        "mov r3, r12",
        "asrs r6, r4, #16",
        "muls r6, r3, r6",
        "uxth r4, r4",
        "muls r4, r3, r4",
        "lsrs r4, r4, #16",
        "adds r4, r4, r6",
        "asrs r6, r5, #16",
        "muls r6, r3, r6",
        "uxth r5, r5",
        "muls r5, r3, r5",
        "lsrs r5, r5, #16",
        "adds r5, r5, r6",
        "mov r3, lr",
        ".if {up}",
        "movs r6, r4",
        "lsls r4, r3",
        "movs r7, r4",
        "asrs r7, r3",
        "cmp r7, r6",
        "bne 44f",
        "34:",
        "movs r6, r5",
        "lsls r5, r3",
        "movs r7, r5",
        "asrs r7, r3",
        "cmp r7, r6",
        "bne 45f",
        "35:",
        ".else",
        "asrs r4, r3",
        "asrs r5, r3",
        ".endif",
        "uxth r6, r2",
        "adds r4, r4, r6",
        "bvs 40f",
        "30:",
        "lsrs r6, r2, #16",
        "adds r5, r5, r6",
        "bvs 41f",
        "31:",
        "asrs r4, r4, #16",
        "asrs r5, r5, #16",
        "ldr r6, [r0]",
        "uxth r7, r6",
        "subs r7, r7, r4",
        "asrs r6, r6, #16",
        "subs r6, r6, r5",
        "ldr r3, [sp]",
        "subs r4, r7, #1",
        "cmp r4, r3",
        "bhi 42f",
        "32:",
        "lsrs r5, r3, #1",
        "adds r4, r6, r5",
        "cmp r4, r3",
        "bhi 43f",
        "33:",
        "lsls r6, r6, #16",
        "orrs r6, r7",
        "stm r0!, {{r6}}",
        "ldr r3, [sp, #24]",
        "cmp r0, r3",
        "bne 2b",
        "ldr r0, [sp, #20]",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "stm r0!, {{r4, r5, r6, r7}}",
        "pop {{r3, r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r2, r3, r4, r5, r6, r7, pc}}",
        // Sums past 2^31 - 1 saturate.
        "40:",
        "movs r4, #1",
        "lsls r4, r4, #31",
        "subs r4, #1",
        "b 30b",
        "41:",
        "movs r5, #1",
        "lsls r5, r5, #31",
        "subs r5, #1",
        "b 31b",
        // So do products that a shift drives out of 32 bits, to the side they are on.
        ".if {up}",
        "44:",
        "asrs r6, r6, #31",
        "movs r4, #1",
        "lsls r4, r4, #31",
        "mvns r4, r4",
        "eors r4, r6",
        "b 34b",
        "45:",
        "asrs r6, r6, #31",
        "movs r5, #1",
        "lsls r5, r5, #31",
        "mvns r5, r5",
        "eors r5, r6",
        "b 35b",
        ".endif",
        // So do weights, the lower of which is stored 2^15 higher.
        "42:",
        "cmp r7, #0",
        "ble 5f",
        "adds r7, r3, #1",
        "b 32b",
        "5:",
        "movs r7, #1",
        "b 32b",
        "43:",
        "cmp r6, #0",
        "ble 5f",
        "movs r6, r5",
        "b 33b",
        "5:",
        "negs r6, r5",
        "b 33b",
        up = const UP,
    )
}
