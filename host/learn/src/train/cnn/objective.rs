//! Loss and gradient of the convolutional network, a chunk of samples at a time.
//!
//! Chunks depend on the number of samples alone, and their gradients are added in order.

use std::cell::RefCell;

use rayon::prelude::*;

use super::backward::Reverse;
use super::convolution::{Extractor, GROUP, Trace, to_real};
use super::dense::Batch;
use super::weights::{PARAMETERS, Turned, Weights};
use super::{FEATURES, IMAGE};
use crate::train::aligned::Aligned;
use crate::train::softmax::Score;
use crate::train::{Evaluation, Kernel, Objective};

/// Most samples of a chunk: enough for efficient products, few enough for many threads.
const CHUNK: usize = 125;
/// Parameters that one piece of the final sum covers.
const PIECE: usize = 16_384;

thread_local! {
    /// Traces of earlier chunks; whoever takes one writes it wholly before reading it.
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
}

/// The loss F_i of the convolutional network.
#[derive(Debug)]
pub(super) struct CnnObjective {
    pub kernel: Kernel,
    pub images: Vec<[u8; IMAGE]>,
    pub labels: Vec<u8>,
}

impl CnnObjective {
    /// Returns the samples of every chunk, of nearly equal size.
    fn chunks(&self) -> Vec<(&[[u8; IMAGE]], &[u8])> {
        let samples = self.labels.len();
        let chunks = samples.div_ceil(CHUNK);
        (0..chunks)
            .map(|number| {
                let range = samples * number / chunks..samples * (number + 1) / chunks;
                (&self.images[range.clone()], &self.labels[range])
            })
            .collect()
    }

    fn chunk_gradient(
        &self,
        weights: &Weights,
        turned: &Turned,
        (images, labels): (&[[u8; IMAGE]], &[u8]),
    ) -> (Score, Aligned) {
        let mut extractor = Extractor::new(self.kernel, weights);
        let mut features = Aligned::zeros(images.len() * FEATURES);
        // The traces of a chunk are megabytes, which are kept: fresh ones cost a page fault each 4 KB.
        let mut traces = TRACES.take();
        traces.resize_with(traces.len().max(images.len()), Trace::new);
        let groups = images.chunks(GROUP).zip(traces.chunks_mut(GROUP));
        for ((images, traces), features) in groups.zip(features.chunks_mut(GROUP * FEATURES)) {
            extractor.extract(images, traces, features);
        }
        let mut gradient = Aligned::zeros(PARAMETERS);
        let mut batch = Batch::forward(self.kernel, weights, features);
        let score = batch.judge(labels, 1.0 / self.labels.len() as f32);
        let errors = batch.backward(self.kernel, turned, &mut gradient);
        let mut reverse = Reverse::new(self.kernel, turned);
        let errors = errors.chunks_exact(FEATURES);
        for ((image, trace), errors) in images.iter().zip(&traces).zip(errors) {
            reverse.add(&to_real(image), trace, errors);
        }
        reverse.finish(&mut gradient);
        TRACES.set(traces);
        (score, gradient)
    }

    fn chunk_score(&self, weights: &Weights, (images, labels): (&[[u8; IMAGE]], &[u8])) -> Score {
        let mut extractor = Extractor::new(self.kernel, weights);
        let mut features = Aligned::zeros(images.len() * FEATURES);
        let mut traces: [Trace; GROUP] = std::array::from_fn(|_| Trace::new());
        let groups = images
            .chunks(GROUP)
            .zip(features.chunks_mut(GROUP * FEATURES));
        for (images, features) in groups {
            extractor.extract(images, &mut traces, features);
        }
        Batch::forward(self.kernel, weights, features).judge(labels, 1.0)
    }
}

impl Objective for CnnObjective {
    fn samples(&self) -> usize {
        self.labels.len()
    }

    fn gradient(&self, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        assert_eq!(
            parameters.len(),
            gradient.len(),
            "the gradient has another length"
        );
        let parameters = Aligned::copy(parameters);
        let (weights, turned) =
            rayon::join(|| Weights::new(&parameters), || Turned::new(&parameters));
        let parts: Vec<(Score, Aligned)> = self
            .chunks()
            .into_par_iter()
            .map(|chunk| self.chunk_gradient(&weights, &turned, chunk))
            .collect();
        gradient
            .par_chunks_mut(PIECE)
            .enumerate()
            .for_each(|(piece, sums)| {
                sums.fill(0.0);
                for (_, part) in &parts {
                    for (sum, value) in sums.iter_mut().zip(&part[piece * PIECE..]) {
                        *sum += value;
                    }
                }
            });
        let score = parts
            .iter()
            .fold(Score::default(), |sum, (score, _)| sum.add(*score));
        score.loss / self.labels.len() as f64
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let parameters = Aligned::copy(parameters);
        let weights = Weights::new(&parameters);
        let scores: Vec<Score> = self
            .chunks()
            .into_par_iter()
            .map(|chunk| self.chunk_score(&weights, chunk))
            .collect();
        let score = scores.into_iter().fold(Score::default(), Score::add);
        let samples = self.labels.len();
        Evaluation {
            loss: score.loss / samples as f64,
            correct: score.correct,
            samples,
        }
    }
}
