//! What surrounds the row sums, written once for every way to store rows: finding the pixels that
//! are not zero, and the output layer's part of the backward pass.

use super::super::list::List;
use super::Entry;
use super::chosen::{ErrorRow, load, locate, locate_error, pixel_word};

/// Lists the pixels from `first` on that are not zero, with their rows, until the list could be
/// too full for another word of four. Returns the length of the list and the next pixel.
#[inline]
pub(crate) fn list_pixels<const IN: usize, const W: usize>(
    pixels: &[u8; IN],
    first: usize,
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
    mut length: usize,
) -> (usize, usize) {
    for pixel in (first..IN).step_by(4) {
        if length > entries.len() - 4 {
            return (length, pixel);
        }
        let word = pixel_word(pixels, pixel);
        if word != 0 {
            for lane in 0..4 {
                let scale = word >> (8 * lane) & 0xFF;
                if scale != 0 {
                    let at = locate(rows, pixel + lane);
                    entries[length] = Entry { scale, at };
                    length += 1;
                }
            }
        }
    }
    (length, IN)
}

/// Lists a row of errors under each of the pixels `first..first + 4` that is not zero.
#[inline(always)]
pub(crate) fn list_errors<const IN: usize, const HID: usize, const ROOM: usize>(
    pixels: &[u8; IN],
    first: usize,
    row: &ErrorRow<HID>,
    index: usize,
    lists: &mut [List<ROOM>; 4],
) {
    if row.is_live() {
        let word = pixel_word(pixels, first);
        if word != 0 {
            for (lane, list) in lists.iter_mut().enumerate() {
                let x = word >> (8 * lane) & 0xFF;
                if x != 0 {
                    list.push(row.scale(x), locate_error(row, index));
                }
            }
        }
    }
}

/// Lists rows of errors, from the `start`th on, under each of the pixels `first..first + 4` that is
/// not zero in their image: a stretch of rows, for which every list must have room, and more as
/// long as there is room for a whole stretch. Returns the row to go on with.
#[inline]
pub(crate) fn list_block<
    const IN: usize,
    const HID: usize,
    const ROOM: usize,
    const STRETCH: usize,
>(
    images: &[[u8; IN]],
    first: usize,
    rows: &[ErrorRow<HID>],
    mut start: usize,
    lists: &mut [List<ROOM>; 4],
) -> usize {
    while start < rows.len() && !lists.iter().any(|list| list.lacks_room(STRETCH)) {
        let end = rows.len().min(start + STRETCH);
        for (index, image) in images.iter().enumerate().take(end).skip(start) {
            list_errors(image, first, &rows[index], index, lists);
        }
        start = end;
    }
    start
}

/// Adds h d2 to a unit's row of dW2 and returns the unit's error W2 d2 in units of 2^-24: at
/// most 2^15 * 2^13, because the magnitudes of d2 add up to no more than 2.
#[inline(always)]
pub(crate) fn backward_unit<const OUT: usize>(
    hidden: u32,
    output: &[i32; OUT],
    w2: &[i16; OUT],
    dw2: &mut [i32; OUT],
) -> i32 {
    let mut error = 0;
    for (class, (sum, &d2)) in dw2.iter_mut().zip(output).enumerate() {
        *sum += hidden as i32 * d2;
        error += i32::from(load(w2, class)) * d2;
    }
    error
}

/// Adds sums to `out`, which saturates.
#[inline(always)]
#[allow(dead_code, reason = "for kernels that sum a few columns at a time")]
pub(crate) fn add(out: &mut [i32], sums: &[i32]) {
    for (out, &sum) in out.iter_mut().zip(sums) {
        *out = out.saturating_add(sum);
    }
}
