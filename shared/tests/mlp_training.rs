//! Training: golden values, stepping, saturation, and the gradient against real numbers.

use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{
    LearningRate, Params, Samples, Step, TrainError, Trainer, Work, evaluate, scratch_words,
    selftest,
};
use gleaner_shared::rng::{Purpose, Rng};
use proptest::prelude::*;

type Net = Params<20, 8, 4>;

fn data(seed: u64) -> ([[u8; 20]; 12], [u8; 12]) {
    (selftest::images(seed), selftest::labels(seed, 4))
}

/// Trains a small network in steps of at most `budget` rows.
fn train(params: &mut Net, samples: &impl Samples<20>, rate: f64, epochs: u32, budget: u32) -> u64 {
    let mut work = Work::new();
    let mut scratch = vec![0; scratch_words::<8>(samples.len())];
    let rng = Rng::stream(5, Purpose::Training, 1, 2);
    let rate = LearningRate::from_real(rate);
    let mut trainer =
        Trainer::try_new(params, samples, &mut work, &mut scratch, rate, rng).unwrap();
    let mut losses = 0;
    for _ in 0..epochs {
        loop {
            if let Step::Done(result) = trainer.step(budget) {
                losses += result.loss_sum;
                break;
            }
        }
    }
    losses
}

#[test]
fn golden_fingerprint_of_a_thousand_epochs_over_small_nets() {
    assert_eq!(selftest::small_nets(|| {}), 0xb204_912c_b44c_d8ae);
}

#[test]
fn golden_fingerprint_of_the_papers_network() {
    static IMAGES: [[u8; 784]; 200] = selftest::images(9);
    static LABELS: [u8; 200] = selftest::labels(9, 10);
    let samples = Slices {
        pixels: &IMAGES,
        labels: &LABELS,
    };
    let mut params = Box::new(gleaner_shared::mlp::PaperParams::new());
    let mut work = Box::new(Work::new());
    let mut scratch = vec![0; scratch_words::<50>(200)];
    let rate = LearningRate::from_real(0.5);
    let hash = selftest::train(9, &mut params, &samples, &mut work, &mut scratch, rate, 3);
    assert_eq!(hash, Some(8_483_060_919_837_851_716));
}

#[test]
fn an_epoch_is_the_same_however_it_is_cut_into_steps() {
    let (pixels, labels) = data(3);
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let run = |budget| {
        let mut params = Net::new();
        params.initialise(3);
        let losses = train(&mut params, &samples, 0.5, 5, budget);
        (losses, params.fingerprint())
    };
    let whole = run(u32::MAX);
    for budget in [0, 1, 7, 30] {
        assert_eq!(run(budget), whole, "budget {budget}");
    }
}

#[test]
fn samples_in_one_block_and_apart_train_the_same() {
    struct Apart<'a>(Slices<'a, 20>);
    impl Samples<20> for Apart<'_> {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn pixels(&self, index: usize) -> &[u8; 20] {
            self.0.pixels(index)
        }
        fn label(&self, index: usize) -> u8 {
            self.0.label(index)
        }
    }
    let (pixels, labels) = data(4);
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let (mut one, mut other) = (Net::new(), Net::new());
    one.initialise(4);
    other.initialise(4);
    train(&mut one, &samples, 0.5, 5, 1);
    train(&mut other, &Apart(samples), 0.5, 5, 1);
    assert_eq!(one.fingerprint(), other.fingerprint());
}

#[test]
fn loss_falls_and_evaluation_agrees_with_the_epochs_own_count() {
    let (pixels, labels) = data(8);
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let mut params = Net::new();
    params.initialise(8);
    let before = evaluate(&params, &samples, 0..12, &mut Work::new().pass);
    assert_eq!(train(&mut params, &samples, 0.2, 1, 1), before.loss_sum);
    train(&mut params, &samples, 0.2, 200, 1);
    let after = evaluate(&params, &samples, 0..12, &mut Work::new().pass);
    assert!(after.loss_sum < before.loss_sum / 2, "{before:?} {after:?}");
    let mut parts = evaluate(&params, &samples, 0..5, &mut Work::new().pass);
    parts.add(&evaluate(&params, &samples, 5..99, &mut Work::new().pass));
    assert_eq!(parts, after);
}

#[test]
fn invalid_training_is_refused_with_the_reason() {
    let (pixels, mut labels) = data(1);
    let try_with = |pixels: &[[u8; 20]], labels: &[u8], words: usize| {
        let samples = Slices { pixels, labels };
        let (mut params, mut work) = (Net::new(), Work::new());
        let rng = Rng::stream(1, Purpose::Training, 0, 0);
        let mut scratch = vec![0; words];
        Trainer::try_new(
            &mut params,
            &samples,
            &mut work,
            &mut scratch,
            LearningRate(1),
            rng,
        )
        .err()
    };
    let enough = scratch_words::<8>(12);
    assert_eq!(try_with(&pixels, &labels, enough), None);
    assert_eq!(try_with(&[], &[], enough), Some(TrainError::NoSamples));
    assert_eq!(
        try_with(&pixels, &labels, enough - 1),
        Some(TrainError::TooManySamples {
            samples: 12,
            room: 11
        })
    );
    labels[7] = 4;
    assert_eq!(
        try_with(&pixels, &labels, enough),
        Some(TrainError::Label {
            sample: 7,
            label: 4
        })
    );
}

