//! The network compared with a reference in double precision, and between kernels and thread counts.

use gleaner_shared::rng::{Purpose, Rng};

use super::convolution::{Extractor, Trace, to_real};
use super::weights::{LAYOUT, PARAMETERS, Weights};
use super::*;
use crate::train::Engine;

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
    for (image, &label) in samples
        .images
        .as_chunks::<IMAGE>()
        .0
        .iter()
        .zip(&samples.labels)
    {
        let (image, mut trace) = (to_real(image), Trace::new());
        extractor.extract(&image, &mut trace, &mut vec![0.0; FEATURES]);
        reference.add(&image[..IMAGE], &trace, label, 0.5);
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
fn kernels_do_not_change_a_bit() {
    let samples = images(3);
    let of = |kernel| {
        let model = Cnn::paper(kernel);
        let mut parameters = model.initialise(2);
        let objective = model.objective(&samples, &[2, 0, 1]);
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
