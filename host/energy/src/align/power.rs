//! A trace's power in bins: energy between any two moments at once, in bounded memory.

use crate::trace::{Block, Trace};

/// Bins start this long, far below what an alignment by power can promise.
const FINEST_S: f64 = 0.25e-3;
/// When there are this many, pairs of them become one.
const MOST_BINS: usize = 1 << 21;

/// Running sums of energy and of squared power, at the ends of even bins.
#[derive(Clone, Debug)]
pub(super) struct Binned {
    bin_s: f64,
    rate_hz: f64,
    samples: u64,
    /// Joules up to each bin's end; 0 first.
    energy: Vec<f64>,
    /// Square watts times seconds, likewise.
    square: Vec<f64>,
}

impl Binned {
    pub(super) fn read<T: Trace>(trace: &mut T, rate_hz: f64) -> Result<Self, T::Error> {
        let mut per_bin = ((rate_hz * FINEST_S) as u64).max(1);
        let (mut bins, mut sum, mut filled, mut samples) = (Vec::new(), 0.0, 0, 0);
        let mut block = Block::default();
        while trace.read(&mut block)? {
            for &power_w in &block.power_w {
                sum += f64::from(power_w);
                filled += 1;
                if filled == per_bin {
                    bins.push(sum / per_bin as f64);
                    (sum, filled) = (0.0, 0);
                    if bins.len() == MOST_BINS {
                        bins = bins
                            .chunks(2)
                            .map(|pair| 0.5 * (pair[0] + pair[1]))
                            .collect();
                        per_bin *= 2;
                    }
                }
            }
            samples += block.power_w.len() as u64;
        }
        let bin_s = per_bin as f64 / rate_hz;
        let running = |of: fn(f64) -> f64| {
            let mut total = 0.0;
            let sums = bins.iter().map(|&power_w| {
                total += of(power_w) * bin_s;
                total
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Ok(Self {
            bin_s,
            rate_hz,
            samples,
            energy: running(|power_w| power_w),
            square: running(|power_w| power_w * power_w),
        })
    }

    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) const fn bin_s(&self) -> f64 {
        self.bin_s
    }

    pub(super) fn length_s(&self) -> f64 {
        self.samples as f64 / self.rate_hz
    }

    /// Returns the energy up to a moment, even within a bin.
    pub(super) fn energy_until(&self, at_s: f64) -> f64 {
        between(&self.energy, at_s / self.bin_s)
    }

    /// Returns the integral of squared power up to a moment.
    pub(super) fn square_until(&self, at_s: f64) -> f64 {
        between(&self.square, at_s / self.bin_s)
    }

    /// Returns the mean power between two moments.
    pub(super) fn mean_w(&self, from_s: f64, to_s: f64) -> f64 {
        (self.energy_until(to_s) - self.energy_until(from_s)) / (to_s - from_s)
    }

    /// Returns the end of a bin nearest to a moment: up to there the energy is exact.
    pub(super) fn whole(&self, at_s: f64) -> f64 {
        (at_s / self.bin_s).round() * self.bin_s
    }
}

fn between(sums: &[f64], place: f64) -> f64 {
    let last = sums.len() - 1;
    let place = place.clamp(0.0, last as f64);
    let below = (place as usize).min(last.saturating_sub(1));
    let above = (below + 1).min(last);
    sums[below] + (place - below as f64) * (sums[above] - sums[below])
}
