//! Training in floating point: the networks of the paper, full-batch gradient descent, and an
//! engine that trains many clients at once.
//!
//! - [`Model`] is an architecture; [`Objective`] is its loss F_i on one client's data.
//! - [`mlp`] is the perceptron for sparse inputs (MNIST), [`cnn`] the convolutional network of CIFAR-10,
//!   and [`Perceptron`] a dense perceptron of any sizes. On MNIST the dense one takes 6.3 times as long
//!   and sums in another order, so both stay.
//! - [`FixedClient`] trains in integers, by the code of the firmware.
//! - [`Engine`] spreads the work over threads.
//! - `kernel` holds the few inner loops that decide the speed.
//!
//! Results do not depend on the number of threads, the build profile or the machine's kernel: work is
//! divided by the data alone, every sum has one stated order, and every kernel does the same fused
//! multiply-adds in that order.

mod aligned;
pub mod cnn;
mod engine;
mod fixed;
mod kernel;
mod kind;
pub mod mlp;
mod perceptron;
mod softmax;

pub use cnn::Cnn;
pub use engine::{Engine, Job, Trained};
pub use fixed::{FixedClient, FixedModel, TooLarge};
pub use kernel::{Kernel, KernelError};
pub use kind::{ModelKind, NetworkError, sizes};
pub use mlp::Mlp;
pub use perceptron::Perceptron;

pub(crate) use aligned::Aligned;
pub(crate) use kernel::{Left, multiply};

use gleaner_shared::rng::{Purpose, Rng};

use crate::data::Samples;

/// Loss and accuracy of a model on some data.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation {
    /// The mean cross-entropy, in nats.
    pub loss: f64,
    /// Number of correctly classified samples.
    pub correct: usize,
    pub samples: usize,
}

impl Evaluation {
    /// Returns the share of correctly classified samples; 0 without samples.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.samples.max(1) as f64
    }
}

/// An architecture. Its parameters are one flat vector of the tensors [`Model::tensors`].
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
        initialise(&self.tensors(), seed)
    }
}

/// The loss F_i of one client (or of the test set) as a function of the parameters.
pub trait Objective: Send + Sync {
    /// Returns the number of samples D_i.
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

/// One tensor of a flat parameter vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name of the tensor in a saved model.
    pub name: &'static str,
    /// Dimensions, the slowest first.
    pub shape: Vec<usize>,
    /// Bound of the initial values, which are uniform within plus and minus this.
    pub limit: f64,
}

impl Tensor {
    /// Describes a tensor by its fields.
    #[must_use]
    pub fn new(name: &'static str, shape: &[usize], limit: f64) -> Self {
        Self {
            name,
            shape: shape.to_vec(),
            limit,
        }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Draws every tensor uniform within its limit; one stream, tensors in order.
fn initialise(tensors: &[Tensor], seed: u64) -> Vec<f32> {
    let mut rng = Rng::stream(seed, Purpose::Initialise, 0, 0);
    let mut values = Vec::with_capacity(tensors.iter().map(Tensor::len).sum());
    for tensor in tensors {
        let draw = || ((2.0 * rng.uniform() - 1.0) * tensor.limit) as f32;
        values.extend(std::iter::repeat_with(draw).take(tensor.len()));
    }
    values
}
