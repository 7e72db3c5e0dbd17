//! The network compared with a reference in double precision, and between kernels and thread counts.

use gleaner_shared::rng::{Purpose, Rng};

use super::convolution::{Extractor, GROUP, Trace, to_real};
use super::weights::{LAYOUT, PARAMETERS, Weights};
use super::*;
use crate::train::Engine;
use crate::train::kernel::{Left, multiply};

/// Smooth random images, so that neighbouring windows are alike as in photographs.
fn images(count: usize) -> Samples {
    let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
    let mut samples = Samples::default();
    for _ in 0..count {
        let waves: Vec<f64> = (0..9).map(|_| rng.uniform()).collect();
        for at in 0..IMAGE {
            let (y, x, colour) = (at / 96, at / 3 % 32, at % 3);
            let phase = waves[colour] * 6.0
                + waves[3 + colour] * y as f64 * 0.6
                + waves[6 + colour] * x as f64 * 0.6;
            let value = 0.4 + 0.3 * libm::sin(phase) + 0.3 * rng.uniform();
            samples.images.push((value * 255.0) as u8);
        }
        samples.labels.push(rng.below(10) as u8);
    }
    samples
}

/// Forward and backward in doubles by the definition, on one sample, with the choices of
/// max-pooling given (near-ties are decided by rounding).
struct Reference {
    parameters: Vec<f64>,
    gradient: Vec<f64>,
    loss: f64,
}

impl Reference {
    fn add(&mut self, image: &[f32], trace: &Trace, label: u8, scale: f64) {
        let image: Vec<f64> = image.iter().map(|&value| f64::from(value)).collect();
        let (conv1, conv2) = (LAYOUT.conv1.start, LAYOUT.conv2.start);
        let full1 = self.convolve(&image, 32, 3, conv1, LAYOUT.conv1_bias.start);
        let pooled1 = pool(&full1, 28, &trace.choices1);
        let full2 = self.convolve(&pooled1, 13, 64, conv2, LAYOUT.conv2_bias.start);
        let features = pool(&full2, 9, &trace.choices2);
        let layers = [
            (LAYOUT.dense1.start, LAYOUT.dense1_bias.start, DENSE1),
            (LAYOUT.dense2.start, LAYOUT.dense2_bias.start, DENSE2),
            (LAYOUT.dense3.start, LAYOUT.dense3_bias.start, CLASSES),
        ];
        let mut values = vec![features];
        for (number, (matrix, bias, width)) in layers.into_iter().enumerate() {
            let inputs = &values[number];
            let outputs = (0..width).map(|unit| {
                let sum: f64 = (0..inputs.len())
                    .map(|at| inputs[at] * self.parameters[matrix + at * width + unit])
                    .sum();
                let z = sum + self.parameters[bias + unit];
                if number < 2 { z.max(0.0) } else { z }
            });
            values.push(outputs.collect());
        }
        let powers: Vec<f64> = values[3].iter().map(|z| z.exp()).collect();
        let total: f64 = powers.iter().sum();
        self.loss += scale * (total.ln() - values[3][usize::from(label)]);
        let one = |class: usize| f64::from(u8::from(class == usize::from(label)));
        let mut errors: Vec<f64> = (0..CLASSES)
            .map(|class| scale * (powers[class] / total - one(class)))
            .collect();
        for (number, (matrix, bias, width)) in layers.into_iter().enumerate().rev() {
            let inputs = &values[number];
            let mut back = vec![0.0; inputs.len()];
            for (unit, &error) in errors.iter().enumerate() {
                self.gradient[bias + unit] += error;
                for at in 0..inputs.len() {
                    self.gradient[matrix + at * width + unit] += inputs[at] * error;
                    if inputs[at] > 0.0 {
                        back[at] += error * self.parameters[matrix + at * width + unit];
                    }
                }
            }
            errors = back;
        }
        let errors2 = unpool(&errors, 9, &trace.choices2);
        let mut errors1 =
            self.convolve_back(&pooled1, &errors2, 13, 64, conv2, LAYOUT.conv2_bias.start);
        for (error, &value) in errors1.iter_mut().zip(&pooled1) {
            *error = if value > 0.0 { *error } else { 0.0 };
        }
        let errors1 = unpool(&errors1, 28, &trace.choices1);
        self.convolve_back(&image, &errors1, 32, 3, conv1, LAYOUT.conv1_bias.start);
    }

    fn convolve(
        &self,
        image: &[f64],
        side: usize,
        depth: usize,
        at: usize,
        bias: usize,
    ) -> Vec<f64> {
        let mut out = Vec::new();
        for (y, x) in places(side - 4) {
            let mut sums = self.parameters[bias..bias + 64].to_vec();
            for (k, value) in window(side, depth, y, x).enumerate() {
                for (channel, sum) in sums.iter_mut().enumerate() {
                    *sum += image[value] * self.parameters[at + k * 64 + channel];
                }
            }
            out.extend(sums);
        }
        out
    }

