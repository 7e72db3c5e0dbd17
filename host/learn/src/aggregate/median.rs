//! The median of each parameter: as long as fewer than half of the values are hostile, it lies
//! between honest ones.
//!
//! Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates", 2018,
//! Definition 1. Clients count alike, whatever their samples.

use super::{Contribution, by_parameter};

/// Returns theta with theta_k = median_i theta_{i,k}; of an even number the mean of the middle two.
pub(super) fn aggregate(contributions: &[Contribution<'_>]) -> Vec<f32> {
    by_parameter(contributions, |sorted| {
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        f64::midpoint(f64::from(sorted[lower]), f64::from(sorted[upper]))
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
        assert_eq!(aggregate(&models), [3.0, 2.0]);
        let four = [&models[..], &[one(1, 1, &[4.0, 3.0])]].concat();
        assert_eq!(aggregate(&four), [3.5, 2.5]);
    }
}
