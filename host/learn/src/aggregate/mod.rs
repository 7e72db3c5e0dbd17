//! From updates to the next global model: the weighted mean and FedNova's normalised mean.
//!
//! Sums run in client order and in double precision, so the result does not depend on who
//! arrived first or on how many threads trained.

/// One participant's contribution.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a> {
    /// Its samples D_i.
    pub samples: u32,
    /// Its epochs tau_i.
    pub epochs: u32,
    /// Its model.
    pub model: &'a [f32],
}

/// How updates become a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Averaging {
    /// The mean of models, weighted by samples.
    Weighted,
    /// FedNova: updates are divided by their epochs first.
    Normalised,
}

/// Returns the next global model; without contributions it is the last one.
///
/// Implements Eq. (3), theta = sum w~_i theta_i with w~_i = D_i / sum D_j, as
/// theta_0 + sum w~_i (theta_i - theta_0); and, normalised (Wang et al., "Tackling the objective
/// inconsistency problem in heterogeneous federated optimization", 2020),
/// theta_0 + tau_eff sum w~_i (theta_i - theta_0) / tau_i with tau_eff = sum w~_i tau_i.
///
/// # Panics
/// If models differ in length.
#[must_use]
pub fn aggregate(start: &[f32], contributions: &[Contribution<'_>], how: Averaging) -> Vec<f32> {
    let total: f64 = contributions.iter().map(|c| f64::from(c.samples)).sum();
    let weight = |c: &Contribution<'_>| f64::from(c.samples) / total;
    let effective: f64 = contributions
        .iter()
        .map(|c| weight(c) * f64::from(c.epochs))
        .sum();
    let mut step = vec![0.0f64; start.len()];
    for contribution in contributions {
        assert_eq!(
            contribution.model.len(),
            start.len(),
            "models of one round have one length"
        );
        let scale = match how {
            Averaging::Weighted => weight(contribution),
            Averaging::Normalised => {
                weight(contribution) * effective / f64::from(contribution.epochs.max(1))
            }
        };
        for ((sum, &value), &origin) in step.iter_mut().zip(contribution.model).zip(start) {
            *sum += scale * (f64::from(value) - f64::from(origin));
        }
    }
    start
        .iter()
        .zip(step)
        .map(|(&origin, step)| (f64::from(origin) + step) as f32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(samples: u32, epochs: u32, model: &[f32]) -> Contribution<'_> {
        Contribution {
            samples,
            epochs,
            model,
        }
    }

    #[test]
    fn weights_follow_the_samples() {
        let models = [one(100, 4, &[1.0, 2.0]), one(300, 4, &[3.0, -2.0])];
        assert_eq!(
            aggregate(&[0.5, 0.5], &models, Averaging::Weighted),
            [2.5, -1.0]
        );
    }

    #[test]
    fn equal_epochs_make_both_averages_equal() {
        let models = [one(100, 4, &[1.0, 2.0]), one(300, 4, &[3.0, -2.0])];
        let weighted = aggregate(&[0.5, 0.5], &models, Averaging::Weighted);
        assert_eq!(
            aggregate(&[0.5, 0.5], &models, Averaging::Normalised),
            weighted
        );
    }

    #[test]
    fn a_client_that_trained_longer_does_not_pull_harder() {
        // Both moved one unit per epoch; tau_eff = 3, so the mean moves three units.
        let models = [one(1, 2, &[2.0]), one(1, 4, &[4.0])];
        assert_eq!(aggregate(&[0.0], &models, Averaging::Normalised), [3.0]);
        // Four epochs in the other direction weigh no more than two: the directions cancel.
        let opposed = [one(1, 2, &[2.0]), one(1, 4, &[-4.0])];
        assert_eq!(aggregate(&[0.0], &opposed, Averaging::Normalised), [0.0]);
        assert_eq!(aggregate(&[0.0], &opposed, Averaging::Weighted), [-1.0]);
    }

    #[test]
    fn nobody_changes_nothing() {
        assert_eq!(
            aggregate(&[1.5, -2.0], &[], Averaging::Weighted),
            [1.5, -2.0]
        );
    }
}
