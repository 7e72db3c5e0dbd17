//! What surrounds the row sums, written once for every way to store rows: finding the pixels that
//! are not zero, the activations, the output layer's part of the backward pass, and the step.

use super::super::descent::{RowFactor, step_down, step_up};
use super::super::forward::activation;
use super::super::list::List;
use super::super::params::Tensor;
use super::chosen::{
    ErrorRow, backward_unit, differences, load, locate, locate_error, pixel_word, place, store,
    sum_rows,
};
use super::{Entry, LIST_LIMIT, Shift, TILE};
use crate::rng::Rng;

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

/// Lists the pixels of a sample whose list came with it, with their rows. Returns how many.
#[inline]
pub(crate) fn list_row<const IN: usize, const W: usize>(
    row: &[[u8; 4]],
    rows: &[[i16; W]; IN],
    entries: &mut [Entry; 256],
) -> usize {
    let (mut length, mut pixel) = (0, 0);
    for &[gap, first, _, second] in row {
        pixel += 2 * usize::from(gap);
        for (lane, x) in [first, second].into_iter().enumerate() {
            if x != 0 {
                let at = locate(rows, pixel + lane);
                entries[length] = Entry {
                    scale: x.into(),
                    at,
                };
                length += 1;
            }
        }
    }
    length
}

/// Lists rows of errors that a column names, which is about those from `first` on, behind `length`
/// entries. Returns how many entries there are then.
#[inline]
pub(crate) fn list_column<const HID: usize>(
    column: &[[u8; 2]],
    rows: &[ErrorRow<HID>],
    first: usize,
    entries: &mut [Entry; LIST_LIMIT],
    mut length: usize,
) -> usize {
    for &[at, x] in column {
        let index = first + usize::from(at);
        let row = &rows[index];
        if row.shift.is_live() {
            entries[length] = Entry {
                scale: row.shift.scale(x.into()),
                at: locate_error(row, index),
            };
            length += 1;
        }
    }
    length
}

/// Adds the sum of rows of W1 scaled by pixels to `out`: as [`sum_rows`], where they are stored
/// like those of W2.
#[inline]
pub(crate) fn sum_pixels<const IN: usize, const HID: usize>(
    rows: &[[i16; HID]; IN],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    sum_rows(rows, entries, out);
}

/// Writes `convert` of the weights from a pixel less those of another model, from a hidden unit on: as
/// [`differences`], where rows of W1 are stored like those of W2.
#[inline(always)]
pub(crate) fn pixel_differences<const IN: usize, const HID: usize>(
    rows: &[[i16; HID]; IN],
    base: &[[i16; HID]; IN],
    (pixel, first): (usize, usize),
    out: &mut [i32],
    convert: impl Fn(i32) -> i32,
) {
    differences(&rows[pixel], &base[pixel], first, out, convert);
}

