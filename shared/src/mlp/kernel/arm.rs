//! What the assembly kernels share: lists refer to rows by address, and two walks find the pixels
//! that are not zero, in instructions every Cortex-M has.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::forward::SUM_MAX;
use super::super::list::List;
use super::Entry;
use super::chosen::ErrorRow;
use super::common::{self, Activity};

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
/// `entry` is past `full`. A word of zeros takes 6 cycles, any other about 33. Four words make a
/// turn; the first turn begins where it leaves a multiple of four.
///
/// # Safety
/// `word` must be below `end`, both aligned and of one array, and `entry` must have room for the
/// entries up to four past `full`.
#[unsafe(naked)]
unsafe extern "C" fn walk_pixels(cursor: &mut Cursor) {
    // 8 bytes: leaves for `$found` if the word is not zero, comes back to `$next`.
    macro_rules! look {
        ($found:literal, $next:literal) => {
            concat!(
                "ldm r1!, {{r7}}\n",
                "cmp r7, #0\n",
                "bne ",
                $found,
                "f\n",
                "add r5, r12\n",
                $next,
                ":\n",
            )
        };
    }
    macro_rules! found {
        ($found:literal, $next:literal) => {
            concat!(
                $found,
                ":\n",
                "lsls r0, r7, #24\n",
                "lsrs r0, r0, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r5}}\n",
                "6:\n",
                "adds r5, r5, r6\n",
                "lsls r0, r7, #16\n",
                "lsrs r0, r0, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r5}}\n",
                "6:\n",
                "adds r5, r5, r6\n",
                "lsls r0, r7, #8\n",
                "lsrs r0, r0, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r5}}\n",
                "6:\n",
                "adds r5, r5, r6\n",
                "lsrs r0, r7, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r5}}\n",
                "6:\n",
                "adds r5, r5, r6\n",
                "cmp r3, r4\n",
                "bls ",
                $next,
                "b\n",
                "b 5b\n",
            )
        };
    }
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, lr}}",
        "ldm r0!, {{r1, r2, r3, r4, r5, r6}}",
        "lsls r0, r6, #2",
        "mov r12, r0",
        "cmp r3, r4",
        "bhi 5f",
        "subs r0, r1, r2",
        "movs r7, #12",
        "ands r0, r7",
        "lsls r0, r0, #1",
        "add pc, r0",
        "nop",
        "2:",
        look!("40", "30"),
        look!("41", "31"),
        look!("42", "32"),
        look!("43", "33"),
        "cmp r1, r2",
        "bne 2b",
        "5:",
        "ldr r0, [sp]",
        "stm r0!, {{r1, r2, r3}}",
        "pop {{r0, r4, r5, r6, r7, pc}}",
        found!("40", "30"),
        found!("41", "31"),
        found!("42", "32"),
        found!("43", "33"),
    )
}

/// Turns hidden sums into activations and lists the live units with their rows of W2, as many as
/// the list has room for.
pub(crate) fn activate<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    w2: &[[i16; OUT]; HID],
    entries: &mut [Entry; 256],
) -> Activity {
    if HID == 0 || HID > entries.len() {
        return common::activate(units, w2, entries);
    }
    let first = entries.as_mut_ptr();
    let mut layer = Layer {
        entry: first,
        limit: SUM_MAX,
        row: locate(w2, 0),
        stride: size_of::<[i16; OUT]>() as u32,
        largest: 0,
        total: 0,
    };
    // SAFETY: there is a unit, and an entry for each of them.
    unsafe { walk_sums(units.as_mut_ptr(), units.as_ptr_range().end, &mut layer) };
    Activity {
        live: (layer.entry.addr() - first.addr()) / size_of::<Entry>(),
        total: layer.total,
        largest: layer.largest,
    }
}

/// How far a walk over hidden sums has come.
#[repr(C)]
struct Layer {
    entry: *mut Entry,
    limit: i32,
    row: u32,
    stride: u32,
    largest: u32,
    total: u32,
}

