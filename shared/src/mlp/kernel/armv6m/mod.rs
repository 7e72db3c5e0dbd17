//! Row sums for a Cortex-M0+, which has one 32-bit multiplication and no other.
//!
//! Two 16-bit weights share a word w = 2^16 hi + lo. A walk over the list sums A = sum x w and
//! H = sum x (w >> 16), both modulo 2^32: two multiplications and one shift for two weights, where
//! taking the halves apart would need another shift. If lo is stored as an unsigned number, that
//! is with its sign bit flipped, then sum x lo = A - 2^16 H - 2^15 sum x, exactly modulo 2^32, and
//! the true sum fits 32 bits. Hidden errors have 8-bit mantissas, four to a word, and all but the
//! topmost are stored flipped: with A_k = sum x (w >> 8 k),
//! sum x b_k = A_k - 2^8 A_(k+1) - 2^7 sum x.
//!
//! Eight sums stay in registers while the list is walked, so a row of 50 takes seven walks: 30
//! cycles a walk and entry with weights, 29 with errors, 11 in the last one.
#![allow(unsafe_code)]

mod codes;
mod errors;
mod lists;
mod products;
mod step;
mod units;
mod walks;

pub(crate) use self::codes::round_codes;
pub(crate) use self::errors::{ErrorRow, sum_errors};
pub(crate) use self::lists::{list_column, list_row};
pub(crate) use self::products::add_products;
pub(crate) use self::step::step_row;
pub(crate) use self::units::{backward, round_errors};
use self::walks::{Walk, walk_pair, walk_pairs};
use super::arm::eights;
pub(crate) use super::arm::{activate, list_block, list_pixels, locate, locate_error};
pub(crate) use super::common::{
    list_errors, pixel_differences, sum_pixels, sum_unit as backward_unit,
};
pub(crate) use super::portable::{begin, place};
use super::{Entry, arm, portable};

/// Whether rows of this width suit the assembly: whole words, within reach of an offset.
const fn packed<const W: usize>() -> bool {
    W.is_multiple_of(2) && W <= 128
}

/// The bits of a weight that are flipped in storage.
#[inline(always)]
const fn flip<const W: usize>(column: usize) -> i16 {
    if packed::<W>() && column.is_multiple_of(2) {
        i16::MIN
    } else {
        0
    }
}

/// Reads weight `column` of a row.
#[inline(always)]
pub(crate) fn load<const W: usize>(row: &[i16; W], column: usize) -> i16 {
    row[column] ^ flip::<W>(column)
}

/// Returns weight `column` of a row less that of another. Flipped, both are 2^15 more as unsigned numbers.
#[inline(always)]
pub(crate) fn difference<const W: usize>(row: &[i16; W], base: &[i16; W], column: usize) -> i32 {
    if flip::<W>(column) == 0 {
        portable::difference(row, base, column)
    } else {
        i32::from(row[column] as u16) - i32::from(base[column] as u16)
    }
}

/// Writes `convert` of the weights of a row less those of another, from an even column `first` on: 10 cycles each.
#[inline(always)]
pub(crate) fn differences<const W: usize>(
    row: &[i16; W],
    base: &[i16; W],
    first: usize,
    out: &mut [i32],
    convert: impl Fn(i32) -> i32,
) {
    if !packed::<W>() {
        return portable::differences(row, base, first, out, convert);
    }
    let (row, base) = (&row[first..][..out.len()], &base[first..][..out.len()]);
    // Flipped, the weights of even columns are 2^15 more as unsigned numbers.
    let even = |weight: i16, base: i16| i32::from(weight as u16) - i32::from(base as u16);
    let (row, last) = row.as_chunks::<2>();
    let (base, last_base) = base.as_chunks::<2>();
    let (pairs, last_out) = out.as_chunks_mut::<2>();
    for ((out, row), base) in pairs.iter_mut().zip(row).zip(base) {
        let odd = i32::from(row[1]) - i32::from(base[1]);
        *out = [convert(even(row[0], base[0])), convert(odd)];
    }
    if let ([out], &[weight], &[base]) = (last_out, last, last_base) {
        *out = convert(even(weight, base));
    }
}

/// Writes weight `column` of a row.
#[inline(always)]
pub(crate) fn store<const W: usize>(row: &mut [i16; W], column: usize, value: i16) {
    row[column] = value ^ flip::<W>(column);
}

/// Returns pixels `first..first + 4`, the first in the low byte; pixels past the end are zero.
#[inline(always)]
pub(crate) fn pixel_word<const IN: usize>(pixels: &[u8; IN], first: usize) -> u32 {
    if first + 4 <= IN && (pixels.as_ptr().addr() + first).is_multiple_of(4) {
        // SAFETY: four bytes from `first` on lie within the array, and the address was checked
        // to be that of a word.
        unsafe { pixels.as_ptr().add(first).cast::<u32>().read() }
    } else {
        portable::pixel_word(pixels, first)
    }
}

/// Adds the sum of scaled rows to `out`, which saturates; the sum itself is exact because the
/// scales add up to no more than [`super::SCALE_LIMIT`].
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    if entries.is_empty() {
        return;
    }
    if !packed::<W>() {
        return arm::sum_rows(rows, entries, out);
    }
    let list = entries.as_ptr_range();
    let (whole, rest) = out.as_chunks_mut::<8>();
    let mut last = [0; 3];
    let mut at = 16 * whole.len() as u32;
    // SAFETY: every entry holds the address of one of `rows`: callers list and sum
    // rows under one borrow of them; offsets stay within the W weights of a row, which is a
    // whole number of words; the list is not empty.
    unsafe { walk_pair(list.start, list.end, &mut last, at.min(2 * W as u32 - 4)) };
    let bias = last[2] << 15;
    for pair in rest.as_chunks_mut::<2>().0 {
        add_pairs(pair, &last, bias);
        at += 4;
        if at < 2 * W as u32 {
            // SAFETY: as above.
            unsafe { walk_pair(list.start, list.end, &mut last, at) };
        }
    }
    for (walk, out) in eights!(walk_pairs as Walk, 2, W).into_iter().zip(whole) {
        // SAFETY: as above.
        unsafe { walk(list.start, list.end, out, bias) };
    }
}

/// Adds what a walk over pairs of weights found.
#[inline(always)]
fn add_pairs(out: &mut [i32], sums: &[u32], bias: u32) {
    for (out, sums) in out
        .as_chunks_mut::<2>()
        .0
        .iter_mut()
        .zip(sums.as_chunks::<2>().0)
    {
        let low = sums[0].wrapping_sub(sums[1] << 16).wrapping_sub(bias);
        out[0] = out[0].saturating_add(low as i32);
        out[1] = out[1].saturating_add(sums[1] as i32);
    }
}