/// Returns the mean loss in f64 and its gradient, in wire order.
fn reference(theta: &[f64], samples: &Slices<'_, 20>) -> (f64, Vec<f64>) {
    let at = |tensor| Net::range(tensor).start;
    let (b1, w2, b2) = (at(Tensor::B1), at(Tensor::W2), at(Tensor::B2));
    let mut gradient = vec![0.0; theta.len()];
    let mut loss = 0.0;
    let share = 1.0 / samples.len() as f64;
    for index in 0..samples.len() {
        let x: Vec<f64> = (samples.pixels(index).iter())
            .map(|&x| f64::from(x) / 255.0)
            .collect();
        let hidden: Vec<f64> = (0..8)
            .map(|j| theta[b1 + j] + (0..20).map(|p| x[p] * theta[p * 8 + j]).sum::<f64>())
            // An activation that rounds to zero is a dead unit in fixed point.
            .map(|z| if z < 0.5 / 1024.0 { 0.0 } else { z })
            .collect();
        let sums: Vec<f64> = (0..4)
            .map(|k| {
                theta[b2 + k]
                    + (0..8)
                        .map(|j| hidden[j] * theta[w2 + j * 4 + k])
                        .sum::<f64>()
            })
            .collect();
        let total: f64 = sums.iter().map(|o| o.exp()).sum();
        let label = usize::from(samples.label(index));
        loss += share * (total.ln() - sums[label]);
        let d2: Vec<f64> = (0..4)
            .map(|k| sums[k].exp() / total - f64::from(u8::from(k == label)))
            .collect();
        for j in 0..8 {
            let mut d1 = 0.0;
            for k in 0..4 {
                gradient[w2 + j * 4 + k] += share * hidden[j] * d2[k];
                d1 += theta[w2 + j * 4 + k] * d2[k];
            }
            if hidden[j] > 0.0 {
                gradient[b1 + j] += share * d1;
                (0..20).for_each(|p| gradient[p * 8 + j] += share * d1 * x[p]);
            }
        }
        (0..4).for_each(|k| gradient[b2 + k] += share * d2[k]);
    }
    (loss, gradient)
}

#[test]
fn a_step_follows_the_gradient_of_real_numbers() {
    for seed in 1..30 {
        let (pixels, labels) = data(seed);
        let samples = Slices {
            pixels: &pixels,
            labels: &labels,
        };
        let mut params = Net::new();
        params.initialise(seed);
        let read = |params: &Net| -> Vec<f64> {
            let mut theta = vec![0.0; Net::COUNT];
            params.write_f32(&mut theta);
            theta.into_iter().map(f64::from).collect()
        };
        let before = read(&params);
        let (loss, gradient) = reference(&before, &samples);
        let rate = 1.0;
        let losses = train(&mut params, &samples, rate, 1, 1);
        let fixed_loss = losses as f64 / 65_536.0 / 12.0;
        assert!((fixed_loss - loss).abs() < 2e-3, "{fixed_loss} {loss}");
        for tensor in Tensor::ALL {
            // One unit of stochastic rounding, and errors of 1 in 127 in the hidden layer.
            let unit = 1.0 / f64::from(tensor.units());
            for index in Net::range(tensor) {
                let step = before[index] - read(&params)[index];
                let exact = rate * gradient[index];
                let bound = unit + 2e-3 + 0.01 * exact.abs();
                assert!(
                    (step - exact).abs() < bound,
                    "{tensor:?} {index}: {step} {exact}"
                );
            }
        }
    }
}

proptest! {
    /// Overflow checks are on in tests: extreme parameters and inputs must saturate, not panic.
    #[test]
    fn extreme_parameters_and_inputs_never_overflow(
        seed in any::<u64>(),
        white in any::<bool>(),
        rate in any::<u32>(),
    ) {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 7, 0);
        let mut params = Params::<300, 6, 3>::new();
        params.map(|tensor, _, _| match rng.below(3) {
            0 => tensor.limit(),
            1 => -tensor.limit(),
            _ => rng.next_u32() as i32,
        });
        let mut pixels = selftest::images::<300, 4>(seed);
        if white {
            pixels.as_flattened_mut().fill(255);
        }
        let labels = selftest::labels::<4>(seed, 3);
        let samples = Slices { pixels: &pixels, labels: &labels };
        let (mut work, mut scratch) = (Work::new(), vec![0; scratch_words::<6>(4)]);
        let rng = Rng::stream(seed, Purpose::Training, 0, 0);
        let mut trainer = Trainer::try_new(
            &mut params, &samples, &mut work, &mut scratch, LearningRate(rate), rng,
        ).unwrap();
        for _ in 0..3 {
            trainer.epoch();
        }
        for tensor in Tensor::ALL {
            for index in 0..Params::<300, 6, 3>::range(tensor).len() {
                prop_assert!(params.get(tensor, index).abs() <= tensor.limit());
            }
        }
    }
}
