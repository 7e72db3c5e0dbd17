//! Aggregation: the weighted mean, and FedNova's normalised one.

/// Implements Eq. (3): theta = sum w~_i theta_i.
///
/// # Panics
/// If models differ in length.
#[must_use]
pub fn average(participation: &[f64], models: &[Vec<f64>]) -> Vec<f64> {
    let mut mean = vec![0.0; models.first().map_or(0, Vec::len)];
    for (weight, model) in participation.iter().zip(models) {
        assert_eq!(
            model.len(),
            mean.len(),
            "models of one round have one length"
        );
        for (sum, value) in mean.iter_mut().zip(model) {
            *sum += weight * value;
        }
    }
    mean
}

/// Returns FedNova's average: theta_0 + tau_eff sum w~_i (theta_i - theta_0) / tau_i with
/// tau_eff = sum w~_i tau_i, so that a client that trained longer does not pull harder.
///
/// # Panics
/// If models differ in length.
#[must_use]
pub fn normalised_average(
    participation: &[f64],
    start: &[f64],
    models: &[Vec<f64>],
    epochs: &[u32],
) -> Vec<f64> {
    let effective: f64 = participation
        .iter()
        .zip(epochs)
        .map(|(w, &t)| w * f64::from(t))
        .sum();
    let mut mean = start.to_vec();
    for ((weight, model), &tau) in participation.iter().zip(models).zip(epochs) {
        assert_eq!(
            model.len(),
            start.len(),
            "models of one round have one length"
        );
        let scale = effective * weight / f64::from(tau);
        for ((sum, value), origin) in mean.iter_mut().zip(model).zip(start) {
            *sum += scale * (value - origin);
        }
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_epochs_make_both_averages_equal() {
        let models = vec![vec![1.0, 2.0], vec![3.0, -2.0]];
        let plain = average(&[0.25, 0.75], &models);
        let normalised = normalised_average(&[0.25, 0.75], &[0.5, 0.5], &models, &[4, 4]);
        assert_eq!(plain, [2.5, -1.0]);
        assert_eq!(plain, normalised);
    }
}
