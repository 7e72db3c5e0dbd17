//! Small-scale fading: Rician, redrawn every round.

use gleaner_shared::rng::Rng;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::units::Gain;

/// The factor on the path loss as a function of the drawn Rician variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FadingKind {
    /// Rician power divided by its mean
    Normalised,
    /// Rician power, mean 2 sigma^2 (K + 1)
    Power,
    /// Rician amplitude, the square root of the power
    Amplitude,
}

/// A (K, sigma) Rician distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fading {
    /// Power ratio of the direct path to the scattered ones.
    pub k: f64,
    /// Standard deviation of each scattered component.
    pub sigma: f64,
    /// The factor that is drawn.
    pub kind: FadingKind,
}

impl Fading {
    /// Draws a small-scale factor: x = sqrt(2K) sigma + sigma N(0,1), y = sigma N(0,1).
    ///
    /// Always takes the same number of words from the stream.
    pub fn draw(&self, rng: &mut Rng) -> Gain {
        let (first, second) = gaussian_pair(rng);
        let x = (2.0 * self.k).sqrt() * self.sigma + self.sigma * first;
        let y = self.sigma * second;
        let power = x * x + y * y;
        Gain(match self.kind {
            FadingKind::Power => power,
            FadingKind::Normalised => power / self.mean_power(),
            FadingKind::Amplitude => power.sqrt(),
        })
    }

    /// Returns the mean power, 2 sigma^2 (K + 1).
    fn mean_power(&self) -> f64 {
        2.0 * self.sigma * self.sigma * (self.k + 1.0)
    }
}

/// Draws two independent standard normals (Box and Muller, 1958).
pub(crate) fn gaussian_pair(rng: &mut Rng) -> (f64, f64) {
    // 1 - u lies in (0, 1], so the logarithm is finite.
    let radius = (-2.0 * libm::log(1.0 - rng.uniform())).sqrt();
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * rng.uniform());
    (radius * cos, radius * sin)
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::Purpose;

    use super::*;

    fn mean_of(kind: FadingKind) -> f64 {
        let fading = Fading {
            k: 4.0,
            sigma: 1.0,
            kind,
        };
        let mut rng = Rng::stream(1, Purpose::Fading, 0, 0);
        (0..100_000).map(|_| fading.draw(&mut rng).0).sum::<f64>() / 1e5
    }

    #[test]
    fn mean_power_is_two_sigma_squared_times_k_plus_one() {
        assert!((mean_of(FadingKind::Power) - 10.0).abs() < 0.06);
        assert!((mean_of(FadingKind::Normalised) - 1.0).abs() < 0.006);
        // The mean of a (K = 4, sigma = 1) Rice variable, sqrt(pi/2) L_{1/2}(-4).
        assert!((mean_of(FadingKind::Amplitude) - 3.0).abs() < 0.05);
    }

    #[test]
    fn gaussians_have_unit_variance_and_no_correlation() {
        let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
        let (mut squares, mut product) = (0.0, 0.0);
        for _ in 0..100_000 {
            let (a, b) = gaussian_pair(&mut rng);
            squares += a * a + b * b;
            product += a * b;
        }
        assert!((squares / 2e5 - 1.0).abs() < 0.01);
        assert!((product / 1e5).abs() < 0.01);
    }
}