/// Activates units: a dead one takes 12 cycles, a live one 25.
///
/// # Safety
/// `unit` must be below `end`, and `entry` have room for as many entries as there are units.
#[unsafe(naked)]
unsafe extern "C" fn walk_sums(unit: *mut i32, end: *const i32, layer: &mut Layer) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "push {{r4}}",
        "mov lr, r1",
        "movs r4, #1",
        "lsls r4, r4, #15",
        "mov r8, r4",
        "movs r3, r2",
        "ldm r3!, {{r1, r4, r6, r7}}",
        "mov r12, r7",
        "movs r3, #0",
        "movs r7, #0",
        "2:",
        "ldr r5, [r0]",
        "cmp r5, #0",
        "ble 5f",
        "cmp r5, r4",
        "bgt 6f",
        "3:",
        "lsrs r5, r5, #4",
        "lsls r2, r5, #8",
        "adds r5, r5, r2",
        "add r5, r8",
        "lsrs r5, r5, #16",
        "beq 5f",
        "stm r1!, {{r5, r6}}",
        "adds r7, r7, r5",
        "cmp r5, r3",
        "bls 4f",
        "movs r3, r5",
        "4:",
        "stm r0!, {{r5}}",
        "add r6, r12",
        "cmp r0, lr",
        "bne 2b",
        "b 7f",
        "5:",
        "movs r5, #0",
        "stm r0!, {{r5}}",
        "add r6, r12",
        "cmp r0, lr",
        "bne 2b",
        "b 7f",
        "6:",
        "movs r5, r4",
        "b 3b",
        "7:",
        "ldr r0, [sp, #4]",
        "str r1, [r0]",
        "str r3, [r0, #16]",
        "str r7, [r0, #20]",
        "pop {{r4}}",
        "mov r8, r4",
        "pop {{r2, r4, r5, r6, r7, pc}}",
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
        skipped: 0,
    };
    let mut next = start;
    while next < count && (0..4).all(|lane| stretch.lists[lane].cast_const() <= full[lane]) {
        let samples = (count - next).min(STRETCH);
        next += samples;
        stretch.end = rows.as_ptr().wrapping_add(next).cast();
        stretch.skipped = samples.wrapping_neg() as u32 & 3;
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
    /// How many of the first four samples of a turn the first turn leaves out.
    skipped: u32,
}

/// Lists the live rows of samples under each of four pixels that is not zero. A word of zeros
/// takes 7 cycles, any other about 43.
///
/// # Safety
/// `row` must be below `end` and every row have a word of pixels; all words are aligned, and
/// every list has room for as many entries as there are rows.
#[cfg(not(target_has_atomic = "32"))]
#[unsafe(naked)]
unsafe extern "C" fn walk_samples(stretch: &mut Stretch) {
    // 10 bytes: leaves for `$found` if the word is not zero, comes back to `$next`.
    macro_rules! look {
        ($found:literal, $next:literal) => {
            concat!(
                "ldr r6, [r7]\n",
                "add r7, r9\n",
                "cmp r6, #0\n",
                "bne ",
                $found,
                "f\n",
                $next,
                ":\n",
                "add r1, r10\n",
            )
        };
    }
    macro_rules! found {
        ($found:literal, $next:literal) => {
            concat!(
                $found,
                ":\n",
                "mov r8, r7\n",
                "mov r7, r12\n",
                "ldrb r7, [r1, r7]\n",
                "cmp r7, #255\n",
                "beq 6f\n",
                "lsls r0, r6, #24\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r2!, {{r0, r1}}\n",
                "5:\n",
                "lsls r0, r6, #16\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r3!, {{r0, r1}}\n",
                "5:\n",
                "lsls r0, r6, #8\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r4!, {{r0, r1}}\n",
                "5:\n",
                "lsrs r0, r6, #24\n",
                "beq 6f\n",
                "lsls r0, r7\n",
                "stm r5!, {{r0, r1}}\n",
                "6:\n",
                "mov r7, r8\n",
                "b ",
                $next,
                "b\n",
            )
        };
    }
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        "movs r1, r0",
        "adds r1, #24",
        "ldm r1!, {{r3, r4, r5, r6, r7}}",
        "mov r9, r3",
        "mov r10, r4",
        "mov r11, r5",
        "mov r12, r6",
        "movs r6, #10",
        "muls r6, r7, r6",
        "mov r8, r6",
        "movs r7, r0",
        "ldm r7!, {{r1, r2, r3, r4, r5}}",
        "ldr r7, [r7]",
        "add pc, r8",
        "nop",
        "2:",
        look!("40", "30"),
        look!("41", "31"),
        look!("42", "32"),
        look!("43", "33"),
        "cmp r1, r11",
        "bne 2b",
        "ldr r0, [sp, #16]",
        "stm r0!, {{r1, r2, r3, r4, r5}}",
        "str r7, [r0]",
        "pop {{r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r0, r4, r5, r6, r7, pc}}",
        found!("40", "30"),
        found!("41", "31"),
        found!("42", "32"),
        found!("43", "33"),
    )
}

/// The same for a core with more instructions: a word of zeros takes 6, any other about 22.
///
/// # Safety
/// As above.
#[cfg(target_has_atomic = "32")]
#[unsafe(naked)]
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
