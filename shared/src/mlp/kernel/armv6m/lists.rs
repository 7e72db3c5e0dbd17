//! The lists that came with samples as row sums on a Cortex-M0+ take them.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::mem::offset_of;

use super::super::{Entry, LIST_LIMIT, common};
use super::{ErrorRow, locate};

/// Lists the pixels of a sample whose list came with it, with their rows. Returns how many.
pub(crate) fn list_row<const IN: usize, const W: usize>(
    row: &[[u8; 4]],
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
) -> usize {
    let words = row.as_ptr_range();
    if row.is_empty() || row.len() > entries.len() / 2 || !words.start.addr().is_multiple_of(4) {
        return common::list_row(row, rows, entries);
    }
    let first = entries.as_mut_ptr();
    // The words name none but the rows: lists are checked, and taken for samples of IN pixels alone.
    // SAFETY: there is a word, all are aligned, and the list has two entries for each.
    let end =
        unsafe { walk_row::<W>(words.start.cast(), words.end.cast(), first, locate(rows, 0)) };
    (end.addr() - first.addr()) / size_of::<Entry>()
}

/// Lists the pixels of words of a sample's list, a pair in 17 cycles, as rows of W weights from
/// `row` on. Four words make a turn; the first turn begins where it leaves a multiple of four.
///
/// # Safety
/// `word` must be below `end`, both aligned, and `entry` have room for two entries a word.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_row<const W: usize>(
    word: *const u32,
    end: *const u32,
    entry: *mut Entry,
    row: u32,
) -> *mut Entry {
    naked_asm!(
        "push {{r4, r5, r6, r7, lr}}",
        "mov r12, r1",
        "movs r6, r3",
        "subs r4, r0, r1",
        "movs r5, #12",
        "ands r4, r5",
        // 24 bytes a word.
        "lsls r5, r4, #1",
        "lsls r4, r4, #2",
        "adds r4, r4, r5",
        "movs r1, r2",
        "movs r3, #{stride}",
        "lsls r2, r3, #1",
        "add pc, r4",
        "nop",
        "2:",
        ".rept 4",
        "ldm r0!, {{r4}}",
        "uxtb r5, r4",
        "muls r5, r2, r5",
        "adds r6, r6, r5",
        "lsls r5, r4, #16",
        "lsrs r5, r5, #24",
        "beq 6f",
        "stm r1!, {{r5, r6}}",
        "6:",
        "lsrs r5, r4, #24",
        "beq 6f",
        "adds r7, r6, r3",
        "stm r1!, {{r5, r7}}",
        "6:",
        ".endr",
        "cmp r0, r12",
        "bne 2b",
        "movs r0, r1",
        "pop {{r4, r5, r6, r7, pc}}",
        stride = const size_of::<[i16; W]>(),
    )
}

/// Lists rows of errors that a column names, which is about those from `first` on, behind `length`
/// entries. Returns how many entries there are then.
pub(crate) fn list_column<const HID: usize>(
    column: &[[u8; 2]],
    rows: &[ErrorRow<HID>],
    first: usize,
    entries: &mut [Entry; LIST_LIMIT],
    length: usize,
) -> usize {
    let Some(&[last, _]) = column.last() else {
        return length;
    };
    let range = column.as_ptr_range();
    // Places ascend, so that the last is the largest.
    let rows = &rows[first..];
    let room = length + column.len() <= entries.len() && usize::from(last) < rows.len();
    assert!(room, "a column of other samples");
    if !range.start.addr().is_multiple_of(2) {
        return common::list_column(column, rows, 0, entries, length);
    }
    let start = entries.as_mut_ptr();
    // SAFETY: there is an entry, all are aligned and name one of the rows, and the list has room for
    // as many.
    let end = unsafe {
        walk_column::<HID>(
            range.start.cast(),
            range.end.cast(),
            start.wrapping_add(length),
            rows.as_ptr(),
        )
    };
    (end.addr() - start.addr()) / size_of::<Entry>()
}

/// Lists the live rows of a column, 13 cycles an entry: the power of a dead row, 255, shifts any pixel
/// to zero. Eight entries make a turn; the first turn begins where it leaves a multiple of eight.
///
/// # Safety
/// `at` must be below `end`, both aligned, with places in the rows, and `entry` have room for each.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_column<const HID: usize>(
    at: *const u16,
    end: *const u16,
    entry: *mut Entry,
    rows: *const ErrorRow<HID>,
) -> *mut Entry {
    naked_asm!(
        "push {{r4, r5, r6, r7, lr}}",
        "mov r12, r1",
        "movs r1, r2",
        "mov r4, r12",
        "subs r4, r0, r4",
        "movs r5, #14",
        "ands r4, r5",
        "subs r0, r0, r4",
        // 18 bytes an entry.
        "lsls r5, r4, #3",
        "adds r4, r4, r5",
        "movs r2, #{row}",
        "movs r5, #{shift}",
        "add pc, r4",
        "nop",
        "2:",
        ".irp place, 0, 2, 4, 6, 8, 10, 12, 14",
        "ldrh r4, [r0, #\\place]",
        "uxtb r6, r4",
        "muls r6, r2, r6",
        "adds r6, r6, r3",
        "ldrb r7, [r6, r5]",
        "lsrs r4, r4, #8",
        "lsls r4, r7",
        "beq 6f",
        "stm r1!, {{r4, r6}}",
        "6:",
        ".endr",
        "adds r0, #16",
        "cmp r0, r12",
        "bne 2b",
        "movs r0, r1",
        "pop {{r4, r5, r6, r7, pc}}",
        row = const size_of::<ErrorRow<HID>>(),
        shift = const offset_of!(ErrorRow<HID>, shift),
    )
}
