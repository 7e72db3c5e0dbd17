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
use super::weights::{self, Small, Weights};
use crate::train::aligned::Aligned;
use crate::train::kernel::{Left, Lists, ROW, RowSum, add_rows, multiply};
use crate::train::softmax::{self, LANES, Score};
use crate::train::{Evaluation, Objective};

/// Rows of W1 that one piece of the second pass sums.
const PIXELS: usize = 56;

/// The loss F_i of a perceptron.
#[derive(Debug)]
pub(super) struct MlpObjective {
    model: Mlp,
    data: Sparse,
}

/// The result of the first pass over a block.
struct Pass {
    score: Score,
    /// One row of hidden errors per sample.
    hidden_errors: Aligned,
    small: Small,
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

    fn row_sum<'a>(&'a self, lists: &'a Lists, first: usize) -> RowSum<'a> {
        RowSum {
            lists,
            first,
            table: &self.data.table,
            used: self.model.hidden,
        }
    }

    /// Returns the hidden layer after ReLU, one row per sample, and the class scores.
    fn forward(&self, weights: &Weights, block: &Block) -> (Aligned, Aligned) {
        let samples = block.labels.len();
        let kernel = self.model.kernel;
        let mut hidden = Aligned::repeat(&weights.small.b1, samples);
        for (segment, rows) in weights.w1.chunks(SEGMENT * ROW).enumerate() {
            let sum = self.row_sum(&block.by_sample, segment * samples);
            add_rows(kernel, sum, rows, &mut hidden);
        }
        for value in hidden.iter_mut() {
            *value = value.max(0.0);
        }
        let mut scores = Aligned::repeat(&weights.small.b2, samples);
        let left = Left::matrix(&hidden, ROW, self.model.hidden);
        multiply(kernel, samples, left, &weights.small.w2, &mut scores, LANES);
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
        let mut small = Small::zeros(&self.model);
        let transposed = Left::transposed(&hidden, ROW, samples);
        multiply(kernel, units, transposed, &errors, &mut small.w2, LANES);
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
        small.b1 = sum_rows(&hidden_errors);
        small.b2 = sum_rows(&errors);
        Pass {
            score,
            hidden_errors,
            small,
        }
    }

    /// Sums the gradient of the rows of W1 from `first` on.
    fn second_pass(&self, passes: &[Pass], first: usize, rows: &mut [f32]) {
        for (block, pass) in self.data.blocks.iter().zip(passes) {
            let sum = self.row_sum(&block.by_pixel, first);
            add_rows(self.model.kernel, sum, &pass.hidden_errors, rows);
        }
    }

    fn first_passes(&self, weights: &Weights) -> Vec<Pass> {
        let pass = |block| self.first_pass(weights, block);
        self.data.blocks.par_iter().map(pass).collect()
    }

    /// Returns the loss and the gradient of everything but W1, the blocks' parts joined in the
    /// order of blocks.
    fn join(&self, passes: &[Pass]) -> (f64, Small) {
        let mut sum = (Score::default(), Small::zeros(&self.model));
        for pass in passes {
            sum = (sum.0.add(pass.score), sum.1.add(&pass.small));
        }
        (sum.0.loss / self.data.samples as f64, sum.1)
    }

    /// Takes one full-batch step and returns the loss before it.
    fn step(&self, weights: &mut Weights, learning_rate: f32) -> f64 {
        let passes = self.first_passes(weights);
        weights
            .w1
            .par_chunks_mut(PIXELS * ROW)
            .enumerate()
            .for_each(|(piece, rows)| {
                let mut slope = Aligned::zeros(rows.len());
                self.second_pass(&passes, piece * PIXELS, &mut slope);
                weights::descend(rows, &slope, learning_rate);
            });
        let (loss, slope) = self.join(&passes);
        weights.descend(&slope, learning_rate);
        loss
    }
}

impl Objective for MlpObjective {
    fn samples(&self) -> usize {
        self.data.samples
    }

    fn gradient(&self, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        assert_eq!(
            parameters.len(),
            gradient.len(),
            "the gradient has another length"
        );
        let passes = self.first_passes(&Weights::read(&self.model, parameters));
        let mut w1 = Aligned::zeros(self.model.inputs * ROW);
        w1.par_chunks_mut(PIXELS * ROW)
            .enumerate()
            .for_each(|(piece, rows)| self.second_pass(&passes, piece * PIXELS, rows));
        let (loss, small) = self.join(&passes);
        weights::write(&self.model, &w1, &small, gradient);
        loss
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let weights = Weights::read(&self.model, parameters);
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

    /// The weights stay padded from step to step, and no gradient of W1 is kept.
    fn descend(&self, parameters: &mut [f32], epochs: u32, learning_rate: f32) -> Vec<f64> {
        let mut weights = Weights::read(&self.model, parameters);
        let losses = (0..epochs)
            .map(|_| self.step(&mut weights, learning_rate))
            .collect();
        weights::write(&self.model, &weights.w1, &weights.small, parameters);
        losses
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
