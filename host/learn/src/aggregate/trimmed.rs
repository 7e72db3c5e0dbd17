//! The mean of each parameter without its extremes: what f hostile clients can make of it lies
//! between honest values.
//!
//! Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates", 2018,
//! Definition 2 with beta = f / n. Clients count alike, whatever their samples.

use super::{Contribution, by_parameter};

/// Returns theta with theta_k the mean of theta_{i,k} without its f largest and f smallest values.
pub(super) fn target(
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
        assert_eq!(target(&[0.0], &models, 1), [2.0]);
        assert_eq!(target(&[0.0], &models[..3], 1), [1.0]);
    }
}
