//! Noise and gaps of synthetic traces, identical on every machine.

use gleaner_shared::rng::{Purpose, Rng};

use crate::InputError;

/// Generator of approximately normal draws: sums of twelve uniform draws, which have variance 1.
#[derive(Clone, Debug)]
pub(super) struct Noise(Rng);

impl Noise {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Rng::stream(seed, Purpose::Synthetic, 0, 0))
    }

    /// Returns the next draw, with mean 0, variance 1 and magnitude at most 6.
    pub(super) fn next(&mut self) -> f64 {
        let mut sum = 0;
        for _ in 0..6 {
            let word = self.0.next_u32();
            sum += (word & 0xFFFF) + (word >> 16);
        }
        f64::from(sum + 6) / 65_536.0 - 6.0
    }
}

/// Longest gap in samples: one less than the range of a PPK2's counter.
const LONGEST: u32 = 63;

/// Smallest part of a trace with one gap, so that gaps do not touch.
const PART: u64 = 4 * LONGEST as u64;

/// Lost samples: the index of the first and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) at: u64,
    pub(super) samples: u64,
}

/// Draws gaps of 1 to 63 samples, one in each of `gaps` equal parts of the trace.
pub(super) fn draw_gaps(gaps: u32, samples: u64, seed: u64) -> Result<Vec<Gap>, InputError> {
    if gaps == 0 {
        return Ok(Vec::new());
    }
    let most = samples / PART;
    if u64::from(gaps) > most {
        return Err(InputError(format!(
            "gaps = {gaps}: {samples} samples have room for {most}"
        )));
    }
    let part = samples / u64::from(gaps);
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 2, 0);
    let room = u32::try_from(part - 2 * u64::from(LONGEST)).unwrap_or(u32::MAX);
    Ok((0..u64::from(gaps))
        .map(|at| Gap {
            at: at * part + u64::from(LONGEST + rng.below(room - LONGEST)),
            samples: u64::from(1 + rng.below(LONGEST)),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_mean_zero_and_variance_one() {
        let mut noise = Noise::new(1);
        let draws: Vec<f64> = (0..200_000).map(|_| noise.next()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        let beyond = draws.iter().filter(|x| x.abs() > 1.96).count() as f64 / 200_000.0;
        assert!((beyond - 0.05).abs() < 0.005, "{beyond}");
    }
}
