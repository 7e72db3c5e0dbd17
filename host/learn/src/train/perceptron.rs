//! A dense perceptron with one or two hidden ReLU layers and softmax cross-entropy, for networks larger
//! than [`Mlp`](super::Mlp) supports.
//!
//! Rows of units are padded to whole vectors. Chunks depend on the number of samples alone, and
//! their gradients are added in order.

use rayon::prelude::*;

use super::aligned::Aligned;
use super::kernel::{Kernel, Left, multiply};
use super::mlp::limit;
use super::softmax::{self, LANES, Score};
use super::{Evaluation, Model, Objective, Tensor};
use crate::data::Samples;

/// Most samples of a chunk.
const CHUNK: usize = 125;

/// The names of weights and bias of each layer.
const NAMES: [(&str, &str); 3] = [("w1", "b1"), ("w2", "b2"), ("w3", "b3")];

/// A perceptron of any sizes, with dense products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Perceptron {
    /// Number of inputs, units of every hidden layer, classes.
    sizes: Vec<usize>,
    kernel: Kernel,
}

impl Perceptron {
    /// Describes a network by its sizes.
    ///
    /// # Panics
    /// When there are not one or two hidden layers, or a layer has no units.
    #[must_use]
    pub fn new(inputs: usize, hidden: &[usize], classes: usize, kernel: Kernel) -> Self {
        let sizes = [&[inputs], hidden, &[classes]].concat();
        assert!(
            (1..=2).contains(&hidden.len()) && !sizes.contains(&0),
            "a network of {sizes:?}"
        );
        Self { sizes, kernel }
    }

    /// Returns inputs and outputs of every layer.
    fn layers(&self) -> impl Iterator<Item = (usize, usize)> {
        self.sizes.windows(2).map(|pair| (pair[0], pair[1]))
    }
}

impl Model for Perceptron {
    fn tensors(&self) -> Vec<Tensor> {
        let named = self.layers().zip(NAMES);
        named
            .flat_map(|((inputs, outputs), (weights, bias))| {
                let limit = limit(inputs);
                [
                    Tensor::new(weights, &[inputs, outputs], limit),
                    Tensor::new(bias, &[outputs], limit),
                ]
            })
            .collect()
    }

    fn objective(&self, samples: &Samples, indices: &[u32]) -> Box<dyn Objective> {
        let (inputs, classes) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        assert_eq!(
            samples.images.len(),
            samples.len() * inputs,
            "samples are not of {inputs} bytes"
        );
        let labels: Vec<u8> = (indices.iter())
            .map(|&at| samples.labels[at as usize])
            .collect();
        let beyond = labels.iter().find(|&&label| usize::from(label) >= classes);
        assert!(beyond.is_none(), "label {beyond:?} of {classes} classes");
        let bytes = |&at: &u32| &samples.images[at as usize * inputs..][..inputs];
        Box::new(PerceptronObjective {
            model: self.clone(),
            inputs: indices.iter().flat_map(bytes).copied().collect(),
            labels,
        })
    }
}

/// The loss F_i of a perceptron.
#[derive(Debug)]
struct PerceptronObjective {
    model: Perceptron,
    /// The bytes of all samples; byte b is the input b / 255.
    inputs: Vec<u8>,
    labels: Vec<u8>,
}

/// The weights of a layer, one padded row per input, and its bias; or their gradients.
struct Layer {
    weights: Aligned,
    bias: Aligned,
}

impl Layer {
    fn zeros(inputs: usize, outputs: usize) -> Self {
        let width = padded(outputs);
        Self {
            weights: Aligned::zeros(inputs * width),
            bias: Aligned::zeros(width),
        }
    }
}

impl PerceptronObjective {
    /// Reads parameters, one layer after the other.
    fn read(&self, mut flat: &[f32]) -> Vec<Layer> {
        assert_eq!(
            flat.len(),
            self.model.parameters(),
            "not the parameters of this network"
        );
        let layers = self.model.layers().map(|(inputs, outputs)| {
            let mut layer = Layer::zeros(inputs, outputs);
            let (weights, rest) = flat.split_at(inputs * outputs);
            let (bias, rest) = rest.split_at(outputs);
            flat = rest;
            let rows = layer.weights.chunks_exact_mut(padded(outputs));
            for (to, from) in rows.zip(weights.chunks_exact(outputs)) {
                to[..outputs].copy_from_slice(from);
            }
            layer.bias[..outputs].copy_from_slice(bias);
            layer
        });
        layers.collect()
    }

