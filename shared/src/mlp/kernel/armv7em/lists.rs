//! The lists that came with samples as row sums on a Cortex-M4 take them.
#![allow(unsafe_code)]

use core::mem::offset_of;

use super::super::{Entry, LIST_LIMIT, common};
use super::assembler::naked_asm;
use super::fields::ErrorRow;
use super::locate;
use super::paired::paired;

/// Lists the pixels of a sample whose list came with it, with their rows. Returns how many entries
/// there are; of rows in pairs each has two pixels in the halves of its scale.
pub(crate) fn list_row<const IN: usize, const W: usize>(
    row: &[[u8; 4]],
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
) -> usize {
    if !paired::<IN, W>() {
        return common::list_row(row, rows, entries);
    }
    let row = &row[..row.len().min(entries.len())];
    let words = row.as_ptr_range();
    if row.is_empty() || !words.start.addr().is_multiple_of(4) {
        let mut pixel = 0;
        for (entry, &[gap, first, _, second]) in entries.iter_mut().zip(row) {
            pixel += 2 * usize::from(gap);
            *entry = Entry {
                scale: u32::from(first) | u32::from(second) << 16,
                at: locate(rows, pixel),
            };
        }
        return row.len();
    }
    // The words name none but the rows: lists are checked, and taken for samples of IN pixels alone.
    // SAFETY: there is a word, all are aligned, and the list has an entry for each.
    unsafe {
        walk_row::<W>(
            words.start.cast(),
            words.end.cast(),
            entries.as_mut_ptr(),
            locate(rows, 0),
        );
    }
    row.len()
}

/// Lists the pairs of a sample's list, four in 30 cycles after those that make no four.
///
/// # Safety
/// `word` must be below `end`, both aligned, and `entry` have room for an entry a word.
#[unsafe(naked)]
unsafe extern "C" fn walk_row<const W: usize>(
    word: *const u32,
    end: *const u32,
    entry: *mut Entry,
    row: u32,
) {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "mov r12, r1",
        "mov r1, r2",
        "mov r10, r3",
        "mov r11, #{stride}",
        "sub r9, r12, r0",
        "ands r9, r9, #12",
        "beq 3f",
        "2:",
        "ldr r2, [r0], #4",
        "subs r9, #4",
        "uxtb r3, r2",
        "mla r10, r3, r11, r10",
        "uxtb16 r2, r2, ror #8",
        "str r10, [r1, #4]",
        "str r2, [r1], #8",
        "bne 2b",
        "cmp r0, r12",
        "beq 4f",
        ".p2align 2",
        "3:",
        "ldr r2, [r0]",
        "ldr r4, [r0, #4]",
        "ldr r6, [r0, #8]",
        "ldr.w r8, [r0, #12]",
        "adds r0, #16",
        "uxtb r3, r2",
        "mla r3, r3, r11, r10",
        "uxtb16 r2, r2, ror #8",
        "uxtb.w r5, r4",
        "mla r5, r5, r11, r3",
        "uxtb16 r4, r4, ror #8",
        "uxtb.w r7, r6",
        "mla r7, r7, r11, r5",
        "uxtb16 r6, r6, ror #8",
        "uxtb.w r9, r8",
        "mla r10, r9, r11, r7",
        "uxtb16 r8, r8, ror #8",
        "stm.w r1!, {{r2, r3, r4, r5, r6, r7, r8, r10}}",
        "cmp r0, r12",
        "bne 3b",
        "4:",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        stride = const 2 * size_of::<[i16; W]>(),
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
    let start = entries.as_mut_ptr();
    // SAFETY: there is an entry, all name one of the rows, and the list has room for as many; this
    // core reads halves of words at any address.
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

/// Lists the live rows of a column, two entries in 26 cycles after one if their number is odd: the
/// power of a dead row, 255, shifts any pixel to zero.
///
/// # Safety
/// `at` must be below `end`, with places in the rows, and `entry` have room for each.
#[unsafe(naked)]
unsafe extern "C" fn walk_column<const HID: usize>(
    at: *const u16,
    end: *const u16,
    entry: *mut Entry,
    rows: *const ErrorRow<HID>,
) -> *mut Entry {
    naked_asm!(
        "push {{r4, r5, r6, r7, r8, r9, r10, lr}}",
        "mov r12, r1",
        "mov r1, r2",
        "mov r10, #{row}",
        "sub r2, r12, r0",
        "lsls r2, r2, #30",
        "beq 2f",
        "ldrh r4, [r0], #2",
        "uxtb r6, r4",
        "mla r6, r6, r10, r3",
        "lsrs r4, r4, #8",
        "ldrb.w r8, [r6, #{shift}]",
        "lsl r4, r4, r8",
        "cbz r4, 3f",
        "stm r1!, {{r4, r6}}",
        "3:",
        "cmp r0, r12",
        "beq 4f",
        ".p2align 2",
        "2:",
        "ldrh r4, [r0]",
        "ldrh r5, [r0, #2]",
        "adds r0, #4",
        "uxtb r6, r4",
        "uxtb.w r7, r5",
        "mla r6, r6, r10, r3",
        "mla r7, r7, r10, r3",
        "lsrs r4, r4, #8",
        "lsrs r5, r5, #8",
        "ldrb.w r8, [r6, #{shift}]",
        "ldrb.w r9, [r7, #{shift}]",
        "lsl r4, r4, r8",
        "lsl r5, r5, r9",
        "cbz r4, 5f",
        "stm r1!, {{r4, r6}}",
        "5:",
        "cbz r5, 6f",
        "stm r1!, {{r5, r7}}",
        "6:",
        "cmp r0, r12",
        "bne 2b",
        "4:",
        "mov r0, r1",
        "pop {{r4, r5, r6, r7, r8, r9, r10, pc}}",
        row = const size_of::<ErrorRow<HID>>(),
        shift = const offset_of!(ErrorRow<HID>, shift),
    )
}
