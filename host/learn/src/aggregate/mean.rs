//! The mean of models, weighted by samples (Eq. 3); one hostile client can move it anywhere.

use super::{Contribution, moved, weights};

/// Returns theta = sum w~_i theta_i with w~_i = D_i / sum D_j, as
/// theta_0 + sum w~_i (theta_i - theta_0).
pub(super) fn target(start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f64> {
    moved(start, contributions, &weights(contributions))
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::*;

    #[test]
    fn weights_follow_the_samples() {
        let models = [one(100, 4, &[1.0, 2.0]), one(300, 4, &[3.0, -2.0])];
        assert_eq!(target(&[0.5, 0.5], &models), [2.5, -1.0]);
    }
}
