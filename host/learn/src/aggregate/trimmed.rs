//! The median of each parameter, and its mean without the f largest and f smallest values: with fewer
//! hostile clients than half, or than f + 1, the result lies between honest values.
//!
//! Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates", 2018,
//! Definitions 1 and 2, the latter with beta = f / n. Clients have equal weights, whatever their samples.

use super::{Contribution, by_parameter};

/// Returns theta, where theta_k is the median of theta_{i,k} (the mean of the middle two of an even number).
pub(super) fn median(start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f64> {
    by_parameter(start, contributions, |sorted| {
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        f64::midpoint(sorted[lower], sorted[upper])
    })
}

/// Returns theta, where theta_k is the mean of theta_{i,k} without its f largest and f smallest values.
pub(super) fn trimmed(
    start: &[f32],
    contributions: &[Contribution<'_>],
    hostile: usize,
) -> Vec<f64> {
    by_parameter(start, contributions, |sorted| {
        let kept = &sorted[hostile..sorted.len() - hostile];
        kept.iter().sum::<f64>() / kept.len() as f64
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::*;

    #[test]
    fn extremes_are_left_out_at_both_ends_and_the_rest_averaged() {
        let models = [
            one(1, 1, &[1.0]),
            one(1, 1, &[-50.0]),
            one(1, 1, &[3.0]),
            one(1, 1, &[80.0]),
            one(1, 1, &[2.0]),
        ];
        assert_eq!(trimmed(&[0.0], &models, 1), [2.0]);
        assert_eq!(trimmed(&[0.0], &models[..3], 1), [1.0]);
    }

    #[test]
    fn each_parameter_is_the_middle_of_its_own_values() {
        let models = [
            one(1, 1, &[1.0, 9.0]),
            one(900, 1, &[5.0, 2.0]),
            one(1, 1, &[3.0, -7.0]),
        ];
        assert_eq!(median(&[0.0; 2], &models), [3.0, 2.0]);
        let four = [&models[..], &[one(1, 1, &[4.0, 3.0])]].concat();
        assert_eq!(median(&[0.0; 2], &four), [3.5, 2.5]);
    }
}
