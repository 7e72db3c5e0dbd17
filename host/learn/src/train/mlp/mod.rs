//! A perceptron with one hidden ReLU layer and softmax cross-entropy: 784-50-10 in the paper.
//!
//! Inputs stay in [0, 1] with exact zeros (four fifths of MNIST), so the first layer and its
//! gradient are sums of rows over sparse lists; the small second layer is dense.

mod objective;
mod sparse;
#[cfg(test)]
mod tests;
mod weights;

use super::softmax;
use super::{Kernel, Model, Objective, Tensor, kernel::ROW};
use crate::data::Samples;
use objective::MlpObjective;
use sparse::Sparse;

/// A perceptron with one hidden layer, for sparse inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mlp {
    inputs: usize,
    hidden: usize,
    outputs: usize,
    kernel: Kernel,
}

impl Mlp {
    /// Returns the network of the paper: 784 inputs, 50 hidden units, 10 classes, 39,760 parameters.
    #[must_use]
    pub fn paper(kernel: Kernel) -> Self {
        Self::new(784, 50, 10, kernel)
    }

    /// Returns whether the network is small enough: at most 64 hidden units and 16 classes.
    #[must_use]
    pub fn has_lanes_for(hidden: usize, outputs: usize) -> bool {
        hidden <= ROW && outputs <= softmax::LANES
    }

    /// Describes a network by its sizes.
    ///
    /// # Panics
    /// When there are more than 64 hidden units or 16 outputs, or a size is 0.
    #[must_use]
    pub fn new(inputs: usize, hidden: usize, outputs: usize, kernel: Kernel) -> Self {
        assert!(inputs > 0, "no inputs");
        assert!(
            (1..=ROW).contains(&hidden),
            "{hidden} hidden units: 1 to {ROW} are supported"
        );
        let most = softmax::LANES;
        assert!(
            (1..=most).contains(&outputs),
            "{outputs} outputs: 1 to {most} are supported"
        );
        Self {
            inputs,
            hidden,
            outputs,
            kernel,
        }
    }

    /// Binds the network to samples whose inputs are bytes that stand for the values of `table`.
    ///
    /// # Panics
    /// When a sample has another number of inputs than the network, a label is beyond its outputs, or
    /// code 0 does not stand for zero.
    #[must_use]
    pub fn objective_of_codes<'a>(
        &self,
        samples: impl Iterator<Item = (&'a [u8], u8)>,
        table: [f32; 256],
    ) -> Box<dyn Objective> {
        let data = Sparse::new(samples, self.inputs, table);
        Box::new(MlpObjective::new(*self, data))
    }
}

impl Model for Mlp {
    fn tensors(&self) -> Vec<Tensor> {
        let (first, second) = (limit(self.inputs), limit(self.hidden));
        vec![
            Tensor::new("w1", &[self.inputs, self.hidden], first),
            Tensor::new("b1", &[self.hidden], first),
            Tensor::new("w2", &[self.hidden, self.outputs], second),
            Tensor::new("b2", &[self.outputs], second),
        ]
    }

    fn objective(&self, samples: &Samples, indices: &[u32]) -> Box<dyn Objective> {
        assert_eq!(
            samples.images.len(),
            samples.len() * self.inputs,
            "images are not of {} pixels",
            self.inputs
        );
        let chosen = |at: &u32| {
            let at = *at as usize;
            (
                &samples.images[at * self.inputs..(at + 1) * self.inputs],
                samples.labels[at],
            )
        };
        // Byte b is the input b / 255.
        let table = std::array::from_fn(|byte| byte as f32 / 255.0);
        self.objective_of_codes(indices.iter().map(chosen), table)
    }
}

/// Returns the bound 1/sqrt(fan-in) of the initial weights and bias of a unit.
pub(super) fn limit(fan_in: usize) -> f64 {
    1.0 / libm::sqrt(fan_in as f64)
}
