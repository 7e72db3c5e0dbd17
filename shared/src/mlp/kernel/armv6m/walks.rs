//! The walks over a list that row sums on a Cortex-M0+ consist of, in assembly.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::Entry;

/// A walk that adds eight sums to what is there; the last argument is the bias.
pub(super) type Walk = unsafe extern "C" fn(*const Entry, *const Entry, &mut [i32; 8], u32);

/// Adds r2 to the word at r0, which saturates, and moves on; spoils r4.
macro_rules! add_up {
    () => {
        concat!(
            "ldr r4, [r0]\n",
            "adds r2, r2, r4\n",
            "bvc 3f\n",
            "asrs r2, r2, #31\n",
            "movs r4, #1\n",
            "lsls r4, r4, #31\n",
            "eors r2, r4\n",
            "3:\n",
            "stm r0!, {{r2}}\n",
        )
    };
}

/// Walks a list with eight sums in r5 to r12. `$body` handles one entry in 50 bytes: its scale is
/// in r1, its row in r2; r3 and r4 are free. Eight bodies make a turn; the first turn begins
/// where it leaves a multiple of eight. `$finish` adds the sums to the words from r0 on, the bias
/// being in r1.
macro_rules! walk_of_eight {
    ($(#[$doc:meta])* $name:ident, $body:expr, $finish:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The list must not be empty, and every entry must hold the address of a row that
        /// reaches 16 bytes (8 for errors) beyond `AT`, aligned to a word.
        #[unsafe(naked)]
        #[cfg_attr(feature = "kernels-in-ram", unsafe(link_section = ".data.gleaner_kernel"))]
        pub(super) unsafe extern "C" fn $name<const AT: usize>(
            list: *const Entry,
            end: *const Entry,
            out: &mut [i32; 8],
            bias: u32,
        ) {
            naked_asm!(
                "push {{r2, r3, r4, r5, r6, r7, lr}}",
                "mov r4, r8", "mov r5, r9", "mov r6, r10", "mov r7, r11",
                "push {{r4, r5, r6, r7}}",
                "mov lr, r1",
                "subs r3, r0, r1",
                "lsrs r3, r3, #3",
                "movs r4, #7",
                "ands r3, r4",
                "movs r4, #50",
                "muls r3, r4, r3",
                "movs r5, #0", "movs r6, #0", "movs r7, #0",
                "mov r8, r5", "mov r9, r5", "mov r10, r5", "mov r11, r5", "mov r12, r5",
                "add pc, r3",
                "nop",
                "2:",
                ".rept 8",
                $body,
                ".endr",
                "cmp r0, lr",
                "beq 4f",
                "b 2b",
                "4:",
                "ldr r0, [sp, #16]",
                "ldr r1, [sp, #20]",
                $finish,
                "pop {{r4, r5, r6, r7}}",
                "mov r8, r4", "mov r9, r5", "mov r10, r6", "mov r11, r7",
                "pop {{r2, r3, r4, r5, r6, r7, pc}}",
                at = const AT,
            )
        }
    };
}

/// Loads two pairs of weights at once and adds their products.
macro_rules! two_pairs {
    ($low0:literal, $high0:literal, $low1:literal, $high1:literal) => {
        concat!(
            "ldm r2!, {{r3, r4}}\n",
            "asrs r5, r3, #16\n",
            "muls r3, r1, r3\n",
            "muls r5, r1, r5\n",
            "add ",
            $low0,
            ", r3\n",
            "add ",
            $high0,
            ", r5\n",
            "asrs r5, r4, #16\n",
            "muls r4, r1, r4\n",
            "muls r5, r1, r5\n",
            "add ",
            $low1,
            ", r4\n",
            "add ",
            $high1,
            ", r5\n",
        )
    };
}

/// Adds what a pair's sums A and H come to.
macro_rules! finish_pair {
    ($low:literal, $high:literal) => {
        concat!(
            "mov r2, ",
            $low,
            "\n",
            "mov r3, ",
            $high,
            "\n",
            "lsls r4, r3, #16\n",
            "subs r2, r2, r4\n",
            "subs r2, r2, r1\n",
            add_up!(),
            "movs r2, r3\n",
            add_up!(),
        )
    };
}

/// Adds the sums of the four pairs of weights from byte `AT` on, as the walks below; words that are
/// loaded by twos take a register more, for which the end of the list waits on the stack.
///
/// # Safety
/// As those of [`walk_words`].
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
pub(super) unsafe extern "C" fn walk_pairs<const AT: usize>(
    list: *const Entry,
    end: *const Entry,
    out: &mut [i32; 8],
    bias: u32,
) {
    naked_asm!(
        "push {{r2, r3, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        "push {{r1}}",
        "subs r3, r0, r1",
        "lsrs r3, r3, #3",
        "movs r4, #7",
        "ands r3, r4",
        "movs r4, #{body}",
        "muls r3, r4, r3",
        "movs r6, #0",
        "movs r7, #0",
        "mov r8, r6",
        "mov r9, r6",
        "mov r10, r6",
        "mov r11, r6",
        "mov r12, r6",
        "mov lr, r6",
        "add pc, r3",
        "nop",
        "2:",
        ".rept 8",
        "ldm r0!, {{r1, r2}}",
        ".if {at}",
        "adds r2, #{at}",
        ".endif",
        two_pairs!("r6", "r7", "r8", "r9"),
        two_pairs!("r10", "r11", "r12", "lr"),
        ".endr",
        "ldr r1, [sp]",
        "cmp r0, r1",
        "beq 4f",
        "b 2b",
        "4:",
        "ldr r0, [sp, #20]",
        "ldr r1, [sp, #24]",
        finish_pair!("r6", "r7"),
        finish_pair!("r8", "r9"),
        finish_pair!("r10", "r11"),
        finish_pair!("r12", "lr"),
        "pop {{r3, r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r2, r3, r4, r5, r6, r7, pc}}",
        at = const AT,
        body = const if AT == 0 { 46 } else { 48 },
    )
}

macro_rules! word {
    ($offset:literal, $b0:literal, $b1:literal, $b2:literal, $b3:literal) => {
        concat!(
            "ldr r3, [r2, #{at}+",
            $offset,
            "]\n",
            "asrs r4, r3, #24\n",
            "muls r4, r1, r4\n",
            "add ",
            $b3,
            ", r4\n",
            "asrs r4, r3, #16\n",
            "muls r4, r1, r4\n",
            "add ",
            $b2,
            ", r4\n",
            "asrs r4, r3, #8\n",
            "muls r4, r1, r4\n",
            "add ",
            $b1,
            ", r4\n",
            "muls r3, r1, r3\n",
            "add ",
            $b0,
            ", r3\n",
        )
    };
}

/// Adds what a word's sums A_0 to A_3 come to.
macro_rules! finish_word {
    ($b0:literal, $b1:literal, $b2:literal, $b3:literal) => {
        concat!(
            finish_byte!($b0, $b1),
            finish_byte!($b1, $b2),
            finish_byte!($b2, $b3),
            "mov r2, ",
            $b3,
            "\n",
            add_up!(),
        )
    };
}

/// Adds what a sum A_k and the next come to.
macro_rules! finish_byte {
    ($sum:literal, $next:literal) => {
        concat!(
            "mov r2, ",
            $sum,
            "\n",
            "mov r3, ",
            $next,
            "\n",
            "lsls r3, r3, #8\n",
            "subs r2, r2, r3\n",
            "subs r2, r2, r1\n",
            add_up!(),
        )
    };
}

walk_of_eight!(
    /// Adds the sums of the two words of four errors from byte `AT` on.
    walk_words,
    concat!(
        "ldm r0!, {{r1, r2}}\n",
        word!("0", "r5", "r6", "r7", "r8"),
        word!("4", "r9", "r10", "r11", "r12"),
    ),
    concat!(
        finish_word!("r5", "r6", "r7", "r8"),
        finish_word!("r9", "r10", "r11", "r12"),
    )
);

/// Walks a list with two sums and the sum of scales. `$load` reads a pair of numbers into r3 and
/// `$upper` leaves the upper one in r4.
macro_rules! walk_of_two {
    ($(#[$doc:meta])* $name:ident, $load:literal, $upper:literal) => {
$(#[$doc])*
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a row that has a whole
/// pair, aligned, from byte `at` on.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
pub(super) unsafe extern "C" fn $name(
    list: *const Entry,
    end: *const Entry,
    sums: &mut [u32; 3],
    at: u32,
) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r7, r3",
        "mov lr, r1",
        "subs r3, r0, r1",
        "lsrs r3, r3, #3",
        "movs r4, #3",
        "ands r3, r4",
        "lsls r3, r3, #4",
        "movs r5, #0",
        "movs r6, #0",
        "mov r12, r5",
        "add pc, r3",
        "nop",
        "2:",
        ".rept 4",
        "ldm r0!, {{r1, r2}}",
        $load,
        $upper,
        "muls r3, r1, r3",
        "muls r4, r1, r4",
        "adds r5, r5, r3",
        "adds r6, r6, r4",
        "add r12, r1",
        ".endr",
        "cmp r0, lr",
        "bne 2b",
        "ldr r0, [sp]",
        "mov r7, r12",
        "stm r0!, {{r5, r6, r7}}",
        "pop {{r2, r4, r5, r6, r7, pc}}",
    )
}
    };
}

walk_of_two!(
    /// Sums A and H of one pair of weights at byte `at`, and the scales.
    walk_pair,
    "ldr r3, [r2, r7]",
    "asrs r4, r3, #16"
);

walk_of_two!(
    /// Sums A_0 and A_1 of two errors at byte `at`, both stored flipped, and the scales.
    walk_half,
    "ldrh r3, [r2, r7]",
    "lsrs r4, r3, #8"
);

/// Sums A_0 to A_3 of one word of errors at byte `at`, and the scales.
///
/// # Safety
/// The list must not be empty, and every entry must hold the address of a row that reaches 4
/// bytes beyond `at`, aligned to a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
pub(super) unsafe extern "C" fn walk_word(
    list: *const Entry,
    end: *const Entry,
    sums: &mut [u32; 5],
    at: u32,
) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "push {{r4, r5}}",
        "mov r7, r3",
        "mov lr, r1",
        "subs r3, r0, r1",
        "lsrs r3, r3, #3",
        "movs r4, #3",
        "ands r3, r4",
        "movs r4, #28",
        "muls r3, r4, r3",
        "movs r5, #0",
        "movs r6, #0",
        "mov r8, r5",
        "mov r9, r5",
        "mov r12, r5",
        "add pc, r3",
        "nop",
        "2:",
        ".rept 4",
        "ldm r0!, {{r1, r2}}",
        "ldr r3, [r2, r7]",
        "asrs r4, r3, #24",
        "muls r4, r1, r4",
        "add r9, r4",
        "asrs r4, r3, #16",
        "muls r4, r1, r4",
        "add r8, r4",
        "asrs r4, r3, #8",
        "muls r4, r1, r4",
        "adds r6, r6, r4",
        "muls r3, r1, r3",
        "adds r5, r5, r3",
        "add r12, r1",
        ".endr",
        "cmp r0, lr",
        "bne 2b",
        "ldr r0, [sp, #8]",
        "mov r2, r8",
        "mov r3, r9",
        "mov r4, r12",
        "stm r0!, {{r5, r6}}",
        "stm r0!, {{r2, r3, r4}}",
        "pop {{r4, r5}}",
        "mov r8, r4",
        "mov r9, r5",
        "pop {{r2, r4, r5, r6, r7, pc}}",
    )
}
