//! Noise that is the same on every machine: sums of twelve uniform draws, which have variance 1.

use gleaner_shared::rng::{Purpose, Rng};

/// A source of nearly normal draws.
#[derive(Clone, Debug)]
pub(super) struct Noise(Rng);

impl Noise {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Rng::stream(seed, Purpose::Synthetic, 0, 0))
    }

    /// Returns the next draw: mean 0, variance 1, never beyond 6.
    pub(super) fn next(&mut self) -> f64 {
        let mut sum = 0;
        for _ in 0..6 {
            let word = self.0.next_u32();
            sum += (word & 0xFFFF) + (word >> 16);
        }
        f64::from(sum + 6) / 65_536.0 - 6.0
    }
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
