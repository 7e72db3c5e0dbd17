//! What the base station does with an aggregated round: a step of its own, one rule per file.
//!
//! Aggregation says where the clients' updates lead; the server decides how far to follow, with what
//! it remembers of rounds before. Energy is free there, so a better step costs clients nothing, and any
//! scheduler may use any: accuracy that a step brings is not a scheduler's merit.
//!
//! Everything here runs in one thread in a stated order, on the kernels of [`crate::train`]: the same
//! bits on every machine.

mod layer;
mod length;
mod momentum;
mod orthogonal;
mod spectral;
mod state;

use crate::aggregate::{Contribution, Rule};
use crate::train::{Kernel, Tensor};
use layer::{Layer, layers};

pub use momentum::Momentum;
pub use spectral::Spectral;
pub use state::{State, StateError};

/// How a round's movement becomes a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// As it is: the next model is the aggregated one.
    Plain,
    /// With momentum over rounds.
    Momentum(Momentum),
    /// With orthogonalised momentum, its length by the layers' first weights.
    Spectral(Spectral),
}

/// A base station's step on one network.
#[derive(Clone, Debug)]
pub struct Server {
    step: Step,
    kernel: Kernel,
    parameters: usize,
    layers: Vec<Layer>,
}

impl Server {
    /// Prepares steps on a network of so many parameters. Where `tensors` do not make up those, as for
    /// a model in a test, all parameters are one layer.
    #[must_use]
    pub fn new(step: Step, kernel: Kernel, tensors: &[Tensor], parameters: usize) -> Self {
        Self {
            step,
            kernel,
            parameters,
            layers: layers(tensors, parameters),
        }
    }

    /// Says whether the next model is the aggregated one.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.step == Step::Plain
    }

    /// Returns what is remembered before the first round of so many clients.
    ///
    /// # Panics
    /// When the model has another length than the network.
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

    /// Makes sure that a saved state is one of this server with so many clients.
    ///
    /// # Errors
    /// When it belongs to another network, rule or number of clients, or is not finite.
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

    /// Returns the next model after a round that began with `start` and brought `contributions`, each
    /// with its client. A round that [leads nowhere](Rule::target) changes neither model nor memory.
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
}

#[cfg(test)]
mod tests;
