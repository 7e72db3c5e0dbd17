//! The median of each parameter: as long as fewer than half of the values are hostile, it lies
//! between honest ones.
//!
//! Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates", 2018,
//! Definition 1. Clients count alike, whatever their samples.

use super::{Contribution, by_parameter};

/// Returns theta with theta_k = median_i theta_{i,k}; of an even number the mean of the middle two.
pub(super) fn target(start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f64> {
    by_parameter(start, contributions, |sorted| {
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        f64::midpoint(sorted[lower], sorted[upper])
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::*;

    #[test]
    fn each_parameter_is_the_middle_of_its_own_values() {
        let models = [
            one(1, 1, &[1.0, 9.0]),
            one(900, 1, &[5.0, 2.0]),
            one(1, 1, &[3.0, -7.0]),
        ];
        assert_eq!(target(&[0.0; 2], &models), [3.0, 2.0]);
        let four = [&models[..], &[one(1, 1, &[4.0, 3.0])]].concat();
        assert_eq!(target(&[0.0; 2], &four), [3.5, 2.5]);
    }
}