    /// Returns the samples of every chunk, of nearly equal size.
    fn chunks(&self) -> Vec<(&[u8], &[u8])> {
        let (samples, inputs) = (self.labels.len(), self.model.sizes[0]);
        let chunks = samples.div_ceil(CHUNK);
        let bounds = (0..chunks).map(|at| samples * at / chunks..samples * (at + 1) / chunks);
        bounds
            .map(|range| {
                let bytes = range.start * inputs..range.end * inputs;
                (&self.inputs[bytes], &self.labels[range])
            })
            .collect()
    }

    /// Returns the values of every layer, one row a sample: inputs, hidden units after ReLU, scores.
    fn forward(&self, layers: &[Layer], bytes: &[u8], count: usize) -> Vec<Aligned> {
        let mut inputs = Aligned::zeros(bytes.len());
        for (value, &byte) in inputs.iter_mut().zip(bytes) {
            *value = f32::from(byte) / 255.0;
        }
        let mut values = vec![inputs];
        for (at, (inputs, outputs)) in self.model.layers().enumerate() {
            let mut sums = Aligned::repeat(&layers[at].bias, count);
            let left = Left::matrix(&values[at], values[at].len() / count, inputs);
            let (weights, width) = (&layers[at].weights, padded(outputs));
            multiply(self.model.kernel, count, left, weights, &mut sums, width);
            if at + 1 < layers.len() {
                for value in sums.iter_mut() {
                    *value = value.max(0.0);
                }
            }
            values.push(sums);
        }
        values
    }

    /// Replaces the scores of a chunk by errors times `scale`; returns loss and accuracy.
    fn judge(&self, scores: &mut [f32], labels: &[u8], scale: f32) -> Score {
        let classes = self.model.sizes[self.model.sizes.len() - 1];
        softmax::wide_errors(scores, padded(classes), labels, classes, scale)
    }

    /// Returns a chunk's part of the loss and of the gradients of all layers.
    fn chunk_gradient(
        &self,
        layers: &[Layer],
        turned: &[Aligned],
        (bytes, labels): (&[u8], &[u8]),
    ) -> (Score, Vec<Layer>) {
        let (kernel, count) = (self.model.kernel, labels.len());
        let mut values = self.forward(layers, bytes, count);
        let mut errors = values.pop().unwrap_or_else(|| Aligned::zeros(0));
        let score = self.judge(&mut errors, labels, 1.0 / self.labels.len() as f32);
        let mut gradients = Vec::with_capacity(layers.len());
        let shapes: Vec<(usize, usize)> = self.model.layers().collect();
        for (at, &(inputs, outputs)) in shapes.iter().enumerate().rev() {
            let (values, width) = (&values[at], padded(outputs));
            let stride = values.len() / count;
            let mut gradient = Layer::zeros(inputs, outputs);
            let left = Left::transposed(values, stride, count);
            multiply(kernel, inputs, left, &errors, &mut gradient.weights, width);
            for row in errors.chunks_exact(width) {
                add(&mut gradient.bias, row);
            }
            gradients.push(gradient);
            if at > 0 {
                let mut back = Aligned::zeros(values.len());
                let left = Left::matrix(&errors, width, outputs);
                multiply(kernel, count, left, &turned[at], &mut back, stride);
                for (error, &value) in back.iter_mut().zip(values.iter()) {
                    *error = if value > 0.0 { *error } else { 0.0 };
                }
                errors = back;
            }
        }
        gradients.reverse();
        (score, gradients)
    }

    /// Returns the transposed weights of every layer.
    fn turn(&self, layers: &[Layer]) -> Vec<Aligned> {
        let turn = |((inputs, outputs), layer): ((usize, usize), &Layer)| {
            let stride = padded(inputs);
            let mut turned = Aligned::zeros(outputs * stride);
            for (input, row) in layer.weights.chunks_exact(padded(outputs)).enumerate() {
                for (output, &value) in row[..outputs].iter().enumerate() {
                    turned[output * stride + input] = value;
                }
            }
            turned
        };
        self.model.layers().zip(layers).map(turn).collect()
    }
}

impl Objective for PerceptronObjective {
    fn samples(&self) -> usize {
        self.labels.len()
    }

    fn gradient(&self, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        assert_eq!(
            parameters.len(),
            gradient.len(),
            "the gradient has another length"
        );
        let layers = self.read(parameters);
        let turned = self.turn(&layers);
        let parts: Vec<(Score, Vec<Layer>)> = self
            .chunks()
            .into_par_iter()
            .map(|chunk| self.chunk_gradient(&layers, &turned, chunk))
            .collect();
        gradient.fill(0.0);
        let mut score = Score::default();
        for (part, layers) in &parts {
            score = score.add(*part);
            let mut rest = &mut *gradient;
            for ((inputs, outputs), layer) in self.model.layers().zip(layers) {
                let (weights, others) = rest.split_at_mut(inputs * outputs);
                let (bias, others) = others.split_at_mut(outputs);
                rest = others;
                let rows = layer.weights.chunks_exact(padded(outputs));
                for (to, from) in weights.chunks_exact_mut(outputs).zip(rows) {
                    add(to, from);
                }
                add(bias, &layer.bias);
            }
        }
        score.loss / self.labels.len() as f64
    }

