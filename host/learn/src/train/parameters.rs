//! The flat parameter vector: which tensor lies where, and its first values.

use gleaner_shared::rng::{Purpose, Rng};

/// One tensor of a flat parameter vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// What it is called in a saved model.
    pub name: &'static str,
    /// Its dimensions, the slowest first.
    pub shape: Vec<usize>,
    /// Its first values are uniform within plus and minus this.
    pub limit: f64,
}

impl Tensor {
    /// Describes a tensor.
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

    /// Says whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Draws every tensor uniform within its limit; one stream, tensors in order.
pub(super) fn initialise(tensors: &[Tensor], seed: u64) -> Vec<f32> {
    let mut rng = Rng::stream(seed, Purpose::Initialise, 0, 0);
    let mut values = Vec::with_capacity(tensors.iter().map(Tensor::len).sum());
    for tensor in tensors {
        let draw = || ((2.0 * rng.uniform() - 1.0) * tensor.limit) as f32;
        values.extend(std::iter::repeat_with(draw).take(tensor.len()));
    }
    values
}
