//! Loss and gradient of the perceptron in two passes.
//!
//! 1. By samples, a block at a time: hidden layer, scores, errors of both layers, and the
//!    block's part of every small gradient.
//! 2. By pixels: the gradient of each row of W1 is the sum of the hidden errors of the samples
//!    whose pixel is not zero, scaled by the pixel.
//!
//! Every sum runs over samples in order (the blocks' parts in the order of blocks), so neither
//! pass depends on which thread does what.

use rayon::prelude::*;

use super::Mlp;
use super::sparse::{Block, SEGMENT, Sparse};
use crate::train::aligned::Aligned;
use crate::train::kernel::{Left, ROW, add_rows, multiply};
use crate::train::softmax::{self, LANES, Score};
use crate::train::{Evaluation, Objective};

/// Rows of W1 that one piece of the second pass sums.
const PIXELS: usize = 56;

/// F_i of a perceptron.
#[derive(Debug)]
pub(super) struct MlpObjective {
    model: Mlp,
    data: Sparse,
}

/// The parameters with rows padded to whole vectors.
struct Weights {
    w1: Aligned,
    b1: [f32; ROW],
    w2: Aligned,
    w2_transposed: Aligned,
    b2: [f32; LANES],
}

/// What the first pass leaves of a block.
struct Pass {
    score: Score,
    /// One row of hidden errors per sample.
    hidden_errors: Aligned,
    w2: Aligned,
    b1: [f32; ROW],
    b2: [f32; LANES],
}

impl MlpObjective {
    pub(super) fn new(model: Mlp, data: Sparse) -> Self {
        let labels = || data.blocks.iter().flat_map(|block| &block.labels);
        let beyond = labels().find(|&&label| usize::from(label) >= model.outputs);
        assert!(
            beyond.is_none(),
            "label {beyond:?} is beyond {} outputs",
            model.outputs
        );
        Self { model, data }
    }

    fn weights(&self, parameters: &[f32]) -> Weights {
        let Mlp {
            inputs,
            hidden,
            outputs,
            ..
        } = self.model;
        let expected = (inputs + 1) * hidden + (hidden + 1) * outputs;
        assert_eq!(
            parameters.len(),
            expected,
            "not the parameters of this network"
        );
        let (w1, rest) = parameters.split_at(inputs * hidden);
        let (b1, rest) = rest.split_at(hidden);
        let (w2, b2) = rest.split_at(hidden * outputs);
        let mut weights = Weights {
            w1: padded::<ROW>(w1, hidden),
            b1: [0.0; ROW],
            w2: padded::<LANES>(w2, outputs),
            w2_transposed: Aligned::zeros(outputs * ROW),
            b2: [0.0; LANES],
        };
        weights.b1[..hidden].copy_from_slice(b1);
        weights.b2[..outputs].copy_from_slice(b2);
        for (unit, row) in w2.chunks_exact(outputs).enumerate() {
            for (class, &value) in row.iter().enumerate() {
                weights.w2_transposed[class * ROW + unit] = value;
            }
        }
        weights
    }

    /// Returns the hidden layer after ReLU, one row per sample, and the class scores.
    fn forward(&self, weights: &Weights, block: &Block) -> (Aligned, Aligned) {
        let samples = block.labels.len();
        let kernel = self.model.kernel;
        let mut hidden = Aligned::repeat(&weights.b1, samples);
        for (segment, rows) in weights.w1.chunks(SEGMENT * ROW).enumerate() {
            let first = segment * samples;
            add_rows(
                kernel,
                &block.by_sample,
                first,
                &self.data.table,
                rows,
                &mut hidden,
            );
        }
        for value in hidden.iter_mut() {
            *value = value.max(0.0);
        }
        let mut scores = Aligned::repeat(&weights.b2, samples);
        let left = Left::matrix(&hidden, ROW, self.model.hidden);
        multiply(kernel, samples, left, &weights.w2, &mut scores, LANES);
        (hidden, scores)
    }

