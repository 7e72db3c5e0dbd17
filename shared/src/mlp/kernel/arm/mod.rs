//! What the assembly kernels share: lists refer to rows by address, and two walks find the pixels
//! that are not zero, in instructions every Cortex-M has.
#![allow(unsafe_code)]

use core::arch::naked_asm;

#[cfg(not(target_has_atomic = "32"))]
mod eights;
mod hidden;
mod samples;

#[cfg(not(target_has_atomic = "32"))]
pub(crate) use self::eights::eights;
pub(crate) use self::hidden::activate;
#[cfg(target_has_atomic = "32")]
pub(crate) use self::samples::Stretch;
pub(crate) use self::samples::list_block;
use super::chosen::ErrorRow;
use super::{Entry, common, portable};

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

/// Adds the sum of scaled rows to `out`, which saturates, for rows no walk is made for.
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    let base = rows.as_ptr().addr();
    portable::sum(entries, out, |entry| {
        &rows[(entry.at as usize - base) / size_of::<[i16; W]>()]
    });
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
    if !IN.is_multiple_of(4) || !pixels.as_ptr().addr().is_multiple_of(4) || first >= IN {
        return common::list_pixels(pixels, first, rows, entries, length);
    }
    let full = entries.len() - 4;
    // SAFETY: the pixels are words, from `first` on at least one, and the list has four entries
    // from `full` on.
    unsafe { list_by(walk_pixels, pixels, first, rows, entries, length, full) }
}

/// Lists pixels by a walk that ends after the last of them or with more than `full` entries.
/// Returns the length of the list and the next pixel.
///
/// # Safety
/// The pixels must be aligned to words, IN a multiple of four above `first`; the list must have
/// room for what one more word adds to `full` entries.
#[inline(always)]
pub(crate) unsafe fn list_by<const IN: usize, const W: usize>(
    walk: unsafe extern "C" fn(&mut Cursor),
    pixels: &[u8; IN],
    first: usize,
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
    length: usize,
    full: usize,
) -> (usize, usize) {
    let words = pixels.as_ptr_range();
    let start = entries.as_mut_ptr();
    let mut cursor = Cursor {
        word: words.start.wrapping_add(first).cast(),
        end: words.end.cast(),
        entry: start.wrapping_add(length),
        full: start.wrapping_add(full),
        stride: size_of::<[i16; W]>() as u32,
        row: locate(rows, first),
    };
    // SAFETY: `word` to `end` are the rest of the pixels, aligned to words and not empty, and what
    // the walk adds past `full` fits the list.
    unsafe { walk(&mut cursor) };
    let length = (cursor.entry.addr() - start.addr()) / size_of::<Entry>();
    (length, cursor.word.addr() - words.start.addr())
}

/// How far a walk over pixels has come.
#[repr(C)]
pub(crate) struct Cursor {
    word: *const u32,
    end: *const u32,
    entry: *mut Entry,
    full: *mut Entry,
    /// Bytes from a row to the next.
    stride: u32,
    row: u32,
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
                "add r6, r12\n",
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
                "stm r3!, {{r0, r6}}\n",
                "6:\n",
                "adds r6, r6, r5\n",
                "lsls r0, r7, #16\n",
                "lsrs r0, r0, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r6}}\n",
                "6:\n",
                "adds r6, r6, r5\n",
                "lsls r0, r7, #8\n",
                "lsrs r0, r0, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r6}}\n",
                "6:\n",
                "adds r6, r6, r5\n",
                "lsrs r0, r7, #24\n",
                "beq 6f\n",
                "stm r3!, {{r0, r6}}\n",
                "6:\n",
                "adds r6, r6, r5\n",
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
        "lsls r0, r5, #2",
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
