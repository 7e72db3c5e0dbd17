//! The dense layers, from features to class scores, forward and backward.

use super::weights::{LAYOUT, Turned, Weights};
use super::{CLASSES, DENSE1, DENSE2, FEATURES};
use crate::train::aligned::Aligned;
use crate::train::kernel::{Kernel, Left, multiply};
use crate::train::softmax::{self, LANES, Score};

/// The values of every layer for a batch of samples, one row each.
pub(super) struct Batch {
    features: Aligned,
    hidden1: Aligned,
    hidden2: Aligned,
    scores: Aligned,
}

impl Batch {
    /// Computes the three layers.
    pub(super) fn forward(kernel: Kernel, weights: &Weights, features: Aligned) -> Self {
        let count = features.len() / FEATURES;
        let layer = |inputs: &[f32], depth, matrix: &[f32], bias: &[f32]| {
            let width = bias.len();
            let mut outputs = Aligned::repeat(bias, count);
            multiply(
                kernel,
                count,
                Left::matrix(inputs, depth, depth),
                matrix,
                &mut outputs,
                width,
            );
            outputs
        };
        let mut hidden1 = layer(&features, FEATURES, weights.dense1, weights.dense1_bias);
        rectify(&mut hidden1);
        let mut hidden2 = layer(&hidden1, DENSE1, weights.dense2, weights.dense2_bias);
        rectify(&mut hidden2);
        let scores = layer(&hidden2, DENSE2, &weights.dense3, &weights.dense3_bias);
        Self {
            features,
            hidden1,
            hidden2,
            scores,
        }
    }

    /// Replaces the scores by errors times `scale`; returns loss and accuracy.
    pub(super) fn judge(&mut self, labels: &[u8], scale: f32) -> Score {
        softmax::errors(&mut self.scores, labels, CLASSES, scale)
    }

    /// Adds the dense gradients and returns the errors of the features; [`Self::judge`] must have
    /// replaced the scores.
    pub(super) fn backward(self, kernel: Kernel, turned: &Turned, gradient: &mut [f32]) -> Aligned {
        let count = self.features.len() / FEATURES;
        let errors3 = self.scores;
        let mut last = Aligned::zeros(DENSE2 * LANES);
        let left = Left::transposed(&self.hidden2, DENSE2, count);
        multiply(kernel, DENSE2, left, &errors3, &mut last, LANES);
        let rows = gradient[LAYOUT.dense3].chunks_exact_mut(CLASSES);
        for (to, from) in rows.zip(last.chunks_exact(LANES)) {
            add(to, from);
        }
        errors3
            .chunks_exact(LANES)
            .for_each(|row| add(&mut gradient[LAYOUT.dense3_bias], row));

        let left = Left::matrix(&errors3, LANES, CLASSES);
        let errors2 = back(kernel, left, &turned.dense3, &self.hidden2, DENSE2);
        let left = Left::transposed(&self.hidden1, DENSE1, count);
        multiply(
            kernel,
            DENSE1,
            left,
            &errors2,
            &mut gradient[LAYOUT.dense2],
            DENSE2,
        );
        errors2
            .chunks_exact(DENSE2)
            .for_each(|row| add(&mut gradient[LAYOUT.dense2_bias], row));

        let left = Left::matrix(&errors2, DENSE2, DENSE2);
        let errors1 = back(kernel, left, &turned.dense2, &self.hidden1, DENSE1);
        let left = Left::transposed(&self.features, FEATURES, count);
        multiply(
            kernel,
            FEATURES,
            left,
            &errors1,
            &mut gradient[LAYOUT.dense1],
            DENSE1,
        );
        errors1
            .chunks_exact(DENSE1)
            .for_each(|row| add(&mut gradient[LAYOUT.dense1_bias], row));

        let left = Left::matrix(&errors1, DENSE1, DENSE1);
        back(kernel, left, &turned.dense1, &self.features, FEATURES)
    }
}

/// Returns the errors of a layer's inputs: those of its outputs times the transposed matrix, or 0 where
/// the ReLU was inactive.
fn back(kernel: Kernel, errors: Left, turned: &[f32], inputs: &[f32], width: usize) -> Aligned {
    let mut back = Aligned::zeros(inputs.len());
    multiply(
        kernel,
        inputs.len() / width,
        errors,
        turned,
        &mut back,
        width,
    );
    for (error, &input) in back.iter_mut().zip(inputs) {
        *error = if input > 0.0 { *error } else { 0.0 };
    }
    back
}

fn rectify(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
