//! Hidden errors for a Cortex-M0+: four 8-bit mantissas in a word, all but the topmost stored
//! flipped, and their sums.
#![allow(unsafe_code)]

use super::super::arm::eights;
use super::super::{Entry, Shift};
use super::walks::{Walk, walk_half, walk_word, walk_words};

/// The hidden errors of one sample: 8-bit mantissas and one power of two.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(4))]
pub(crate) struct ErrorRow<const HID: usize> {
    pub(super) mantissas: [u8; HID],
    pub(crate) shift: Shift,
}

/// The bits of an error that are flipped in storage.
#[inline(always)]
const fn flip_byte(column: usize) -> u8 {
    if column % 4 == 3 { 0 } else { 0x80 }
}

impl<const HID: usize> ErrorRow<HID> {
    /// Makes every error zero.
    #[inline]
    pub(crate) fn clear(&mut self) {
        for (column, byte) in self.mantissas.iter_mut().enumerate() {
            *byte = flip_byte(column);
        }
        self.shift = Shift::DEAD;
    }

    /// Stores the error of a unit, a mantissa of at most 127.
    #[inline(always)]
    pub(crate) fn set(&mut self, unit: usize, mantissa: i32) {
        self.mantissas[unit] = mantissa as u8 ^ flip_byte(unit);
    }
}

/// Adds the sum of scaled error rows to `out`, which saturates; the sum itself is exact for up
/// to [`super::super::LIST_LIMIT`] entries.
pub(crate) fn sum_errors<const HID: usize>(
    _rows: &[ErrorRow<HID>],
    entries: &[Entry],
    out: &mut [i32; HID],
) {
    const { assert!(HID <= 128, "a Cortex-M0+ trains up to 128 hidden units") };
    if entries.is_empty() {
        return;
    }
    let list = entries.as_ptr_range();
    let (whole, rest) = out.as_chunks_mut::<8>();
    let at = 8 * whole.len() as u32;
    // Every entry holds the address of one of the rows: callers list and sum rows under one
    // borrow of them; a row has HID + 1 bytes, rounded up to whole words, and offsets stay
    // within those; the list is not empty.
    let bias = if let [first, second] = rest {
        let mut last = [0; 3];
        // SAFETY: as said above.
        unsafe { walk_half(list.start, list.end, &mut last, at) };
        let bias = last[2] << 7;
        let lower = last[0].wrapping_sub(last[1] << 8).wrapping_sub(bias);
        *first = first.saturating_add(lower as i32);
        *second = second.saturating_add(last[1].wrapping_sub(bias) as i32);
        bias
    } else {
        let mut last = [0; 5];
        // SAFETY: as above.
        unsafe { walk_word(list.start, list.end, &mut last, at) };
        let bias = last[4] << 7;
        let (first, second) = rest.split_at_mut(rest.len().min(4));
        add_words(first, &last, bias);
        if !second.is_empty() {
            // SAFETY: as above.
            unsafe { walk_word(list.start, list.end, &mut last, at + 4) };
            add_words(second, &last, bias);
        }
        bias
    };
    for (walk, out) in eights!(walk_words as Walk, 1, HID).into_iter().zip(whole) {
        // SAFETY: as above.
        unsafe { walk(list.start, list.end, out, bias) };
    }
}

/// Adds what a walk over words of four errors found.
#[inline(always)]
fn add_words(out: &mut [i32], sums: &[u32], bias: u32) {
    for (byte, out) in out.iter_mut().enumerate() {
        let sum = match byte {
            3 => sums[3],
            _ => (sums[byte].wrapping_sub(sums[byte + 1] << 8)).wrapping_sub(bias),
        };
        *out = out.saturating_add(sum as i32);
    }
}
