//! Theorem 1 for individual epochs: the distance of the participants' mean from T central steps.

use super::heterogeneity::participation_weights;
use super::loss::{LossBound, drift_factor};

/// Common part of the drift of a set of participants with individual epochs.
///
/// After tau_i epochs each, the participants' mean is within
///
/// sum w~_i (C_i / beta g(min(tau_i, T)) + eta rho |T - tau_i|)
///
/// of the auxiliary model after T steps, with g(m) = (eta beta + 1)^m - eta beta m - 1 and
/// C_i = sum_j w~_j delta_j + (1 - 2 w~_i) delta_i of Lemma 2; docs/reference/solvers.md has the proof. With
/// tau_i = T for everybody this is Theorem 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndividualDrift {
    bound: LossBound,
    /// Weighted mean of the divergences, sum w~_j delta_j.
    mean_delta: f64,
}

impl IndividualDrift {
    /// Returns the common part for a set of participants.
    #[must_use]
    pub fn of(bound: &LossBound, samples: &[u32], delta: &[f64], participants: &[usize]) -> Self {
        let part = participation_weights(samples, participants);
        Self {
            bound: *bound,
            mean_delta: part.iter().zip(delta).map(|(w, d)| w * d).sum(),
        }
    }

    /// Returns the contribution of a participant of share w~_i, divergence delta_i and tau_i epochs to
    /// the bound on the loss after T steps, rho w~_i (C_i / beta g(min(tau_i, T)) + eta rho |T - tau_i|).
    #[must_use]
    pub fn of_client(&self, share: f64, delta: f64, epochs: u32, steps: u32) -> f64 {
        let LossBound { rho, beta, eta, .. } = self.bound;
        let c = self.mean_delta + (1.0 - 2.0 * share) * delta;
        let growth = drift_factor(eta * beta, f64::from(epochs.min(steps)));
        rho * share * (c / beta * growth + eta * rho * f64::from(steps.abs_diff(epochs)))
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;
    use crate::bound::a1;

    type Point = [f64; 3];

    /// F(x) = sum h_k (x_k - t_k)^2 / 2.
    struct Bowl {
        curvature: Point,
        target: Point,
    }

    impl Bowl {
        fn gradient(&self, at: Point) -> Point {
            std::array::from_fn(|k| self.curvature[k] * (at[k] - self.target[k]))
        }
    }

    fn norm(vector: Point) -> f64 {
        vector.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn minus(a: Point, b: Point, times: f64) -> Point {
        std::array::from_fn(|k| a[k] - times * b[k])
    }

    fn mean(weights: &[f64], points: impl Iterator<Item = Point>) -> Point {
        weights
            .iter()
            .zip(points)
            .fold([0.0; 3], |sum, (w, point)| minus(sum, point, -w))
    }

    /// Trains three clients for epochs of their own, and the auxiliary model for T steps; returns
    /// the distance of their mean from it, and the bound on that distance.
    fn trained(rng: &mut Rng, taus: &[u32; 3], steps: u32) -> (f64, f64) {
        let mut draw = |low: f64, high: f64| low + (high - low) * rng.uniform();
        let (eta, beta) = (draw(0.02, 0.1), 8.0);
        let bowls: Vec<Bowl> = (0..3)
            .map(|_| Bowl {
                curvature: std::array::from_fn(|_| draw(0.5, beta)),
                target: std::array::from_fn(|_| draw(-1.0, 1.0)),
            })
            .collect();
        let samples = [0; 3].map(|_| draw(200.0, 1000.0) as u32);
        let share = participation_weights(&samples, &[0, 1, 2]);
        // Everybody takes part, so the participants' loss is the global one.
        let global = |at: Point| mean(&share, bowls.iter().map(|bowl| bowl.gradient(at)));
        let (mut phi, mut rho, mut delta) = ([0.0; 3], 0.0f64, [0.0f64; 3]);
        for _ in 0..steps {
            for (bowl, delta) in bowls.iter().zip(&mut delta) {
                let gradient = bowl.gradient(phi);
                *delta = delta.max(norm(minus(gradient, global(phi), 1.0)));
                rho = rho.max(norm(gradient));
            }
            phi = minus(phi, global(phi), eta);
        }
        let mut ends = Vec::new();
        for (bowl, &tau) in bowls.iter().zip(taus) {
            let mut at = [0.0; 3];
            for _ in 0..tau {
                rho = rho.max(norm(bowl.gradient(at)));
                at = minus(at, bowl.gradient(at), eta);
            }
            ends.push(at);
        }
        let bound = LossBound {
            rho,
            beta,
            eta,
            b1: 1.0,
            gap: 1.0,
        };
        let drift = IndividualDrift::of(&bound, &samples, &delta, &[0, 1, 2]);
        let most: f64 = (0..3)
            .map(|i| drift.of_client(share[i], delta[i], taus[i], steps) / rho)
            .sum();
        let distance = norm(minus(mean(&share, ends.into_iter()), phi, 1.0));
        (distance, most)
    }

    #[test]
    fn the_mean_of_unequal_epochs_stays_within_the_bound_of_t_steps() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 31);
        let mut closest = 0.0f64;
        for _ in 0..20_000 {
            let taus = [0; 3].map(|_| 1 + rng.below(8));
            let steps = 1 + rng.below(8);
            let (distance, most) = trained(&mut rng, &taus, steps);
            assert!(
                distance <= most + 1e-12,
                "{taus:?} {steps}: {distance} {most}"
            );
            closest = closest.max(distance / most.max(1e-9));
        }
        assert!(closest > 0.7, "the bound is tight in some cases: {closest}");
    }

    #[test]
    fn with_equal_epochs_it_is_theorem_1() {
        let (delta, samples) = ([0.3, 0.8, 0.5, 0.9], [900, 400, 700, 100]);
        let bound = LossBound {
            rho: 1.3,
            beta: 10.0,
            eta: 0.01,
            b1: 1.0,
            gap: 1.0,
        };
        let participants = [0, 1, 3];
        let share = participation_weights(&samples, &participants);
        let drift = IndividualDrift::of(&bound, &samples, &delta, &participants);
        for tau in 1..9 {
            let sum: f64 = participants
                .iter()
                .map(|&i| drift.of_client(share[i], delta[i], tau, tau))
                .sum();
            let theorem = bound.rho * bound.model_gap(a1(&share, &delta), f64::from(tau));
            assert!((sum - theorem).abs() < 1e-14, "{sum} {theorem}");
        }
    }
}
