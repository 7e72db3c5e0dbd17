//! The paper's convolutional network for CIFAR-10.
//!
//! conv 64 @ 5x5 (3 -> 64, valid), ReLU, max-pool 3x3 stride 2, conv 64 @ 5x5 (64 -> 64, valid),
//! ReLU, max-pool 3x3 stride 2, dense 1024 -> 384 -> 192 -> 10: 576,778 parameters.
//!
//! Images are stored by pixel with channels together, weights as `[row][column][in][out]`, so a row of
//! pixels and its channels are one run of memory. Both convolutions take fewer products than their
//! definition, by Winograd's minimal filtering. Pooling comes before ReLU (the two commute), and the
//! backward pass visits only the places that pooling chose.

mod backward;
mod convolution;
mod dense;
mod first;
mod objective;
mod second;
#[cfg(test)]
mod tests;
mod weights;

use super::{Kernel, Model, Objective, Tensor};
use crate::data::{Samples, Shape};
use objective::CnnObjective;

/// The convolutional network of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cnn {
    kernel: Kernel,
}

impl Cnn {
    /// Returns the network of the paper.
    #[must_use]
    pub const fn paper(kernel: Kernel) -> Self {
        Self { kernel }
    }
}

/// Values of an image.
const IMAGE: usize = 32 * 32 * 3;
const CLASSES: usize = 10;
/// Values that enter the dense layers.
const FEATURES: usize = 4 * 4 * 64;
/// Units of the first dense layer.
const DENSE1: usize = 384;
/// Units of the second dense layer.
const DENSE2: usize = 192;

impl Model for Cnn {
    fn tensors(&self) -> Vec<Tensor> {
        vec![
            Tensor::new("conv1", &[5, 5, 3, 64], limit(75)),
            Tensor::new("conv1_bias", &[64], 0.0),
            Tensor::new("conv2", &[5, 5, 64, 64], limit(1600)),
            Tensor::new("conv2_bias", &[64], 0.0),
            Tensor::new("dense1", &[FEATURES, DENSE1], limit(FEATURES)),
            Tensor::new("dense1_bias", &[DENSE1], 0.0),
            Tensor::new("dense2", &[DENSE1, DENSE2], limit(DENSE1)),
            Tensor::new("dense2_bias", &[DENSE2], 0.0),
            Tensor::new("dense3", &[DENSE2, CLASSES], limit(DENSE2)),
            Tensor::new("dense3_bias", &[CLASSES], 0.0),
        ]
    }

    fn objective(&self, samples: &Samples, indices: &[u32]) -> Box<dyn Objective> {
        assert_eq!(IMAGE, Shape::CIFAR10.bytes());
        let (images, rest) = samples.images.as_chunks::<IMAGE>();
        assert!(
            rest.is_empty() && images.len() == samples.len(),
            "images are not 32 x 32 RGB"
        );
        let images: Vec<[u8; IMAGE]> = indices.iter().map(|&at| images[at as usize]).collect();
        let labels: Vec<u8> = indices
            .iter()
            .map(|&at| samples.labels[at as usize])
            .collect();
        assert!(
            labels.iter().all(|&label| usize::from(label) < CLASSES),
            "a label beyond 9"
        );
        Box::new(CnnObjective {
            kernel: self.kernel,
            images,
            labels,
        })
    }
}

/// First weights lie within ±sqrt(3 / fan-in), biases are zero: LeCun's rule. With the perceptron's
/// ±1/sqrt(fan-in) signals almost vanish over five layers, and the first hundreds of steps hardly
/// lower the loss; with He's ±sqrt(6 / fan-in) the loss is so steep at first that by the loss bound of
/// `gleaner-cre` no plan is worth its energy.
fn limit(fan_in: usize) -> f64 {
    libm::sqrt(3.0 / fan_in as f64)
}
