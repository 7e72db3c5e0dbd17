//! The mean of updates with a fixed denominator, in which no client counts for more than a constant.

use crate::aggregate::{Contribution, step};

/// Part of the bound left to rounding: sums of up to 10^7 squares in double precision are off by less.
const ROUNDING: f64 = 1e-8;

/// A weighted mean of movements whose sensitivity does not depend on the data.
///
/// With movements u_i = theta_i - theta_0, samples D_i, the bound C, the cap S and K participants,
///
/// M = sum_i w_i min(1, C / |u_i|) u_i with w_i = min(D_i, S) / (K S).
///
/// The denominator K S is the same in every round, so a missing update shortens the step and changes no
/// other client's weight. Every term is at most C / K long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedMean {
    /// The bound C on the L2 norm of a movement.
    pub bound: f64,
    /// The samples S from which on a client has the largest weight.
    pub full_samples: u32,
    /// The participants K of a full round.
    pub participants: u32,
}

impl BoundedMean {
    /// Returns the largest weight of a client, 1 / K.
    #[must_use]
    pub fn largest_weight(&self) -> f64 {
        1.0 / f64::from(self.participants.max(1))
    }

    /// Returns the L2 sensitivity under replace-one adjacency, 2 C / K: a replaced client takes one term
    /// of length C / K away and adds another, which may point the opposite way. (Adjacency by a missing
    /// client would have half of it.)
    #[must_use]
    pub fn sensitivity(&self) -> f64 {
        2.0 * self.bound * self.largest_weight()
    }

    /// Returns the mean movement M; zero without contributions. Parameters must be finite; callers refuse
    /// other updates.
    ///
    /// # Panics
    /// If models differ in length.
    #[must_use]
    pub fn movement(&self, start: &[f32], contributions: &[Contribution<'_>]) -> Vec<f64> {
        let alike = |c: &Contribution<'_>| c.model.len() == start.len();
        assert!(
            contributions.iter().all(alike),
            "models of one round have one length"
        );
        let full = self.full_samples.max(1);
        let weight = |c: &Contribution<'_>| {
            let share = f64::from(c.samples.min(full)) / f64::from(full);
            share * self.largest_weight() * self.factor(c.length(start))
        };
        let weights: Vec<f64> = contributions.iter().map(weight).collect();
        step(start, contributions, &weights)
    }

    /// Returns the factor that shortens a movement of this length to the bound.
    fn factor(&self, length: f64) -> f64 {
        let bound = self.bound * (1.0 - ROUNDING);
        match length > bound {
            true => bound / length,
            false => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    fn mean() -> BoundedMean {
        BoundedMean {
            bound: 0.5,
            full_samples: 100,
            participants: 4,
        }
    }

    fn one(samples: u32, model: &[f32]) -> Contribution<'_> {
        Contribution {
            samples,
            epochs: 1,
            model,
            scale: 1.0,
            trust: 1.0,
        }
    }

    fn length(values: &[f64]) -> f64 {
        values.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn a_full_weight_is_a_participants_share_and_a_missing_update_leaves_the_others_theirs() {
        let [all, half] = [one(900, &[1.1, 1.0]), one(50, &[1.0, 1.2])];
        let found = mean().movement(&[1.0, 1.0], &[all, half]);
        assert!((found[0] - 0.1 / 4.0).abs() < 1e-8, "{found:?}");
        assert!((found[1] - 0.5 * 0.2 / 4.0).abs() < 1e-8, "{found:?}");
        assert_eq!(mean().movement(&[1.0, 1.0], &[half])[1], found[1]);
        assert_eq!(mean().movement(&[1.0, 1.0], &[]), [0.0, 0.0]);
    }

    #[test]
    fn a_long_update_is_shortened_to_the_bound_and_keeps_its_direction() {
        let found = mean().movement(&[0.0, 0.0], &[one(100, &[30.0, -40.0])]);
        assert!((4.0 * found[0] - 0.3).abs() < 1e-6, "{found:?}");
        assert!((4.0 * found[1] + 0.4).abs() < 1e-6, "{found:?}");
    }

    /// The property that epsilon rests on: whatever one client sends instead, the mean moves by no more
    /// than the sensitivity, and the sensitivity is reached.
    #[test]
    fn replacing_one_client_never_moves_the_mean_by_more_than_the_sensitivity() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        let mean = mean();
        let mut largest = 0.0f64;
        for round in 0..500 {
            let size = 1 + rng.below(300) as usize;
            let mut draw = |spread: f64| -> Vec<f32> {
                let mut value = || ((rng.uniform() - 0.5) * spread) as f32;
                (0..size).map(|_| value()).collect()
            };
            let spreads = [1e-3, 0.05, 1.0, 1e10, 3e38];
            let start = draw([0.1, 1e3][round % 2]);
            let others: Vec<Vec<f32>> = (0..3).map(|at| draw(spreads[at])).collect();
            let [before, after] = [draw(spreads[round % 5]), draw(spreads[round / 5 % 5])];
            let opposite: Vec<f32> = (before.iter().zip(&start))
                .map(|(x, o)| 2.0 * o - x)
                .collect();
            let after = if round % 3 == 0 { opposite } else { after };
            let moved = |own: &[f32], samples| {
                let mut all: Vec<_> = others.iter().map(|other| one(70, other)).collect();
                all.insert(1, one(samples, own));
                mean.movement(&start, &all)
            };
            let (a, b) = (moved(&before, 1 + round as u32), moved(&after, u32::MAX));
            let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let reached = length(&difference) / mean.sensitivity();
            assert!(
                reached <= 1.0,
                "round {round}: {reached} of the sensitivity"
            );
            largest = largest.max(reached);
        }
        assert!(largest > 0.999, "{largest}");
    }
}
