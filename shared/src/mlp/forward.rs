//! The forward pass of one sample.

use super::kernel::{self, Entry, SCALE_LIMIT};
use super::list::List;
use super::params::Params;

/// The largest hidden activation, in units of 2^-10.
pub const HIDDEN_MAX: u32 = (1 << 15) - 1;

/// What the forward pass of one sample needs and leaves behind.
#[derive(Clone, Debug)]
pub struct Pass<const HID: usize, const OUT: usize> {
    pub(super) list: List<256>,
    sums: [i32; HID],
    /// The units whose activation is not zero, in ascending order.
    live: [Live; HID],
    live_count: usize,
    /// The largest activation.
    pub(super) largest: u32,
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
            live: [Live::NONE; HID],
            live_count: 0,
            largest: 0,
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
            kernel::sum_pixels(&params.w1, list.entries(), &mut self.sums);
            list.clear();
        }

        let (mut count, mut total, mut largest) = (0, 0, 0);
        for (unit, &sum) in self.sums.iter().enumerate() {
            let hidden = activate(sum);
            if hidden != 0 {
                if let Some(live) = self.live.get_mut(count) {
                    let unit = unit as u16;
                    *live = Live {
                        unit,
                        hidden: hidden as u16,
                    };
                }
                count += 1;
                total += hidden;
                largest = largest.max(hidden);
            }
        }
        (self.live_count, self.largest) = (count, largest);
        self.output = params.b2;
        self.sum_hidden(&params.w2, total);
        rows
    }

    /// Adds h W2 of the live units, whose activations add up to `total`, to the output sums.
    #[inline(always)]
    fn sum_hidden(&mut self, w2: &[[i16; OUT]; HID], total: u32) {
        let live = &self.live[..self.live_count.min(HID)];
        let list = &mut self.list;
        let located = |live: &Live| Entry {
            scale: u32::from(live.hidden),
            at: kernel::locate(w2, usize::from(live.unit)),
        };
        if total <= SCALE_LIMIT && HID <= 256 {
            list.extend(|entries, _| {
                for (entry, live) in entries.iter_mut().zip(live) {
                    *entry = located(live);
                }
                live.len()
            });
        } else {
            let mut scales = 0;
            for entry in live.iter().map(located) {
                if list.lacks_room(1) || scales + entry.scale > SCALE_LIMIT {
                    kernel::sum_rows(w2, list.entries(), &mut self.output);
                    list.clear();
                    scales = 0;
                }
                list.push(entry.scale, entry.at);
                scales += entry.scale;
            }
        }
        kernel::sum_rows(w2, list.entries(), &mut self.output);
        list.clear();
    }

    /// Returns the live units.
    #[inline(always)]
    pub(super) fn live(&self) -> &[Live] {
        &self.live[..self.live_count.min(HID)]
    }
}

/// A hidden unit that is not dead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) unit: u16,
    /// Its activation h = max(z, 0) in units of 2^-10.
    pub(super) hidden: u16,
}

impl Live {
    const NONE: Self = Self { unit: 0, hidden: 0 };
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