    fn evaluate(&self, parameters: &[f32]) -> Evaluation {
        let layers = self.read(parameters);
        let score = |(bytes, labels): (&[u8], &[u8])| {
            let mut scores = self.forward(&layers, bytes, labels.len()).pop();
            let scores = scores.as_deref_mut().unwrap_or_default();
            self.judge(scores, labels, 1.0)
        };
        let scores: Vec<Score> = self.chunks().into_par_iter().map(score).collect();
        let score = scores.into_iter().fold(Score::default(), Score::add);
        let samples = self.labels.len();
        Evaluation {
            loss: score.loss / samples as f64,
            correct: score.correct,
            samples,
        }
    }
}

/// Returns the padded length of a row of `units` values.
const fn padded(units: usize) -> usize {
    units.next_multiple_of(LANES)
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;
    use crate::train::Mlp;

    fn samples(count: usize, inputs: usize, classes: u32) -> Samples {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        Samples {
            images: (0..count * inputs).map(|_| rng.below(256) as u8).collect(),
            labels: (0..count).map(|_| rng.below(classes) as u8).collect(),
        }
    }

    fn all(samples: &Samples) -> Vec<u32> {
        (0..samples.len() as u32).collect()
    }

    /// Odd sizes, so that no row, block or segment of the lists is full.
    #[test]
    fn dense_and_sparse_perceptron_train_alike() {
        let mut samples = samples(213, 131, 7);
        for pixel in samples.images.iter_mut().filter(|pixel| **pixel % 3 == 0) {
            *pixel = 0;
        }
        let indices = all(&samples);
        let kernel = Kernel::available()[0];
        let lists = Mlp::new(131, 37, 7, kernel);
        let dense = Perceptron::new(131, &[37], 7, kernel);
        assert_eq!(dense.tensors(), lists.tensors());
        let (mut by_lists, mut by_dense) = (lists.initialise(3), dense.initialise(3));
        let one = lists.objective(&samples, &indices);
        let other = dense.objective(&samples, &indices);
        let (a, b) = (
            one.descend(&mut by_lists, 5, 0.1),
            other.descend(&mut by_dense, 5, 0.1),
        );
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        for (a, b) in by_lists.iter().zip(&by_dense) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        let (a, b) = (one.evaluate(&by_lists), other.evaluate(&by_dense));
        assert_eq!(a.correct, b.correct);
    }

    /// The gradient of one and of two hidden layers, more classes than lanes, against differences of
    /// the loss.
    #[test]
    fn gradients_are_the_slope_of_the_loss() {
        let samples = samples(130, 9, 20);
        for hidden in [&[70][..], &[12, 5]] {
            let model = Perceptron::new(9, hidden, 20, Kernel::available()[0]);
            let objective = model.objective(&samples, &all(&samples));
            let parameters = model.initialise(4);
            let mut gradient = vec![0.0; parameters.len()];
            let loss = objective.gradient(&parameters, &mut gradient);
            assert!((loss - objective.evaluate(&parameters).loss).abs() < 1e-9);
            for at in (0..parameters.len()).step_by(17) {
                let moved = |by: f32| {
                    let mut moved = parameters.clone();
                    moved[at] += by;
                    objective.evaluate(&moved).loss
                };
                let slope = (moved(2e-3) - moved(-2e-3)) / 4e-3;
                let found = f64::from(gradient[at]);
                assert!(
                    (slope - found).abs() < 2e-4,
                    "{hidden:?} {at}: {slope} {found}"
                );
            }
        }
    }

    #[test]
    fn every_kernel_and_any_number_of_threads_give_the_same_bits() {
        let samples = samples(300, 33, 10);
        let of = |kernel, threads| {
            let model = Perceptron::new(33, &[100, 17], 10, kernel);
            let objective = model.objective(&samples, &all(&samples));
            let mut parameters = model.initialise(8);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build()
                .unwrap()
                .install(|| objective.descend(&mut parameters, 3, 0.1));
            parameters
        };
        let expected = of(Kernel::PORTABLE, 1);
        for kernel in Kernel::available() {
            assert_eq!(of(kernel, 3), expected, "{kernel}");
        }
    }
}
