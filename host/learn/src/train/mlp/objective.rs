//! Loss and gradient of the perceptron in two passes.
//!
//! 1. By samples, a block at a time: hidden layer, scores, errors of both layers, and the
//!    block's part of every small gradient.
//! 2. By pixels: the gradient of each row of W1 is the sum of the hidden errors of the samples
//!    whose pixel is not zero, scaled by the pixel.
//!
//! Every sum runs over samples in order (the blocks' parts in the order of blocks), so neither
//! pass depends on which thread does what.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::Mlp;
use super::sparse::{BLOCK, Block, SEGMENT, Sparse};
use super::weights::{self, Small, Weights};
use crate::train::aligned::Aligned;
use crate::train::kernel::{
    Left, Lists, ROW, RowSum, add_rows, descend, errors, gate, multiply, rectify, repeat,
};
use crate::train::softmax::{LANES, Score};
use crate::train::{Evaluation, Objective};

/// Rows of W1 that one piece of the second pass sums.
const PIXELS: usize = 98;

/// The loss F_i of a perceptron.
#[derive(Debug)]
pub(super) struct MlpObjective {
    model: Mlp,
    data: Sparse,
}

/// The memory of a training, kept for the next one: fresh memory costs a page fault every 4 KB.
struct Workspace {
    weights: Weights,
    /// One of each block.
    passes: Vec<Pass>,
}

/// Workspaces that no training uses now.
static SPARE: Mutex<Vec<Workspace>> = Mutex::new(Vec::new());

/// The result of the first pass over a block.
struct Pass {
    score: Score,
    /// One row of hidden errors per sample.
    hidden_errors: Aligned,
    small: Small,
}

/// Intermediate results.
struct Scratch {
    /// One row per sample of a block: its hidden layer, or the errors of that layer's output.
    hidden: Aligned,
    /// One row per sample of a block: scores of the classes, then their errors.
    scores: Aligned,
    /// The gradient of a piece of W1.
    slope: Aligned,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        hidden: Aligned::zeros(BLOCK * ROW),
        scores: Aligned::zeros(BLOCK * LANES),
        slope: Aligned::zeros(PIXELS * ROW),
    });
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

    /// Takes a spare workspace, or a new one, for these parameters.
    fn workspace(&self, parameters: &[f32]) -> Workspace {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut workspace = spare.unwrap_or_else(|| Workspace {
            weights: Weights::zeros(&self.model),
            passes: Vec::new(),
        });
        workspace.weights.read(&self.model, parameters);
        let blocks = &self.data.blocks;
        workspace.passes.resize_with(blocks.len(), || Pass {
            score: Score::default(),
            hidden_errors: Aligned::zeros(0),
            small: Small::zeros(&self.model),
        });
        for (pass, block) in workspace.passes.iter_mut().zip(blocks) {
            pass.hidden_errors.resize(block.labels.len() * ROW);
            pass.small.resize(&self.model);
        }
        workspace
    }

    /// Computes the hidden layer after ReLU and the class scores, one row per sample.
    fn forward(&self, weights: &Weights, block: &Block, hidden: &mut [f32], scores: &mut [f32]) {
        let samples = block.labels.len();
        let kernel = self.model.kernel;
        repeat(kernel, &weights.small.b1, hidden);
        for (segment, rows) in weights.w1.chunks(SEGMENT * ROW).enumerate() {
            let sum = self.row_sum(&block.by_sample, segment * samples);
            add_rows(kernel, sum, rows, hidden);
        }
        rectify(kernel, hidden);
        scores.as_chunks_mut().0.fill(weights.small.b2);
        let left = Left::matrix(hidden, ROW, self.model.hidden);
        multiply(kernel, samples, left, &weights.small.w2, scores, LANES);
    }

    fn first_pass(&self, weights: &Weights, block: &Block, scratch: &mut Scratch, pass: &mut Pass) {
        let Mlp {
            hidden: units,
            outputs,
            kernel,
            ..
        } = self.model;
        let samples = block.labels.len();
        let Pass {
            score,
            hidden_errors: hidden,
            small,
        } = pass;
        let scores = &mut scratch.scores[..samples * LANES];
        let back = &mut scratch.hidden[..samples * ROW];
        self.forward(weights, block, hidden, scores);
        let scale = 1.0 / self.data.samples as f32;
        *score = errors(kernel, scores, &block.labels, outputs, scale);
        small.w2.fill(0.0);
        let transposed = Left::transposed(hidden, ROW, samples);
        multiply(kernel, units, transposed, scores, &mut small.w2, LANES);
        back.fill(0.0);
        let left = Left::matrix(scores, LANES, outputs);
        multiply(kernel, samples, left, &weights.w2_transposed, back, ROW);
        small.b1 = gate(kernel, back, hidden);
        small.b2 = sum_rows(scores);
    }

    /// Sums the gradient of the rows of W1 from `first` on.
    fn second_pass(&self, passes: &[Pass], first: usize, rows: &mut [f32]) {
        for (block, pass) in self.data.blocks.iter().zip(passes) {
            let sum = self.row_sum(&block.by_pixel, first);
            add_rows(self.model.kernel, sum, &pass.hidden_errors, rows);
        }
    }

    fn first_passes(&self, Workspace { weights, passes }: &mut Workspace) {
        let blocks = self.data.blocks.par_iter().zip(passes);
        blocks.for_each(|(block, pass)| {
            SCRATCH.with_borrow_mut(|scratch| self.first_pass(weights, block, scratch, pass));
        });
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
    fn step(&self, workspace: &mut Workspace, learning_rate: f32) -> f64 {
        self.first_passes(workspace);
        let Workspace { weights, passes } = workspace;
        let pieces = weights.w1.par_chunks_mut(PIXELS * ROW).enumerate();
        pieces.for_each(|(piece, rows)| {
            SCRATCH.with_borrow_mut(|scratch| {
                let slope = &mut scratch.slope[..rows.len()];
                slope.fill(0.0);
                self.second_pass(passes, piece * PIXELS, slope);
                descend(self.model.kernel, rows, slope, learning_rate);
            });
        });
        let (loss, slope) = self.join(passes);
        weights.descend(self.model.kernel, &slope, learning_rate);
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
        let mut workspace = self.workspace(parameters);
        self.first_passes(&mut workspace);
        let passes = &workspace.passes;
        let mut w1 = Aligned::zeros(self.model.inputs * ROW);
        w1.par_chunks_mut(PIXELS * ROW)
            .enumerate()
            .for_each(|(piece, rows)| self.second_pass(passes, piece * PIXELS, rows));
        let (loss, small) = self.join(passes);
        weights::write(&self.model, &w1, &small, gradient);
        workspace.keep();
        loss
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let mut weights = Weights::zeros(&self.model);
        weights.read(&self.model, parameters);
        let score = |block: &Block| {
            SCRATCH.with_borrow_mut(|Scratch { hidden, scores, .. }| {
                let samples = block.labels.len();
                let hidden = &mut hidden[..samples * ROW];
                let scores = &mut scores[..samples * LANES];
                self.forward(&weights, block, hidden, scores);
                let (classes, kernel) = (self.model.outputs, self.model.kernel);
                errors(kernel, scores, &block.labels, classes, 1.0)
            })
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
        let mut workspace = self.workspace(parameters);
        let losses = (0..epochs)
            .map(|_| self.step(&mut workspace, learning_rate))
            .collect();
        let Weights { w1, small, .. } = &workspace.weights;
        weights::write(&self.model, w1, small, parameters);
        workspace.keep();
        losses
    }
}

impl Workspace {
    fn keep(self) {
        SPARE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(self);
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
