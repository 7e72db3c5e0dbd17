//! What the assembly kernels share: lists refer to rows by address, and two walks find the pixels
//! that are not zero, in instructions every Cortex-M has.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::list::List;
use super::chosen::ErrorRow;
use super::{Entry, common};

/// Returns how a list refers to row `index`: by its address.
#[inline(always)]
pub(crate) fn locate<R>(rows: &[R], index: usize) -> u32 {
    (&raw const rows[index]).expose_provenance() as u32
}

/// Returns how a list refers to a row of errors: by its address.
#[inline(always)]
pub(crate) fn locate_error<const HID: usize>(row: &ErrorRow<HID>, _index: usize) -> u32 {
    (&raw const *row).expose_provenance() as u32
}

/// Lists the pixels from `first` on that are not zero, with their rows, until the list could be
/// too full for another word of four. Returns the length of the list and the next pixel.
pub(crate) fn list_pixels<const IN: usize, const W: usize>(
    pixels: &[u8; IN],
    first: usize,
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
    length: usize,
) -> (usize, usize) {
    let words = pixels.as_ptr_range();
    if !IN.is_multiple_of(4) || !words.start.addr().is_multiple_of(4) || first >= IN {
        return common::list_pixels(pixels, first, rows, entries, length);
    }
    let start = entries.as_mut_ptr();
    let mut cursor = Cursor {
        word: words.start.wrapping_add(first).cast(),
        end: words.end.cast(),
        entry: start.wrapping_add(length),
        full: start.wrapping_add(entries.len() - 4),
        row: locate(rows, first),
        stride: size_of::<[i16; W]>() as u32,
    };
    // SAFETY: `word` to `end` are the rest of the pixels, aligned to words and not empty; at most
    // four entries are written from `full` on, which the list has.
    unsafe { walk_pixels(&mut cursor) };
    let length = (cursor.entry.addr() - start.addr()) / size_of::<Entry>();
    (length, cursor.word.addr() - words.start.addr())
}

/// How far a walk over pixels has come.
#[repr(C)]
struct Cursor {
    word: *const u32,
    end: *const u32,
    entry: *mut Entry,
    full: *mut Entry,
    row: u32,
    stride: u32,
}

/// Lists the pixels that are not zero, a word of four at a time, until `word` is `end` or
/// `entry` is past `full`. A word of zeros takes 8 cycles, any other about 33.
///
/// # Safety
/// `word` must be below `end`, both aligned and of one array, and `entry` must have room for the
/// entries up to four past `full`.
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_pixels(cursor: &mut Cursor) {
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, lr}}",
        "ldm r0!, {{r1, r2, r3, r4, r5, r6}}",
        "lsls r0, r6, #2",
        "mov r12, r0",
        "2:",
        "cmp r3, r4",
        "bhi 5f",
        "3:",
        "ldm r1!, {{r7}}",
        "cmp r7, #0",
        "bne 4f",
        "add r5, r12",
        "cmp r1, r2",
        "bne 3b",
        "b 5f",
        "4:",
        "lsls r0, r7, #24",
        "lsrs r0, r0, #24",
        "beq 6f",
        "stm r3!, {{r0, r5}}",
        "6:",
        "adds r5, r5, r6",
        "lsls r0, r7, #16",
        "lsrs r0, r0, #24",
        "beq 6f",
        "stm r3!, {{r0, r5}}",
        "6:",
        "adds r5, r5, r6",
        "lsls r0, r7, #8",
        "lsrs r0, r0, #24",
        "beq 6f",
        "stm r3!, {{r0, r5}}",
        "6:",
        "adds r5, r5, r6",
        "lsrs r0, r7, #24",
        "beq 6f",
        "stm r3!, {{r0, r5}}",
        "6:",
        "adds r5, r5, r6",
        "cmp r1, r2",
        "bne 2b",
        "5:",
        "ldr r0, [sp]",
        "stm r0!, {{r1, r2, r3}}",
        "pop {{r0, r4, r5, r6, r7, pc}}",
    )
}

/// Lists rows of errors, from the `start`th on, under each of the pixels `first..first + 4` that is
/// not zero in their image: a stretch of rows, for which every list must have room, and more as
/// long as there is room for a whole stretch. Returns the row to go on with.
pub(crate) fn list_block<
    const IN: usize,
    const HID: usize,
    const ROOM: usize,
    const STRETCH: usize,
