//! The forward pass of one sample.

use super::kernel::{self, SCALE_LIMIT};
use super::list::{Entries, List, NO_ENTRIES};
use super::params::Params;

/// The largest hidden activation, in units of 2^-10.
pub const HIDDEN_MAX: u32 = (1 << 15) - 1;

/// The hidden sum of the largest activation.
pub(super) const SUM_MAX: i32 = HIDDEN_MAX as i32 * 4080;

/// Memory and results of the forward pass of one sample.
#[derive(Clone, Debug)]
pub struct Pass<const HID: usize, const OUT: usize> {
    /// Unused between two samples.
    pub(super) entries: Entries,
    /// Hidden sums, which become activations and, in training, errors.
    pub(super) units: [i32; HID],
    pub(super) largest: u32,
    /// Output sums in units of 2^-22.
    pub(super) output: [i32; OUT],
}

impl<const HID: usize, const OUT: usize> Pass<HID, OUT> {
    /// Returns cleared memory, ready for a static.
    pub const fn new() -> Self {
        Self {
            entries: NO_ENTRIES,
            units: [0; HID],
            largest: 0,
            output: [0; OUT],
        }
    }

    /// Computes hidden activations and output sums of one sample: z = b1 + sum_p x_p W1_p, h =
    /// max(z, 0), o = b2 + sum_j h_j W2_j. `row` is the sample's list of [`crate::lists`], or
    /// empty. Returns the number of rows summed.
    pub(super) fn forward<const IN: usize>(
        &mut self,
        params: &Params<IN, HID, OUT>,
        pixels: &[u8; IN],
        row: &[[u8; 4]],
    ) -> u32 {
        let Some(entries) = self.entries.first_chunk_mut() else {
            unreachable!("256 entries of 512")
        };
        let mut list = List::<256>::new(entries);
        let mut rows = 0;
        let mut pixel = 0;
        kernel::begin(&params.b1, &mut self.units);
        while pixel < IN {
            list.extend(|entries, length| {
                let (length, next) = match row {
                    [] => kernel::list_pixels(pixels, pixel, &params.w1, entries, length),
                    row => (kernel::list_row(row, &params.w1, entries), IN),
                };
                pixel = next;
                length
            });
            rows += list.entries().len() as u32;
            kernel::sum_pixels(&params.w1, list.entries(), &mut self.units);
            list.clear();
        }

        let mut total = 0;
        list.extend(|entries, _| {
            let activity = kernel::activate(&mut self.units, &params.w2, entries);
            (total, self.largest) = (activity.total, activity.largest);
            activity.live
        });
        kernel::begin(&params.b2, &mut self.output);
        if total <= SCALE_LIMIT && HID <= 256 {
            kernel::sum_rows(&params.w2, list.entries(), &mut self.output);
        } else {
            self.sum_in_parts(&params.w2);
        }
        rows
    }

    /// Adds h W2 in parts, when one sum would not be exact.
    #[cold]
    fn sum_in_parts(&mut self, w2: &[[i16; OUT]; HID]) {
        let Some(entries) = self.entries.first_chunk_mut() else {
            unreachable!("256 entries of 512")
        };
        let mut list = List::<256>::new(entries);
        let mut scales = 0;
        for (unit, &hidden) in self.units.iter().enumerate() {
            let hidden = hidden as u32;
            if hidden != 0 {
                if list.lacks_room(1) || scales + hidden > SCALE_LIMIT {
                    kernel::sum_rows(w2, list.entries(), &mut self.output);
                    list.clear();
                    scales = 0;
                }
                list.push(hidden, kernel::locate(w2, unit));
                scales += hidden;
            }
        }
        kernel::sum_rows(w2, list.entries(), &mut self.output);
    }
}

/// Returns max(z, 0) in units of 2^-10 for z in units of 2^-14 / 255: z / 4080, rounded, with
/// 1/4080 taken as 257/2^20 (1.5e-5 off).
#[inline]
pub(super) const fn activation(sum: i32) -> u32 {
    if sum <= 0 {
        return 0;
    }
    let sum = if sum < SUM_MAX { sum } else { SUM_MAX };
    // At most 8,355,585 * 257 + 2^15 < 2^31.
    ((sum as u32 >> 4) * 257 + (1 << 15)) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activation_divides_by_4080_over_the_whole_range() {
        for sum in (0..HIDDEN_MAX as i32 * 4080).step_by(977) {
            let exact = f64::from(sum) / 4080.0;
            let error = f64::from(activation(sum)) - exact;
            assert!(error.abs() <= 0.51 + exact * 2e-5, "{sum}: {error}");
        }
        assert_eq!(activation(i32::MAX), HIDDEN_MAX);
        assert_eq!(activation(i32::MIN), 0);
    }
}