    fn convolve_back(
        &mut self,
        image: &[f64],
        errors: &[f64],
        side: usize,
        depth: usize,
        at: usize,
        bias: usize,
    ) -> Vec<f64> {
        let mut back = vec![0.0; image.len()];
        for ((y, x), errors) in places(side - 4).zip(errors.chunks_exact(64)) {
            for (channel, &error) in errors.iter().enumerate().filter(|(_, e)| **e != 0.0) {
                self.gradient[bias + channel] += error;
                for (k, value) in window(side, depth, y, x).enumerate() {
                    self.gradient[at + k * 64 + channel] += error * image[value];
                    back[value] += error * self.parameters[at + k * 64 + channel];
                }
            }
        }
        back
    }
}

fn places(side: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..side * side).map(move |at| (at / side, at % side))
}

/// The values of the 5 x 5 window at (y, x), in the order of the weights.
fn window(side: usize, depth: usize, y: usize, x: usize) -> impl Iterator<Item = usize> {
    (0..25 * depth).map(move |k| {
        let (dy, dx, channel) = (k / (5 * depth), k / depth % 5, k % depth);
        ((y + dy) * side + x + dx) * depth + channel
    })
}

fn pool(full: &[f64], side: usize, choices: &[u8]) -> Vec<f64> {
    let half = (side - 1) / 2;
    let mut pooled = Vec::new();
    for (at, &choice) in choices.iter().enumerate() {
        let (window, channel) = (at / 64, at % 64);
        let value = |place: usize| {
            let (y, x) = (window / half * 2 + place / 3, window % half * 2 + place % 3);
            full[(y * side + x) * 64 + channel]
        };
        let chosen = value(usize::from(choice));
        let largest = (0..9).map(value).fold(f64::MIN, f64::max);
        assert!(
            largest - chosen < 1e-5,
            "pooling chose {chosen}, not {largest}"
        );
        pooled.push(chosen.max(0.0));
    }
    pooled
}

fn unpool(errors: &[f64], side: usize, choices: &[u8]) -> Vec<f64> {
    let half = (side - 1) / 2;
    let mut full = vec![0.0; side * side * 64];
    for (at, (&error, &choice)) in errors.iter().zip(choices).enumerate() {
        let (window, channel, choice) = (at / 64, at % 64, usize::from(choice));
        let (y, x) = (
            window / half * 2 + choice / 3,
            window % half * 2 + choice % 3,
        );
        full[(y * side + x) * 64 + channel] += error;
    }
    full
}

#[test]
fn loss_and_gradient_match_a_reference_in_doubles() {
    let samples = images(2);
    let model = Cnn::paper(Kernel::available()[0]);
    let parameters = model.initialise(5);
    assert_eq!(parameters.len(), 576_778);
    let mut reference = Reference {
        parameters: parameters.iter().map(|&value| f64::from(value)).collect(),
        gradient: vec![0.0; PARAMETERS],
        loss: 0.0,
    };
    let weights = Weights::new(&parameters);
    let mut extractor = Extractor::new(model.kernel, &weights);
    let images = samples.images.as_chunks::<IMAGE>().0;
    let mut traces = [Trace::new(), Trace::new()];
    extractor.extract(images, &mut traces, &mut [0.0; 2 * FEATURES]);
    for ((image, trace), &label) in images.iter().zip(&traces).zip(&samples.labels) {
        reference.add(&to_real(image)[..IMAGE], trace, label, 0.5);
    }
    let mut gradient = vec![f32::NAN; PARAMETERS];
    let objective = model.objective(&samples, &[0, 1]);
    let loss = objective.gradient(&parameters, &mut gradient);
    assert!(
        (loss - reference.loss).abs() < 1e-5,
        "{loss} {}",
        reference.loss
    );
    let mut from = 0;
    for tensor in model.tensors() {
        let range = from..from + tensor.len();
        from = range.end;
        let exact = &reference.gradient[range.clone()];
        let largest = exact
            .iter()
            .fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(largest > 1e-6, "{} has no gradient", tensor.name);
        for (ours, exact) in gradient[range].iter().zip(exact) {
            let difference = (f64::from(*ours) - exact).abs();
            assert!(
                difference < 1e-5 * largest,
                "{}: {ours} {exact}",
                tensor.name
            );
        }
    }
}