>(
    images: &[[u8; IN]],
    first: usize,
    rows: &[ErrorRow<HID>],
    start: usize,
    lists: &mut [List<ROOM>; 4],
) -> usize {
    let count = images.len().min(rows.len());
    let aligned = IN.is_multiple_of(4) && images.as_ptr().addr().is_multiple_of(4);
    if !aligned || first + 4 > IN {
        return common::list_block::<_, _, _, STRETCH>(images, first, rows, start, lists);
    }
    let begun = lists.each_mut().map(List::next);
    // Past these a list lacks room for a stretch.
    let full = lists.each_ref().map(|list| list.last(STRETCH));
    let image = images.as_ptr().wrapping_add(start).cast::<u8>();
    let mut stretch = Stretch {
        row: rows.as_ptr().wrapping_add(start).cast(),
        lists: begun,
        word: image.wrapping_add(first).cast(),
        image_bytes: IN as u32,
        row_bytes: size_of::<ErrorRow<HID>>() as u32,
        end: core::ptr::null(),
        shift_at: ErrorRow::<HID>::SHIFT_AT as u32,
    };
    let mut next = start;
    while next < count && (0..4).all(|lane| stretch.lists[lane].cast_const() <= full[lane]) {
        next = count.min(next + STRETCH);
        stretch.end = rows.as_ptr().wrapping_add(next).cast();
        // SAFETY: the images and rows up to `next` exist, the words are aligned because the
        // images are and their size is a multiple of four, and every list has room for a stretch.
        unsafe { walk_samples(&mut stretch) };
    }
    for (lane, list) in lists.iter_mut().enumerate() {
        let more = (stretch.lists[lane].addr() - begun[lane].addr()) / size_of::<Entry>();
        list.extend(|_, length| length + more);
    }
    next
}

/// A stretch of samples to walk over.
#[repr(C)]
struct Stretch {
    row: *const u8,
    lists: [*mut Entry; 4],
    word: *const u32,
    image_bytes: u32,
    row_bytes: u32,
    end: *const u8,
    shift_at: u32,
}

/// Lists the live rows of samples under each of four pixels that is not zero. A word of zeros
/// takes 10 cycles, any other about 43.
///
/// # Safety
/// `row` must be below `end` and every row have a word of pixels; all words are aligned, and
/// every list has room for as many entries as there are rows.
#[cfg(not(target_has_atomic = "32"))]
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_samples(stretch: &mut Stretch) {
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        "movs r1, r0",
        "adds r1, #20",
        "ldm r1!, {{r2, r3, r4, r5, r6}}",
        "mov r8, r2",
        "mov r9, r3",
        "mov r10, r4",
        "mov r11, r5",
        "mov r12, r6",
        "ldm r0!, {{r1, r2, r3, r4, r5}}",
        "2:",
        "mov r7, r8",
        "ldr r6, [r7]",
        "add r8, r9",
        "cmp r6, #0",
        "bne 4f",
        "3:",
        "add r1, r10",
        "cmp r1, r11",
        "bne 2b",
        "ldr r0, [sp, #16]",
        "stm r0!, {{r1, r2, r3, r4, r5}}",
        "mov r1, r8",
        "str r1, [r0]",
        "pop {{r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r0, r4, r5, r6, r7, pc}}",
        "4:",
        "mov r7, r12",
        "ldrb r7, [r1, r7]",
        "cmp r7, #255",
        "beq 3b",
        "lsls r0, r6, #24",
        "lsrs r0, r0, #24",
        "beq 6f",
        "lsls r0, r7",
        "stm r2!, {{r0, r1}}",
        "6:",
        "lsls r0, r6, #16",
        "lsrs r0, r0, #24",
        "beq 6f",
        "lsls r0, r7",
        "stm r3!, {{r0, r1}}",
        "6:",
        "lsls r0, r6, #8",
        "lsrs r0, r0, #24",
        "beq 6f",
        "lsls r0, r7",
        "stm r4!, {{r0, r1}}",
        "6:",
        "lsrs r0, r6, #24",
        "beq 3b",
        "lsls r0, r7",
        "stm r5!, {{r0, r1}}",
        "b 3b",
    )
}

/// The same for a core with more instructions: a word of zeros takes 6, any other about 22.
///
/// # Safety
/// As above.
#[cfg(target_has_atomic = "32")]
#[unsafe(naked)]
#[cfg_attr(
    feature = "kernels-in-ram",
    unsafe(link_section = ".data.gleaner_kernel")
)]
unsafe extern "C" fn walk_samples(stretch: &mut Stretch) {
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}}",
        "ldm r0, {{r1, r2, r3, r4, r5, r8, r9, r10, r11, r12}}",
        "2:",
        "ldr r6, [r8]",
        "add r8, r9",
        "cbnz r6, 4f",
        "3:",
        "add r1, r10",
        "cmp r1, r11",
        "bne 2b",
        "pop {{r0}}",
        "stm r0, {{r1, r2, r3, r4, r5, r8}}",
        "pop {{r4, r5, r6, r7, r8, r9, r10, r11, pc}}",
        "4:",
        "ldrb r7, [r1, r12]",
        "cmp r7, #255",
        "beq 3b",
        "uxtb r0, r6",
        "cbz r0, 6f",
        "lsls r0, r7",
        "stm r2!, {{r0, r1}}",
        "6:",
        "ubfx r0, r6, #8, #8",
        "cbz r0, 6f",
        "lsls r0, r7",
        "stm r3!, {{r0, r1}}",
        "6:",
        "ubfx r0, r6, #16, #8",
        "cbz r0, 6f",
        "lsls r0, r7",
        "stm r4!, {{r0, r1}}",
        "6:",
        "lsrs r0, r6, #24",
        "beq 3b",
        "lsls r0, r7",
        "stm r5!, {{r0, r1}}",
        "b 3b",
    )
}