    fn first_pass(&self, weights: &Weights, block: &Block) -> Pass {
        let Mlp {
            hidden: units,
            outputs,
            kernel,
            ..
        } = self.model;
        let samples = block.labels.len();
        let (hidden, mut errors) = self.forward(weights, block);
        let scale = 1.0 / self.data.samples as f32;
        let score = softmax::errors(&mut errors, &block.labels, outputs, scale);
        let mut w2 = Aligned::zeros(units * LANES);
        let transposed = Left::transposed(&hidden, ROW, samples);
        multiply(kernel, units, transposed, &errors, &mut w2, LANES);
        let mut hidden_errors = Aligned::zeros(samples * ROW);
        let left = Left::matrix(&errors, LANES, outputs);
        multiply(
            kernel,
            samples,
            left,
            &weights.w2_transposed,
            &mut hidden_errors,
            ROW,
        );
        for (error, value) in hidden_errors.iter_mut().zip(hidden.iter()) {
            *error = if *value > 0.0 { *error } else { 0.0 };
        }
        let (b1, b2) = (sum_rows(&hidden_errors), sum_rows(&errors));
        Pass {
            score,
            hidden_errors,
            w2,
            b1,
            b2,
        }
    }

    /// Sums the gradient of the rows of W1 from `first` on.
    fn second_pass(&self, passes: &[Pass], first: usize, gradient: &mut [f32]) {
        let units = self.model.hidden;
        let mut rows = Aligned::zeros(gradient.len() / units * ROW);
        for (block, pass) in self.data.blocks.iter().zip(passes) {
            let errors = &pass.hidden_errors;
            let table = &self.data.table;
            add_rows(
                self.model.kernel,
                &block.by_pixel,
                first,
                table,
                errors,
                &mut rows,
            );
        }
        for (to, from) in gradient.chunks_exact_mut(units).zip(rows.chunks_exact(ROW)) {
            to.copy_from_slice(&from[..units]);
        }
    }
}

impl Objective for MlpObjective {
    fn samples(&self) -> usize {
        self.data.samples
    }

    fn gradient(&self, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        let Mlp {
            inputs,
            hidden,
            outputs,
            ..
        } = self.model;
        assert_eq!(
            parameters.len(),
            gradient.len(),
            "the gradient has another length"
        );
        let weights = self.weights(parameters);
        let passes: Vec<Pass> = self
            .data
            .blocks
            .par_iter()
            .map(|block| self.first_pass(&weights, block))
            .collect();
        let (first_layer, rest) = gradient.split_at_mut(inputs * hidden);
        first_layer
            .par_chunks_mut(PIXELS * hidden)
            .enumerate()
            .for_each(|(piece, rows)| {
                self.second_pass(&passes, piece * PIXELS, rows);
            });
        let (b1, rest) = rest.split_at_mut(hidden);
        let (w2, b2) = rest.split_at_mut(hidden * outputs);
        rest_of_gradient(&passes, b1, w2, b2);
        let score = passes
            .iter()
            .fold(Score::default(), |sum, pass| sum.add(pass.score));
        score.loss / self.data.samples as f64
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let weights = self.weights(parameters);
        let score = |block: &Block| {
            let (_, mut scores) = self.forward(&weights, block);
            softmax::errors(&mut scores, &block.labels, self.model.outputs, 1.0)
        };
        let scores: Vec<Score> = self.data.blocks.par_iter().map(score).collect();
        let score = scores.into_iter().fold(Score::default(), Score::add);
        let samples = self.data.samples;
        Evaluation {
            loss: score.loss / samples as f64,
            correct: score.correct,
            samples,
        }
    }
}

/// Joins the blocks' parts of the small gradients in the order of blocks.
fn rest_of_gradient(passes: &[Pass], b1: &mut [f32], w2: &mut [f32], b2: &mut [f32]) {
    let outputs = b2.len();
    b1.fill(0.0);
    w2.fill(0.0);
    b2.fill(0.0);
    for pass in passes {
        add(b1, &pass.b1);
        add(b2, &pass.b2);
        for (to, from) in w2
            .chunks_exact_mut(outputs)
            .zip(pass.w2.chunks_exact(LANES))
        {
            add(to, from);
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Sums rows of `N` values in order.
fn sum_rows<const N: usize>(rows: &[f32]) -> [f32; N] {
    let mut sum = [0.0; N];
    for row in rows.as_chunks::<N>().0 {
        for (to, from) in sum.iter_mut().zip(row) {
            *to += from;
        }
    }
    sum
}

/// Widens rows of `width` values to `N`, with zeros.
fn padded<const N: usize>(rows: &[f32], width: usize) -> Aligned {
    let mut wide = Aligned::zeros(rows.len() / width * N);
    for (to, from) in wide.chunks_exact_mut(N).zip(rows.chunks_exact(width)) {
        to[..width].copy_from_slice(from);
    }
    wide
}
