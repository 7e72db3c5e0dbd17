//! FedNova's mean: updates are divided by their epochs, so that longer training has no larger weight.
//!
//! Wang et al., "Tackling the objective inconsistency problem in heterogeneous federated
//! optimization", 2020.

use super::{Contribution, moved, weights};

/// Returns theta_0 + tau_eff sum w~_i (theta_i - theta_0) / tau_i with tau_eff = sum w~_i tau_i.
pub(super) fn target(start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f64> {
    let weights = weights(contributions);
    let weighted = || weights.iter().zip(contributions);
    let effective: f64 = weighted()
        .map(|(weight, c)| weight * f64::from(c.epochs))
        .sum();
    let weights: Vec<f64> = weighted()
        .map(|(weight, c)| weight * effective / f64::from(c.epochs.max(1)))
        .collect();
    moved(start, contributions, &weights)
}

#[cfg(test)]
mod tests {
    use super::super::mean;
    use super::super::tests::one;
    use super::*;

    #[test]
    fn equal_epochs_make_both_averages_equal() {
        let models = [one(100, 4, &[1.0, 2.0]), one(300, 4, &[3.0, -2.0])];
        let weighted = mean::target(&[0.5, 0.5], &models);
        assert_eq!(target(&[0.5, 0.5], &models), weighted);
    }

    #[test]
    fn a_client_that_trained_longer_does_not_pull_harder() {
        // Both moved one unit per epoch; tau_eff = 3, so the mean moves three units.
        let models = [one(1, 2, &[2.0]), one(1, 4, &[4.0])];
        assert_eq!(target(&[0.0], &models), [3.0]);
        // Four epochs in the other direction weigh no more than two: the directions cancel.
        let opposed = [one(1, 2, &[2.0]), one(1, 4, &[-4.0])];
        assert_eq!(target(&[0.0], &opposed), [0.0]);
        assert_eq!(mean::target(&[0.0], &opposed), [-1.0]);
    }
}