/// Lists a row of errors under each of the pixels `first..first + 4` that is not zero.
#[inline(always)]
pub(crate) fn list_errors<const IN: usize, const HID: usize, const ROOM: usize>(
    pixels: &[u8; IN],
    first: usize,
    row: &ErrorRow<HID>,
    index: usize,
    lists: &mut [List<'_, ROOM>; 4],
) {
    if row.shift.is_live() {
        let word = pixel_word(pixels, first);
        if word != 0 {
            for (lane, list) in lists.iter_mut().enumerate() {
                let x = word >> (8 * lane) & 0xFF;
                if x != 0 {
                    list.push(row.shift.scale(x), locate_error(row, index));
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
    lists: &mut [List<'_, ROOM>; 4],
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

/// Sums over the hidden units of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// How many units are live: their activation is not zero.
    pub live: usize,
    /// The sum of the activations.
    pub total: u32,
    pub largest: u32,
}

/// Turns hidden sums into activations and lists the live units with their rows of W2, as many as
/// the list has room for.
#[inline]
pub(crate) fn activate<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    w2: &[[i16; OUT]; HID],
    entries: &mut [Entry; 256],
) -> Activity {
    let mut activity = Activity::default();
    for (unit, value) in units.iter_mut().enumerate() {
        let hidden = activation(*value);
        *value = hidden as i32;
        if hidden != 0 {
            if let Some(entry) = entries.get_mut(activity.live) {
                let at = locate(w2, unit);
                *entry = Entry { scale: hidden, at };
            }
            activity.live += 1;
            activity.total += hidden;
            activity.largest = activity.largest.max(hidden);
        }
    }
    activity
}

/// Adds h d2 to the row of dW2 of every live unit, turns `units` from activations into errors
/// W2 d2 in units of 2^-24, zero for dead units, and returns the largest magnitude.
#[inline]
pub(crate) fn backward<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    output: &[i32; OUT],
    w2: &[[i16; OUT]; HID],
    dw2: &mut [[i32; OUT]; HID],
) -> u32 {
    let mut largest = 0;
    for ((unit, w2), dw2) in units.iter_mut().zip(w2).zip(dw2) {
        if *unit != 0 {
            *unit = backward_unit(*unit, output, w2, dw2);
            largest = largest.max(unit.unsigned_abs());
        }
    }
    largest
}

/// Adds h d2 to a unit's row of dW2 and returns the unit's error W2 d2 in units of 2^-24: at
/// most 2^15 * 2^13, because the magnitudes of d2 add up to no more than 2.
#[inline(always)]
pub(crate) fn sum_unit<const OUT: usize>(
    hidden: i32,
    output: &[i32; OUT],
    w2: &[i16; OUT],
    dw2: &mut [i32; OUT],
) -> i32 {
    let mut error = 0;
    for (class, (sum, &d2)) in dw2.iter_mut().zip(output).enumerate() {
        *sum += hidden * d2;
        error += i32::from(load(w2, class)) * d2;
    }
    error
}

/// Rounds the errors of a sample to mantissas with one power of two, keeps them in its row and
/// adds them to db1.
#[inline]
pub(crate) fn round_errors<const HID: usize>(
    units: &[i32; HID],
    shift: u32,
    row: &mut ErrorRow<HID>,
    db1: &mut [i32; HID],
) {
    row.clear();
    for (unit, &error) in units.iter().enumerate() {
        if error != 0 {
            round_error(error, shift, unit, row, db1);
        }
    }
    row.shift = Shift::new(shift);
}

/// Rounds one error: from units of 2^-24 to a mantissa in units of 2^-12 times 2^`shift`.
#[inline(always)]
pub(crate) fn round_error<const HID: usize>(
    error: i32,
    shift: u32,
    unit: usize,
    row: &mut ErrorRow<HID>,
    db1: &mut [i32; HID],
) {
    let mantissa = ((error + (1 << (11 + shift))) >> (12 + shift)).clamp(-127, 127);
    db1[unit] += mantissa << shift;
    row.set(unit, mantissa);
}

/// Steps the weights from one pixel to so many hidden units.
#[inline]
pub(crate) fn step_row<const IN: usize, const HID: usize>(
    w1: &mut [[i16; HID]; IN],
    row: (usize, usize),
    gradient: &[i32; HID],
    factor: RowFactor,
    rng: &mut Rng,
) {
    match factor {
        RowFactor::Down { mantissa, shift } => {
            step_by(w1, row, gradient, rng, |gradient, random| {
                step_down(mantissa, shift, gradient, random)
            });
        }
        RowFactor::Up { mantissa, shift } => {
            step_by(w1, row, gradient, rng, |gradient, random| {
                step_up(mantissa, shift, gradient, random)
            });
        }
    }
}

/// Steps the weights from one pixel to so many hidden units by what `step` makes of gradients and random bits.
#[inline(always)]
fn step_by<const IN: usize, const HID: usize>(
    w1: &mut [[i16; HID]; IN],
    (pixel, hidden): (usize, usize),
    gradient: &[i32; HID],
    rng: &mut Rng,
    step: impl Fn(i32, u16) -> i32,
) {
    const LIMIT: i32 = Tensor::W1.limit();
    let mut bits = rng.clone();
    let mut step = |unit: usize, random: u32| {
        let (row, column) = place::<IN, HID>(pixel, unit);
        let row = &mut w1[row];
        let new = i32::from(load(row, column)) - step(gradient[unit], random as u16);
        store(row, column, new.clamp(-LIMIT, LIMIT) as i16);
    };
    for pair in 0..hidden / 2 {
        let random = bits.next_u32();
        step(2 * pair, random);
        step(2 * pair + 1, random >> 16);
    }
    if !hidden.is_multiple_of(2) {
        step(hidden - 1, bits.next_u32());
    }
    *rng = bits;
}

/// Writes numbers in units of 2^-16 as codes from -127 to 127, each rounded by the lower half of a random
/// word.
#[inline]
pub(crate) fn round_codes(numbers: &[i32], codes: &mut [u8], rng: &mut Rng) {
    let mut bits = rng.clone();
    for (number, code) in numbers.iter().zip(codes) {
        let rounded = (number + i32::from(bits.next_u32() as u16)) >> 16;
        *code = rounded.clamp(-127, 127) as u8;
    }
    *rng = bits;
}

/// Adds to the sums of every column its numbers times the factors of their rows.
#[inline]
pub(crate) fn add_products<const R: usize>(
    columns: &[[i32; TILE]],
    factors: &[[i32; R]; TILE],
    sums: &mut [[i32; R]],
) {
    for (sums, column) in sums.iter_mut().zip(columns) {
        let mut all = *sums;
        for (&number, factors) in column.iter().zip(factors) {
            for (sum, &factor) in all.iter_mut().zip(factors) {
                *sum += number * factor;
            }
        }
        *sums = all;
    }
}

/// Adds sums to `out`, which saturates.
#[inline(always)]
pub(crate) fn add(out: &mut [i32], sums: &[i32]) {
    for (out, &sum) in out.iter_mut().zip(sums) {
        *out = out.saturating_add(sum);
    }
}
