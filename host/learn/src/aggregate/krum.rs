//! Krum: the model with the closest neighbours becomes the global model.
//!
//! Blanchard et al., "Machine learning with adversaries: Byzantine tolerant gradient descent",
//! 2017. Only one client's training counts in a round, which costs accuracy where clients' data differ.

use super::{Contribution, distance_squared};

/// Returns theta_k with k = argmin_i s(i), where s(i) = sum |theta_i - theta_j|^2 over the
/// n - f - 2 models closest to theta_i. Of equal scores the first is taken.
pub(super) fn target(
    start: &[f32],
    contributions: &[Contribution<'_>],
    hostile: usize,
) -> Vec<f64> {
    let count = contributions.len();
    let neighbours = count - hostile - 2;
    let mut squared = vec![vec![0.0f64; count]; count];
    for i in 0..count {
        for j in 0..i {
            let (a, b) = (contributions[i], contributions[j]);
            let between = distance_squared(a.values(start), b.values(start));
            squared[i][j] = between;
            squared[j][i] = between;
        }
    }
    let score = |i: usize| {
        let mut others = squared[i].clone();
        others.swap_remove(i);
        others.sort_unstable_by(f64::total_cmp);
        others[..neighbours].iter().sum::<f64>()
    };
    let scores: Vec<f64> = (0..count).map(score).collect();
    let best = (0..count).min_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    best.map_or_else(Vec::new, |best| contributions[best].values(start).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{one, rounded};
    use super::*;

    #[test]
    fn the_model_closest_to_the_others_is_chosen() {
        let models = [
            one(1, 1, &[0.0, 0.0]),
            one(1, 1, &[1.0, 0.0]),
            one(1, 1, &[1.1, 0.1]),
            one(1, 1, &[2.0, 0.0]),
            one(1, 1, &[99.0, 99.0]),
        ];
        // Two neighbours count: 1.0 and 1.1 lie close together, and 1.1 is nearer to the next.
        assert_eq!(rounded(target(&[0.0; 2], &models, 1)), [1.1, 0.1]);
    }

    #[test]
    fn two_hostile_clients_that_agree_are_not_chosen() {
        let honest = [[1.0f32], [1.3], [0.8], [1.1], [0.9]];
        let mut models: Vec<_> = honest.iter().map(|model| one(1, 1, model)).collect();
        models.extend([one(1, 1, &[50.0]), one(1, 1, &[50.0])]);
        let next = target(&[0.0], &models, 2);
        assert!(next[0] < 2.0, "{next:?}");
    }
}