#[test]
fn convolutions_match_doubles_as_closely_as_direct_sums() {
    // One image more than a group.
    let samples = images(GROUP + 1);
    let model = Cnn::paper(Kernel::available()[0]);
    let mut parameters = model.initialise(7);
    for (at, bias) in parameters[LAYOUT.conv2_bias].iter_mut().enumerate() {
        *bias = at as f32 / 64.0 - 0.5;
    }
    let reference = Reference {
        parameters: parameters.iter().map(|&value| f64::from(value)).collect(),
        gradient: Vec::new(),
        loss: 0.0,
    };
    let double = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| f64::from(v)).collect() };
    let weights = Weights::new(&parameters);
    let mut extractor = Extractor::new(model.kernel, &weights);
    let mut errors: [Errors; 3] = Default::default();
    for images in samples.images.as_chunks::<IMAGE>().0.chunks(GROUP) {
        let mut traces: Vec<Trace> = images.iter().map(|_| Trace::new()).collect();
        let mut features = vec![0.0; images.len() * FEATURES];
        extractor.extract(images, &mut traces, &mut features);
        let features = features.chunks_exact(FEATURES);
        for ((image, trace), features) in images.iter().zip(&traces).zip(features) {
            let image = double(&to_real(image));
            let (conv, bias) = (LAYOUT.conv1.start, LAYOUT.conv1_bias.start);
            let exact = pool(
                &reference.convolve(&image, 32, 3, conv, bias),
                28,
                &trace.choices1,
            );
            errors[0].add(&trace.pooled1, &exact);
            let (conv, bias) = (LAYOUT.conv2.start, LAYOUT.conv2_bias.start);
            let sums = reference.convolve(&double(&trace.pooled1), 13, 64, conv, bias);
            let exact = pool(&sums, 9, &trace.choices2);
            errors[1].add(features, &exact);
            let direct = double(&direct_sums(model.kernel, &trace.pooled1, &parameters));
            let direct = pool(&direct, 9, &trace.choices2);
            errors[2].add(
                &direct.iter().map(|&v| v as f32).collect::<Vec<_>>(),
                &exact,
            );
        }
    }
    let [first, second, direct] = errors.map(|errors| errors.relative());
    assert!(first.0 < 3e-7 && first.1 < 5e-6, "{first:?}");
    assert!(second.0 < 1e-6 && second.1 < 1e-5, "{second:?}");
    assert!(second.0 < 1.5 * direct.0, "{second:?} {direct:?}");
}

/// The second convolution by its definition, in single precision.
fn direct_sums(kernel: Kernel, image: &[f32], parameters: &[f32]) -> Vec<f32> {
    let mut sums = parameters[LAYOUT.conv2_bias].repeat(81);
    for (y, row) in sums.chunks_exact_mut(9 * 64).enumerate() {
        let windows = Left {
            data: &image[y * 13 * 64..],
            row: 64,
            runs: 5,
            run: 5 * 64,
            jump: 13 * 64,
            step: 1,
        };
        multiply(kernel, 9, windows, &parameters[LAYOUT.conv2], row, 64);
    }
    sums
}

/// Errors, to be compared with the root mean square of the exact values.
#[derive(Default)]
struct Errors {
    squares: f64,
    largest: f64,
    values: f64,
    count: usize,
}

impl Errors {
    fn add(&mut self, ours: &[f32], exact: &[f64]) {
        assert_eq!(ours.len(), exact.len());
        for (&ours, &exact) in ours.iter().zip(exact) {
            let error = (f64::from(ours) - exact).abs();
            self.squares += error * error;
            self.largest = self.largest.max(error);
            self.values += exact * exact;
            self.count += 1;
        }
    }

    /// Returns the root mean square and the largest.
    fn relative(&self) -> (f64, f64) {
        let unit = (self.values / self.count as f64).sqrt();
        assert!(unit > 0.1, "only zeros");
        let mean = (self.squares / self.count as f64).sqrt();
        (mean / unit, self.largest / unit)
    }
}

#[test]
fn kernels_do_not_change_a_bit() {
    // More than a group, and not a whole number of them.
    let samples = images(GROUP + 2);
    let of = |kernel| {
        let model = Cnn::paper(kernel);
        let mut parameters = model.initialise(2);
        let objective = model.objective(&samples, &[2, 0, 1, 5, 4, 3]);
        let losses = objective.descend(&mut parameters, 2, 0.05);
        (losses, parameters)
    };
    let expected = of(Kernel::PORTABLE);
    for kernel in Kernel::available() {
        assert!(of(kernel) == expected, "{kernel}");
    }
}

#[test]
fn threads_do_not_change_a_bit_and_descent_lowers_the_loss() {
    let samples = images(140);
    let model = Cnn::paper(Kernel::available()[0]);
    let start = model.initialise(2);
    let indices: Vec<u32> = (0..140).collect();
    let objective = model.objective(&samples, &indices);
    let of = |threads| {
        let engine = Engine::new(threads).unwrap();
        let job = || crate::train::Job {
            objective: objective.as_ref(),
            start: &start,
            epochs: 2,
            learning_rate: 0.05,
        };
        let trained = engine.train(&[job()]);
        let evaluation = engine.evaluate(objective.as_ref(), &trained[0].parameters);
        (trained, evaluation)
    };
    let expected = of(1);
    // From weights that are too small two steps would lower it by less than a thousandth.
    assert!(expected.1.loss < expected.0[0].losses[0] - 0.01);
    assert!(of(4) == expected);
}
