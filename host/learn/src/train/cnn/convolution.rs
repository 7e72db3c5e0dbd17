//! The forward pass of the convolutional layers, from an image to 1024 features.

use super::weights::Weights;
use super::{FEATURES, IMAGE};
use crate::train::aligned::Aligned;
use crate::train::kernel::{CHANNELS, Kernel, Left, multiply, pool};

/// Side of the image and of the outputs of the layers.
pub(super) const SIDE: usize = 32;
pub(super) const CONV1: usize = 28;
pub(super) const POOL1: usize = 13;
pub(super) const CONV2: usize = 9;
pub(super) const POOL2: usize = 4;
/// Values after the first pooling.
pub(super) const POOLED1: usize = POOL1 * POOL1 * CHANNELS;
/// Values of an image row and of a row after the first pooling.
pub(super) const IMAGE_ROW: usize = SIDE * 3;
pub(super) const POOLED1_ROW: usize = POOL1 * CHANNELS;
/// Values of an image plus one, since its last window is read one lane too far.
pub(super) const ROOMY_IMAGE: usize = IMAGE + 1;

/// The values of one sample that the backward pass needs.
pub(super) struct Trace {
    /// Values after the first pooling and ReLU.
    pub pooled1: Aligned,
    pub choices1: Vec<u8>,
    pub choices2: Vec<u8>,
}

/// The convolutional layers with their working memory.
pub(super) struct Extractor<'a> {
    kernel: Kernel,
    weights: &'a Weights<'a>,
    conv1: Aligned,
    conv2: Aligned,
}

impl<'a> Extractor<'a> {
    pub(super) fn new(kernel: Kernel, weights: &'a Weights<'a>) -> Self {
        let conv1 = Aligned::zeros(CONV1 * CONV1 * CHANNELS);
        let conv2 = Aligned::zeros(CONV2 * CONV2 * CHANNELS);
        Self {
            kernel,
            weights,
            conv1,
            conv2,
        }
    }

    /// Computes the features of an image and leaves a trace for the backward pass.
    pub(super) fn extract(&mut self, image: &[f32], trace: &mut Trace, features: &mut [f32]) {
        debug_assert_eq!(features.len(), FEATURES);
        let weights = self.weights;
        for (y, row) in self.conv1.chunks_exact_mut(CONV1 * CHANNELS).enumerate() {
            fill(row, weights.conv1_bias);
            let data = &image[y * IMAGE_ROW..];
            let left = Left {
                data,
                row: 3,
                runs: 5,
                run: 15,
                jump: IMAGE_ROW,
                step: 1,
            };
            multiply(self.kernel, CONV1, left, weights.conv1, row, CHANNELS);
        }
        pool(
            self.kernel,
            CONV1,
            &self.conv1,
            &mut trace.pooled1,
            &mut trace.choices1,
        );
        for (y, row) in self.conv2.chunks_exact_mut(CONV2 * CHANNELS).enumerate() {
            fill(row, weights.conv2_bias);
            let data = &trace.pooled1[y * POOLED1_ROW..];
            let (run, jump) = (5 * CHANNELS, POOLED1_ROW);
            let left = Left {
                data,
                row: CHANNELS,
                runs: 5,
                run,
                jump,
                step: 1,
            };
            multiply(self.kernel, CONV2, left, weights.conv2, row, CHANNELS);
        }
        pool(
            self.kernel,
            CONV2,
            &self.conv2,
            features,
            &mut trace.choices2,
        );
    }
}

impl Trace {
    pub(super) fn new() -> Self {
        Self {
            pooled1: Aligned::zeros(POOLED1),
            choices1: vec![0; POOLED1],
            choices2: vec![0; FEATURES],
        }
    }
}

/// Repeats `row` over `rows`.
pub(super) fn fill(rows: &mut [f32], row: &[f32]) {
    for to in rows.chunks_exact_mut(row.len()) {
        to.copy_from_slice(row);
    }
}

/// Maps bytes to [-1, 1] and adds a value. Inputs of one sign would make the loss steep in one
/// direction of every first-layer unit, which would need a smaller learning rate.
pub(super) fn to_real(image: &[u8; IMAGE]) -> Vec<f32> {
    let mut real = vec![0.0; ROOMY_IMAGE];
    for (to, &from) in real.iter_mut().zip(image) {
        *to = f32::from(from) / 127.5 - 1.0;
    }
    real
}
