//! Momentum over rounds: movements that rounds agree on add up, opposed ones cancel.
//!
//! FedAvgM of Hsu, Qi and Brown, "Measuring the effects of non-identical data distribution for
//! federated visual classification", 2019, with heavy-ball or Nesterov momentum.

use super::State;

/// Settings of a momentum step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Momentum {
    /// The share beta of the last step that is kept.
    pub momentum: f64,
    /// Factor on the length of the step.
    pub rate: f64,
    /// Whether the momentum is Nesterov's.
    pub nesterov: bool,
}

impl Momentum {
    /// Takes m <- beta m + Delta and returns theta + rate m, or with Nesterov's momentum
    /// theta + rate (Delta + beta m), where Delta is the aggregated `movement`. The paper's Delta
    /// points the other way, and so does its step.
    ///
    /// A movement that is not finite changes nothing.
    pub(super) fn advance(&self, state: &mut State, start: &[f32], movement: &[f64]) -> Vec<f32> {
        if !movement.iter().all(|value| value.is_finite()) {
            return start.to_vec();
        }
        state.steps = state.steps.saturating_add(1);
        let moved = state.momentum.iter_mut().zip(movement).zip(start);
        let next = moved.map(|((momentum, &movement), &origin)| {
            *momentum = self.momentum * *momentum + movement;
            let step = if self.nesterov {
                movement + self.momentum * *momentum
            } else {
                *momentum
            };
            (f64::from(origin) + self.rate * step) as f32
        });
        next.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_steps(nesterov: bool) -> [Vec<f32>; 2] {
        let step = Momentum {
            momentum: 0.5,
            rate: 2.0,
            nesterov,
        };
        let mut state = State {
            momentum: vec![0.0; 2],
            ..State::default()
        };
        let first = step.advance(&mut state, &[10.0, 0.0], &[1.0, -4.0]);
        let second = step.advance(&mut state, &first, &[1.0, 2.0]);
        assert_eq!(state.momentum, [1.5, 0.0]);
        [first, second]
    }

    #[test]
    fn two_steps_by_hand() {
        // m = (1, -4), then (1.5, 0).
        assert_eq!(two_steps(false), [[12.0, -8.0], [15.0, -8.0]]);
        // Delta + m / 2 = (1.5, -6), then (1.75, 2).
        assert_eq!(two_steps(true), [[13.0, -12.0], [16.5, -8.0]]);
    }

    #[test]
    fn a_movement_that_is_not_finite_changes_neither_model_nor_state() {
        let step = Momentum {
            momentum: 0.9,
            rate: 1.0,
            nesterov: true,
        };
        let mut state = State {
            momentum: vec![0.25; 2],
            ..State::default()
        };
        let before = state.clone();
        for poison in [f64::NAN, f64::INFINITY] {
            let next = step.advance(&mut state, &[1.0, 2.0], &[0.5, poison]);
            assert_eq!((next, &state), (vec![1.0, 2.0], &before));
        }
    }
}
