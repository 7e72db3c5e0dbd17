//! The walk over samples that lists error rows under the pixels of a block, for a Cortex-M4.
#![allow(unsafe_code)]

use super::super::arm::Stretch;
use super::assembler::naked_asm;

/// Lists the live rows of samples under each of four pixels that is not zero. Two
/// words are loaded at a time, after one if their number is odd: a word of zeros takes 6 cycles, any
/// other about 30.
///
/// # Safety
/// `row` must be below `end` and every row have a word of pixels; all words are aligned, and
/// every list has room for as many entries as there are rows.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn walk_samples(stretch: &mut Stretch) {
    // Lists a word that is not zero and goes on at `$next`.
    macro_rules! found {
        ($found:literal, $word:literal, $next:literal) => {
            concat!(
                ".p2align 2\n",
                $found,
                ":\n",
                "ldrb.w lr, [r1, r12]\n",
                "cmp.w lr, #255\n",
                "beq ",
                $next,
                "b\n",
                "uxtb r0, ",
                $word,
                "\n",
                "cbz r0, 6f\n",
                "str r1, [r2, #4]\n",
                "lsl r0, r0, lr\n",
                "str r0, [r2], #8\n",
                "6:\n",
                "ubfx r0, ",
                $word,
                ", #8, #8\n",
                "cbz r0, 6f\n",
                "str r1, [r3, #4]\n",
                "lsl r0, r0, lr\n",
                "str r0, [r3], #8\n",
                "6:\n",
                "ubfx r0, ",
                $word,
                ", #16, #8\n",
                "cbz r0, 6f\n",
                "str r1, [r4, #4]\n",
                "lsl r0, r0, lr\n",
                "str r0, [r4], #8\n",
                "6:\n",
                "lsrs r0, ",
                $word,
                ", #24\n",
                "beq ",
                $next,
                "b\n",
                "str r1, [r5, #4]\n",
                "lsl r0, r0, lr\n",
                "str r0, [r5], #8\n",
                "b ",
                $next,
                "b\n",
            )
        };
    }
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldm r0, {{r1, r2, r3, r4, r5, r8, r9, r10, r11, r12, lr}}",
        // An odd number of samples leaves out an odd number of the first four.
        "tst lr, #1",
        "beq 2f",
        "ldr r6, [r8]",
        "add r8, r9",
        "cmp r6, #0",
        "bne 42f",
        "32:",
        "add r1, r10",
        "cmp r1, r11",
        "beq 9f",
        ".p2align 2",
        "2:",
        "ldr.w r6, [r8]",
        "ldr.w r7, [r8, r9]",
        "add.w r8, r8, r9, lsl #1",
        "cbnz r6, 40f",
        "30:",
        "add r1, r10",
        "cbnz r7, 41f",
        "31:",
        "add r1, r10",
        "cmp r1, r11",
        "bne 2b",
        "9:",
        "pop {{r0}}",
        "stm r0, {{r1, r2, r3, r4, r5, r8}}",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        found!("40", "r6", "30"),
        found!("41", "r7", "31"),
        found!("42", "r6", "32"),
    )
}
