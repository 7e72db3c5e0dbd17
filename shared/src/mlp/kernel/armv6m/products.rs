//! Products of a few rows with the columns of a factor, for a Cortex-M0+: four sums stay in registers.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::{TILE, common};

/// Adds to the sums of every column its numbers times the factors of their rows.
pub(crate) fn add_products<const R: usize>(
    columns: &[[i32; TILE]],
    factors: &[[i32; R]; TILE],
    sums: &mut [[i32; R]],
) {
    const { assert!(TILE == 8) };
    if R != 4 || columns.is_empty() || columns.len() != sums.len() {
        return common::add_products(columns, factors, sums);
    }
    let columns = columns.as_ptr_range();
    // SAFETY: the range is that of a slice, which is not empty, and there are as many sums; with R = 4
    // factors are 32 words and sums four words a column.
    unsafe {
        walk_columns(
            columns.start.cast(),
            factors.as_ptr().cast(),
            sums.as_mut_ptr().cast(),
            columns.end.cast(),
        );
    }
}

/// Adds up columns of eight numbers, 162 cycles each.
///
/// # Safety
/// `columns` must be below `end` by a multiple of 32 bytes, all between them valid, `factors` be 32 words,
/// and `sums` four words a column.
#[unsafe(naked)]
unsafe extern "C" fn walk_columns(
    columns: *const i32,
    factors: *const i32,
    sums: *mut i32,
    end: *const i32,
) {
    naked_asm!(
        "push {{r4, r5, r6, r7, lr}}",
        "mov r12, r2",
        "mov lr, r3",
        "2:",
        "mov r2, r12",
        "ldm r2!, {{r4, r5, r6, r7}}",
        "ldr r2, [r0, #0]",
        "ldr r3, [r1, #0]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #4]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #8]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #12]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #4]",
        "ldr r3, [r1, #16]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #20]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #24]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #28]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #8]",
        "ldr r3, [r1, #32]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #36]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #40]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #44]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #12]",
        "ldr r3, [r1, #48]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #52]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #56]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #60]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #16]",
        "ldr r3, [r1, #64]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #68]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #72]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #76]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #20]",
        "ldr r3, [r1, #80]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #84]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #88]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #92]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #24]",
        "ldr r3, [r1, #96]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #100]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #104]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #108]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "ldr r2, [r0, #28]",
        "ldr r3, [r1, #112]",
        "muls r3, r2, r3",
        "adds r4, r4, r3",
        "ldr r3, [r1, #116]",
        "muls r3, r2, r3",
        "adds r5, r5, r3",
        "ldr r3, [r1, #120]",
        "muls r3, r2, r3",
        "adds r6, r6, r3",
        "ldr r3, [r1, #124]",
        "muls r3, r2, r3",
        "adds r7, r7, r3",
        "adds r0, #32",
        "mov r2, r12",
        "stm r2!, {{r4, r5, r6, r7}}",
        "mov r12, r2",
        "cmp r0, lr",
        "bne 2b",
        "pop {{r4, r5, r6, r7, pc}}",
    )
}
