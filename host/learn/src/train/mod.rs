//! Training in floating point: the networks of the paper, full-batch gradient descent, and an
//! engine that trains many clients at once.
//!
//! - [`Model`] is an architecture; [`Objective`] is its loss F_i on one client's data.
//! - [`mlp`] is the perceptron of MNIST, [`cnn`] the convolutional network of CIFAR-10, and
//!   [`Perceptron`] one of any sizes.
//! - [`FixedClient`] trains in integers, by the code of the firmware.
//! - [`Engine`] spreads the work over threads.
//! - `kernel` holds the few inner loops that decide the speed.
//!
//! Results do not depend on the number of threads, on the build profile, or on which kernel the
//! machine offers: work is cut by the data alone, every sum has one stated order, and every
//! kernel does the same fused multiply-adds in that order.

mod aligned;
pub mod cnn;
mod engine;
mod fixed;
mod kernel;
mod kind;
pub mod mlp;
mod parameters;
mod perceptron;
mod softmax;

pub use cnn::Cnn;
pub use engine::{Engine, Job, Trained};
pub use fixed::{FixedClient, FixedModel, TooLarge};
pub use kernel::{Kernel, KernelError};
pub use kind::{ModelKind, NetworkError, sizes};
pub use mlp::Mlp;
pub use parameters::Tensor;
pub use perceptron::Perceptron;

pub(crate) use aligned::Aligned;
pub(crate) use kernel::{Left, multiply};

use crate::data::Samples;

/// How well parameters do on some data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The mean cross-entropy, in nats.
    pub loss: f64,
    /// How many samples got their label.
    pub correct: usize,
    /// Of how many.
    pub samples: usize,
}

impl Evaluation {
    /// Returns the share of samples that got their label; 0 of no samples.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.samples.max(1) as f64
    }
}

/// An architecture. Its parameters are one flat vector, laid out as [`Model::tensors`] says.
pub trait Model: Send + Sync {
    /// Returns the parameter tensors in the order of the flat vector.
    fn tensors(&self) -> Vec<Tensor>;

    /// Binds the architecture to the samples `indices` of a set: the client's loss F_i.
    ///
    /// # Panics
    /// When the images are not of the size the architecture takes, a label is beyond its
    /// outputs, or an index is beyond the set.
    fn objective(&self, samples: &Samples, indices: &[u32]) -> Box<dyn Objective>;

    /// Returns the number of parameters.
    fn parameters(&self) -> usize {
        self.tensors().iter().map(Tensor::len).sum()
    }

    /// Draws initial parameters, uniform within the limits of their tensors.
    fn initialise(&self, seed: u64) -> Vec<f32> {
        parameters::initialise(&self.tensors(), seed)
    }
}

/// The loss F_i of one client (or of the test set) as a function of the parameters.
pub trait Objective: Send + Sync {
    /// Returns D_i.
    fn samples(&self) -> usize;

    /// Writes the gradient of F_i and returns F_i.
    ///
    /// # Panics
    /// When either slice is not as long as the model's parameters.
    fn gradient(&self, parameters: &[f32], gradient: &mut [f32]) -> f64;

    /// Returns F_i and the accuracy.
    ///
    /// # Panics
    /// When the slice is not as long as the model's parameters.
    fn evaluate(&self, parameters: &[f32]) -> Evaluation;

    /// Takes `epochs` full-batch steps θ ← θ − η ∇F_i(θ) and returns F_i before each of them.
    ///
    /// # Panics
    /// As [`Objective::gradient`].
    fn descend(&self, parameters: &mut [f32], epochs: u32, learning_rate: f32) -> Vec<f64> {
        let mut gradient = vec![0.0; parameters.len()];
        (0..epochs)
            .map(|_| {
                let loss = self.gradient(parameters, &mut gradient);
                for (parameter, slope) in parameters.iter_mut().zip(&gradient) {
                    *parameter -= learning_rate * slope;
                }
                loss
            })
            .collect()
    }
}
