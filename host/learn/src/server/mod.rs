//! The server's step, from the aggregated model to the next global model.
//!
//! Aggregation gives a target; the step decides how far to move there, with momentum of earlier rounds.
//! It costs clients no energy, and every scheduler can be combined with every step.
//!
//! Steps run in one thread in a stated order, on the kernels of [`crate::train`]: the same bits on
//! every machine.

mod layer;
mod momentum;
mod orthogonal;
mod spectral;

use serde::{Deserialize, Serialize};

use crate::aggregate::{Contribution, Rule};
use crate::train::{Kernel, Tensor};
use layer::{Layer, layers};

pub use momentum::Momentum;
pub use spectral::Spectral;

/// The server's step after aggregation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The next model is the aggregated one.
    Plain,
    /// The step has momentum over rounds.
    Momentum(Momentum),
    /// The step follows the orthogonalised momentum; its length depends on the layers' first weights.
    Spectral(Spectral),
}

/// The state that a [`Server`] keeps between rounds, which checkpoints must hold; empty for a plain step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Number of steps taken, k.
    steps: u32,
    /// The momentum m, one value a parameter.
    momentum: Vec<f64>,
    /// The mean square v of the gradients' lengths.
    mean_square: f64,
    /// The length of every layer's first weights, ||W_0||.
    sizes: Vec<f64>,
    /// The length of every client's last gradient before clipping; 0 before its first.
    lengths: Vec<f64>,
}

impl State {
    /// Returns the numbers of parameters, layers and clients.
    fn extent(&self) -> [usize; 3] {
        [self.momentum.len(), self.sizes.len(), self.lengths.len()]
    }

    fn is_finite(&self) -> bool {
        let all = |values: &[f64]| values.iter().all(|value| value.is_finite());
        all(&self.momentum)
            && all(&self.sizes)
            && all(&self.lengths)
            && self.mean_square.is_finite()
    }
}

/// A state that does not belong to a server.
#[allow(missing_docs)]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The numbers of parameters, layers or clients differ.
    #[error(
        "the server's state has {found:?} parameters, layers and clients, {expected:?} are \
         expected: it belongs to another network, server.rule or number of clients"
    )]
    Foreign {
        found: [usize; 3],
        expected: [usize; 3],
    },
    /// A value is infinite or not a number.
    #[error("the server's state is not finite")]
    NotFinite,
}

/// The server's step on one network.
#[derive(Clone, Debug)]
pub struct Server {
    step: Step,
    kernel: Kernel,
    parameters: usize,
    layers: Vec<Layer>,
}

impl Server {
    /// Prepares steps on a network of `parameters` values. If `tensors` have another number of values,
    /// as for a model in a test, all parameters are one layer.
    #[must_use]
    pub fn new(step: Step, kernel: Kernel, tensors: &[Tensor], parameters: usize) -> Self {
        Self {
            step,
            kernel,
            parameters,
            layers: layers(tensors, parameters),
        }
    }

    /// Returns whether the next model is always the aggregated one.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.step == Step::Plain
    }

    /// Returns the state before the first round.
    ///
    /// # Panics
    /// When the length of the model is not that of the network.
    #[must_use]
    pub fn start(&self, first_model: &[f32], clients: usize) -> State {
        assert_eq!(first_model.len(), self.parameters, "a model of the network");
        let momentum = match self.step {
            Step::Plain => Vec::new(),
            Step::Momentum(_) | Step::Spectral(_) => vec![0.0; self.parameters],
        };
        let (sizes, lengths) = match self.step {
            Step::Plain | Step::Momentum(_) => (Vec::new(), Vec::new()),
            Step::Spectral(_) => (
                Spectral::sizes(&self.layers, first_model),
                vec![0.0; clients],
            ),
        };
        State {
            momentum,
            sizes,
            lengths,
            ..State::default()
        }
    }

    /// Checks that a saved state belongs to this server and number of clients.
    ///
    /// # Errors
    /// When the state belongs to another network, rule or number of clients, or is not finite.
    pub fn check(&self, state: &State, clients: usize) -> Result<(), StateError> {
        let (parameters, layers) = (self.parameters, self.layers.len());
        let expected = match self.step {
            Step::Plain => [0, 0, 0],
            Step::Momentum(_) => [parameters, 0, 0],
            Step::Spectral(_) => [parameters, layers, clients],
        };
        let found = state.extent();
        if found != expected {
            return Err(StateError::Foreign { found, expected });
        }
        if !state.is_finite() {
            return Err(StateError::NotFinite);
        }
        Ok(())
    }

    /// Returns the next model after a round that began with `start`; `contributions` are pairs of client
    /// and update. A round without a [target](Rule::target) changes neither model nor state.
    ///
    /// # Panics
    /// If models differ in length.
    #[must_use]
    pub fn advance(
        &self,
        state: &mut State,
        rule: Rule,
        start: &[f32],
        contributions: &[(usize, Contribution<'_>)],
    ) -> Vec<f32> {
        let all = || -> Vec<_> { contributions.iter().map(|(_, one)| *one).collect() };
        match self.step {
            Step::Plain => rule.aggregate(start, &all()),
            Step::Momentum(step) => match rule.movement(start, &all()) {
                Some(movement) => step.advance(state, start, &movement),
                None => start.to_vec(),
            },
            Step::Spectral(step) => {
                step.advance(self.kernel, &self.layers, state, rule, start, contributions)
            }
        }
    }

    /// Returns the next model after a round that began with `start` and whose updates are aggregated
    /// already; a movement that is not finite changes neither model nor state.
    ///
    /// # Panics
    /// If the movement has another length than the model.
    #[must_use]
    pub fn follow(&self, state: &mut State, start: &[f32], movement: Vec<f64>) -> Vec<f32> {
        assert_eq!(movement.len(), start.len(), "a movement of the model");
        if movement.iter().any(|value| !value.is_finite()) {
            return start.to_vec();
        }
        match self.step {
            Step::Plain => {
                let pairs = start.iter().zip(movement);
                pairs
                    .map(|(&x, step)| (f64::from(x) + step) as f32)
                    .collect()
            }
            Step::Momentum(step) => step.advance(state, start, &movement),
            Step::Spectral(step) => {
                let next = step.follow(self.kernel, &self.layers, state, start, movement);
                next.unwrap_or_else(|| start.to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests;
