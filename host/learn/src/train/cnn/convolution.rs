//! The forward pass of the convolutional layers, from an image to 1024 features.

use super::first::First;
use super::second::Second;
use super::weights::Weights;
use super::{FEATURES, IMAGE};
use crate::train::aligned::Aligned;
use crate::train::kernel::{CHANNELS, Kernel, pool};

/// Side of the image and of the outputs of the layers.
pub(super) const SIDE: usize = 32;
/// The first convolution has 28 rows and columns; the pooling leaves out the last.
pub(super) const CONV1: usize = 27;
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

/// Most images that are taken together: their products at a point share the filter that was read.
pub(super) const GROUP: usize = 4;

/// The convolutional layers with their working memory.
pub(super) struct Extractor<'a> {
    kernel: Kernel,
    first: First<'a>,
    second: Second<'a>,
}

impl<'a> Extractor<'a> {
    pub(super) fn new(kernel: Kernel, weights: &'a Weights<'a>) -> Self {
        Self {
            kernel,
            first: First::new(kernel, weights),
            second: Second::new(kernel, weights, GROUP),
        }
    }

    /// Computes the features of at most [`GROUP`] images and leaves a trace of each for the
    /// backward pass.
    pub(super) fn extract(
        &mut self,
        images: &[[u8; IMAGE]],
        traces: &mut [Trace],
        features: &mut [f32],
    ) {
        debug_assert_eq!(features.len(), images.len() * FEATURES);
        let kernel = self.kernel;
        for (image, trace) in images.iter().zip(&mut *traces) {
            let sums = self.first.convolve(&to_real(image));
            let (pooled, choices) = (&mut trace.pooled1, &mut trace.choices1);
            pool(kernel, CONV1, sums, pooled, choices);
        }
        let group = images.len();
        self.second.convolve(&traces[..group]);
        let features = features.chunks_exact_mut(FEATURES);
        for (number, (features, trace)) in features.zip(traces).enumerate() {
            let sums = self.second.output(number, group);
            pool(kernel, CONV2, sums, features, &mut trace.choices2);
        }
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

/// Maps bytes to [-1, 1] and adds a value. Inputs of one sign would make the loss steep in one
/// direction of every first-layer unit, which would need a smaller learning rate.
pub(super) fn to_real(image: &[u8; IMAGE]) -> Vec<f32> {
    let mut real = vec![0.0; ROOMY_IMAGE];
    for (to, &from) in real.iter_mut().zip(image) {
        *to = f32::from(from) / 127.5 - 1.0;
    }
    real
}
