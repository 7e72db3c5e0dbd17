//! Another board that the measurement allows: coefficients drawn from their covariance.

use gleaner_shared::rng::Rng;

use super::Profile;
use crate::fit::matrix::Square;

impl Profile {
    /// Returns the profile with coefficients drawn from a normal distribution with their
    /// covariance; none below zero, which no part can draw.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> Self {
        let covariance = &self.coefficients.covariance;
        let deviations: Vec<f64> = (0..covariance.size())
            .map(|at| covariance.at(at, at).max(0.0).sqrt())
            .collect();
        let normals: Vec<f64> = deviations.iter().map(|_| normal(rng)).collect();
        let mut drawn = self.clone();
        let Some(lower) = correlation(covariance).and_then(|it| it.cholesky(0.0).ok()) else {
            return drawn;
        };
        for (row, value) in drawn.coefficients.values.iter_mut().enumerate() {
            let off: f64 = (0..=row).map(|k| lower.at(row, k) * normals[k]).sum();
            *value = (*value + deviations[row] * off).max(0.0);
        }
        drawn
    }
}

/// Returns correlations, with a little more on the diagonal so that rounding cannot make them
/// impossible; `None` if they are not such by far.
pub(super) fn correlation(covariance: &Square) -> Option<Square> {
    const MORE: f64 = 1e-9;
    let size = covariance.size();
    let mut correlation = Square::zeros(size);
    for row in 0..size {
        for column in 0..size {
            let scale = (covariance.at(row, row) * covariance.at(column, column)).sqrt();
            let cell = if row == column {
                1.0 + MORE
            } else if scale > 0.0 {
                covariance.at(row, column) / scale
            } else {
                0.0
            };
            correlation.set(row, column, cell);
        }
    }
    correlation.cholesky(0.0).ok().map(|_| correlation)
}

/// A draw of the standard normal distribution (Box and Muller, 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.uniform()).cos()
}
