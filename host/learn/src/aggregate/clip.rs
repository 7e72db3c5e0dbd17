//! The mean of clipped updates: clipping bounds the length of a hostile update, not its direction.
//!
//! Sun et al., "Can you really backdoor federated learning?", 2019, clip to a fixed length; here the
//! length follows from the median of the round, so that it suits the first round and the last.

use super::{Contribution, moved, weights};

/// Returns theta_0 + sum w~_i min(1, c m / |theta_i - theta_0|) (theta_i - theta_0), where m is
/// the median of the lengths |theta_j - theta_0| (the lower of two) and c is `factor`.
pub(super) fn target(start: &[f32], contributions: &[Contribution<'_>], factor: f64) -> Vec<f64> {
    let lengths: Vec<f64> = contributions.iter().map(|c| c.length(start)).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let longest = factor * sorted[(sorted.len() - 1) / 2];
    let cut = |length: f64| {
        if length > longest {
            longest / length
        } else {
            1.0
        }
    };
    let weights: Vec<f64> = weights(contributions)
        .iter()
        .zip(lengths)
        .map(|(weight, length)| weight * cut(length))
        .collect();
    moved(start, contributions, &weights)
}

#[cfg(test)]
mod tests {
    use super::super::mean;
    use super::super::tests::one;
    use super::*;

    #[test]
    fn a_long_update_is_cut_to_the_factor_of_the_median_and_keeps_its_direction() {
        let models = [
            one(1, 1, &[3.0, 0.0]),
            one(1, 1, &[0.0, 3.0]),
            one(1, 1, &[-300.0, -400.0]),
        ];
        // Lengths 3, 3, 500: the last becomes 6 long, (-3.6, -4.8).
        let next = target(&[0.0, 0.0], &models, 2.0);
        assert!((next[0] + 0.2).abs() < 1e-6, "{next:?}");
        assert!((next[1] + 0.6).abs() < 1e-6, "{next:?}");
    }

    #[test]
    fn two_hostile_clients_of_four_do_not_raise_the_median() {
        let models = [
            one(1, 1, &[1.0]),
            one(1, 1, &[1.0]),
            one(1, 1, &[1e9]),
            one(1, 1, &[1e9]),
        ];
        assert_eq!(target(&[0.0], &models, 1.0), [1.0]);
    }

    #[test]
    fn updates_of_similar_length_are_averaged() {
        let models = [one(10, 1, &[1.0]), one(20, 1, &[1.5]), one(30, 1, &[-1.9])];
        assert_eq!(target(&[0.0], &models, 2.0), mean::target(&[0.0], &models));
    }
}
