//! The forward pass of one sample.

use super::kernel::{self, SCALE_LIMIT};
use super::list::List;
use super::params::Params;

/// The largest hidden activation, in units of 2^-10.
pub const HIDDEN_MAX: u32 = (1 << 15) - 1;

/// What the forward pass of one sample needs and leaves behind.
#[derive(Clone, Debug)]
pub struct Pass<const HID: usize, const OUT: usize> {
    pub(super) list: List<256>,
    sums: [i32; HID],
    /// Activations h = max(z, 0) in units of 2^-10; only those of live units are up to date.
    hidden: [u32; HID],
    /// The units whose activation is not zero, in ascending order.
    live: [u16; HID],
    live_count: usize,
    /// Output sums in units of 2^-22.
    pub(super) output: [i32; OUT],
}

impl<const HID: usize, const OUT: usize> Pass<HID, OUT> {
    /// Returns cleared memory, ready for a static.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            list: List::EMPTY,
            sums: [0; HID],
            hidden: [0; HID],
            live: [0; HID],
            live_count: 0,
            output: [0; OUT],
        }
    }

    /// Computes hidden activations and output sums of one sample:
    /// z = b1 + sum_p x_p W1_p, h = max(z, 0), o = b2 + sum_j h_j W2_j.
    /// Returns how many rows were summed.
    pub(super) fn forward<const IN: usize>(
        &mut self,
        params: &Params<IN, HID, OUT>,
        pixels: &[u8; IN],
    ) -> u32 {
        let list = &mut self.list;
        let mut rows = 0;
        let mut pixel = 0;
        self.sums = params.b1;
        while pixel < IN {
            list.extend(|entries, length| {
                let (length, next) =
                    kernel::list_pixels(pixels, pixel, &params.w1, entries, length);
                pixel = next;
                length
            });
            rows += list.entries().len() as u32;
            kernel::sum_rows(&params.w1, list.entries(), &mut self.sums);
            list.clear();
        }

        self.output = params.b2;
        self.live_count = 0;
        let mut scales = 0;
        for (unit, (hidden, &sum)) in self.hidden.iter_mut().zip(&self.sums).enumerate() {
            let activation = activate(sum);
            if activation == 0 {
                continue;
            }
            if list.lacks_room(1) || scales + activation > SCALE_LIMIT {
                kernel::sum_rows(&params.w2, list.entries(), &mut self.output);
                list.clear();
                scales = 0;
            }
            list.push(activation, kernel::locate(&params.w2, unit));
            scales += activation;
            *hidden = activation;
            self.live[self.live_count] = unit as u16;
            self.live_count += 1;
        }
        kernel::sum_rows(&params.w2, list.entries(), &mut self.output);
        list.clear();
        rows
    }

    /// Returns the live units and their activations.
    #[inline(always)]
    pub(super) fn live(&self) -> impl Iterator<Item = (usize, u32)> {
        let live = self.live[..self.live_count.min(HID)].iter();
        live.map(|&unit| (usize::from(unit), self.hidden[usize::from(unit)]))
    }
}

impl<const HID: usize, const OUT: usize> Default for Pass<HID, OUT> {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns max(z, 0) in units of 2^-10 for z in units of 2^-14 / 255: z / 4080, rounded, with
/// 1/4080 taken as 257/2^20 (1.5e-5 off).
#[inline]
const fn activate(sum: i32) -> u32 {
    const SUM_MAX: i32 = HIDDEN_MAX as i32 * 4080;
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
            let error = f64::from(activate(sum)) - exact;
            assert!(error.abs() <= 0.51 + exact * 2e-5, "{sum}: {error}");
        }
        assert_eq!(activate(i32::MAX), HIDDEN_MAX);
        assert_eq!(activate(i32::MIN), 0);
    }
}
