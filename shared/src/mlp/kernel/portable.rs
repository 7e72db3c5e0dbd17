//! Row sums in plain Rust, for the host and for cores without a kernel of their own; the twin
//! the assembly is compared with.

use super::common::add;
pub(crate) use super::common::{
    activate, add_products, backward, list_block, list_column, list_errors, list_pixels, list_row,
    pixel_differences, round_codes, round_errors, step_row, sum_pixels, sum_unit as backward_unit,
};
use super::{Entry, Shift};

/// Returns how a list refers to row `index`.
#[inline(always)]
pub(crate) fn locate<R>(rows: &[R], index: usize) -> u32 {
    debug_assert!(index < rows.len());
    index as u32
}

/// Returns how a list refers to a row of errors, the `index`th.
#[inline(always)]
pub(crate) fn locate_error<const HID: usize>(_row: &ErrorRow<HID>, index: usize) -> u32 {
    index as u32
}

/// Begins sums with biases.
#[inline(always)]
pub(crate) fn begin<const W: usize>(biases: &[i32; W], sums: &mut [i32; W]) {
    *sums = *biases;
}

/// Reads weight `column` of a row.
#[inline(always)]
pub(crate) fn load<const W: usize>(row: &[i16; W], column: usize) -> i16 {
    row[column]
}

/// Returns weight `column` of a row less that of another.
#[inline(always)]
pub(crate) fn difference<const W: usize>(row: &[i16; W], base: &[i16; W], column: usize) -> i32 {
    i32::from(row[column]) - i32::from(base[column])
}

/// Writes `convert` of the weights of a row less those of another, from column `first` on.
#[inline(always)]
pub(crate) fn differences<const W: usize>(
    row: &[i16; W],
    base: &[i16; W],
    first: usize,
    out: &mut [i32],
    convert: impl Fn(i32) -> i32,
) {
    let (row, base) = (&row[first..][..out.len()], &base[first..][..out.len()]);
    for ((out, &weight), &base) in out.iter_mut().zip(row).zip(base) {
        *out = convert(i32::from(weight) - i32::from(base));
    }
}

/// Writes weight `column` of a row.
#[inline(always)]
pub(crate) fn store<const W: usize>(row: &mut [i16; W], column: usize, value: i16) {
    row[column] = value;
}

/// Returns the row and the column of W1 that hold the weight from `pixel` to `unit`.
#[inline(always)]
pub(crate) const fn place<const IN: usize, const HID: usize>(
    pixel: usize,
    unit: usize,
) -> (usize, usize) {
    (pixel, unit)
}

/// Returns pixels `first..first + 4`, the first in the low byte; pixels past the end are zero.
#[inline(always)]
pub(crate) fn pixel_word<const IN: usize>(pixels: &[u8; IN], first: usize) -> u32 {
    match pixels[first..].first_chunk::<4>() {
        Some(&word) => u32::from_le_bytes(word),
        None => (pixels[first..].iter().rev()).fold(0, |word, &x| word << 8 | u32::from(x)),
    }
}

/// Adds the sum of scaled rows to `out`, which saturates; the sum itself is exact because the
/// scales add up to no more than [`super::SCALE_LIMIT`].
#[inline]
pub(crate) fn sum_rows<const W: usize>(rows: &[[i16; W]], entries: &[Entry], out: &mut [i32; W]) {
    sum(entries, out, |entry| &rows[entry.at as usize]);
}

/// Adds a sum of scaled rows, each found by `row`, to `out`, which saturates.
#[inline(always)]
pub(super) fn sum<'a, const W: usize>(
    entries: &[Entry],
    out: &mut [i32; W],
    row: impl Fn(&Entry) -> &'a [i16; W],
) {
    let mut sums = [0i32; W];
    for entry in entries {
        let scale = entry.scale as i32;
        for (sum, &weight) in sums.iter_mut().zip(row(entry)) {
            *sum += scale * i32::from(weight);
        }
    }
    add(out, &sums);
}

/// The hidden errors of one sample: mantissas and one power of two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(crate) struct ErrorRow<const HID: usize> {
    mantissas: [i16; HID],
    pub(crate) shift: Shift,
}

impl<const HID: usize> ErrorRow<HID> {
    /// Makes every error zero.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.mantissas.fill(0);
        self.shift = Shift::DEAD;
    }

    /// Stores the error of a unit, a mantissa of at most 127.
    #[inline(always)]
    pub(crate) fn set(&mut self, unit: usize, mantissa: i32) {
        self.mantissas[unit] = mantissa as i16;
    }
}

/// Adds the sum of scaled error rows to `out`, which saturates; the sum itself is exact for up
/// to [`super::LIST_LIMIT`] entries.
#[inline]
pub(crate) fn sum_errors<const HID: usize>(
    rows: &[ErrorRow<HID>],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    sum(entries, out, |entry| &rows[entry.at as usize].mantissas);
}
