//! Fixed-point clients: close to the float network, with the same bits in any memory.

use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{
    Clip, LearningRate, Params, Shape, TrainError, Trainer, Work, code, scratch_words,
};
use gleaner_shared::rng::{Purpose, Rng};

use super::*;
use crate::data::embedded;
use crate::train::{Kernel, Mlp, Model};

/// A bound that every change of the tests exceeds.
const CLIP: Clip = Clip(1 << 10);

fn shape(inputs: usize, hidden: usize, classes: usize) -> Shape {
    Shape {
        inputs,
        hidden,
        classes,
    }
}

fn dense(count: usize, shape: Shape) -> Samples {
    let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
    Samples {
        images: (0..count * shape.inputs)
            .map(|_| rng.below(256) as u8)
            .collect(),
        labels: (0..count)
            .map(|_| rng.below(shape.classes as u32) as u8)
            .collect(),
    }
}

#[test]
fn integers_follow_the_float_network() {
    let set = embedded::mnist_subset().unwrap();
    let indices: Vec<u32> = (0..300).collect();
    let model = Mlp::paper(Kernel::available()[0]);
    let float = model.objective(&set.train, &indices);
    let fixed = FixedClient::new(&set.train, &indices, Shape::PAPER).unwrap();
    let mut by_float = model.initialise(4);
    let mut by_fixed = by_float.clone();
    let rng = Rng::stream(4, Purpose::Training, 0, 1);
    let float_losses = float.descend(&mut by_float, 20, 0.1);
    let fixed_losses = fixed.descend(&mut by_fixed, 20, 0.1, rng).unwrap();
    for (float, fixed) in float_losses.iter().zip(&fixed_losses) {
        assert!((float / fixed - 1.0).abs() < 0.01, "{float} {fixed}");
    }
    let in_float = float.evaluate(&by_fixed);
    let mut parameters = FixedModel::new(Shape::PAPER).unwrap();
    parameters.read_real(&by_fixed);
    let in_integers = fixed.evaluate(&parameters);
    assert!((in_float.loss / in_integers.loss - 1.0).abs() < 0.01);
    assert_eq!(in_integers.samples, 300);
}

#[test]
fn a_model_in_device_units_is_converted_exactly() {
    for shape in [Shape::PAPER, shape(5, 3, 2), shape(192, 50, 7)] {
        let mut model = FixedModel::new(shape).unwrap();
        model.initialise(9);
        let mut back = FixedModel::new(shape).unwrap();
        back.read_real(&model.real());
        assert_eq!(back, model);
        back.initialise(3);
        assert!(back.read_exact(&model.exact()) && back == model);
    }
}

#[test]
fn a_client_without_samples_is_refused() {
    let none = FixedClient::new(&Samples::default(), &[], Shape::PAPER).unwrap();
    let rng = Rng::stream(0, Purpose::Training, 0, 0);
    let mut parameters = vec![0.0; Shape::PAPER.parameters()];
    let refused = none.descend(&mut parameters, 1, 0.1, rng);
    assert_eq!(refused, Err(TrainError::NoSamples));
}

#[test]
fn networks_beyond_every_memory_are_refused() {
    for (wrong, right) in [
        (shape(513, 256, 10), shape(512, 256, 64)),
        (shape(1025, 65, 10), shape(1024, 65, 10)),
        (shape(4097, 10, 10), shape(4096, 64, 64)),
        (shape(10, 64, 257), shape(1024, 64, 256)),
        (shape(10, 10, 1), shape(10, 10, 2)),
        (shape(10, 257, 3), shape(10, 256, 3)),
    ] {
        assert_eq!(FixedModel::new(right).map(|it| it.shape()), Ok(right));
        assert_eq!(
            FixedModel::new(wrong).map(|it| it.shape()),
            Err(TooLarge(wrong))
        );
    }
}

/// Trains, codes and classifies in memory of exactly the network's sizes, as a device does.
fn in_its_own<const IN: usize, const HID: usize, const OUT: usize>(
    samples: &Samples,
    rate: LearningRate,
) -> (
    Vec<EpochResult>,
    Vec<u8>,
    Vec<u8>,
    gleaner_shared::mlp::Guess,
) {
    let (pixels, _) = samples.images.as_chunks::<IN>();
    let slices = Slices {
        pixels,
        labels: &samples.labels,
    };
    let mut base = Box::new(Params::<IN, HID, OUT>::new());
    base.initialise(6);
    let mut params = base.clone();
    let (mut work, mut scratch) = (
        Box::new(Work::new()),
        vec![0; scratch_words::<HID>(samples.len())],
    );
    let rng = Rng::stream(6, Purpose::Training, 1, 2);
    let mut trainer =
        Trainer::try_new(&mut params, &slices, &mut work, &mut scratch, rate, rng).unwrap();
    let results = (0..4).map(|_| trainer.epoch()).collect();
    let mut coded = vec![0; code::HEADER_BYTES + Params::<IN, HID, OUT>::COUNT];
    let mut rounding = Rng::stream(6, Purpose::Uplink, 1, 2);
    code::encode(
        &params,
        &base,
        code::Width::Byte,
        CLIP,
        &mut rounding,
        &mut coded,
    )
    .unwrap();
    let mut exact = vec![0; Params::<IN, HID, OUT>::EXACT_BYTES];
    assert!(params.write_exact(&mut exact));
    let guess = gleaner_shared::mlp::classify(&params, &pixels[0], &mut work.pass);
    (results, coded, exact, guess)
}

fn in_any_room<const IN: usize, const HID: usize, const OUT: usize>(rate: f64) {
    let (shape, rate) = (shape(IN, HID, OUT), LearningRate::from_real(rate));
    let samples = dense(70, shape);
    let all: Vec<u32> = (0..70).collect();
    let client = FixedClient::new(&samples, &all, shape).unwrap();
    let mut base = FixedModel::new(shape).unwrap();
    assert_ne!(base.stride(), IN, "memory of its own size shows nothing");
    base.initialise(6);
    let mut model = base.clone();
    let rng = Rng::stream(6, Purpose::Training, 1, 2);
    let results = client.train(&mut model, 4, rate, rng).unwrap();
    let coded = model.code(&base, CLIP, &mut Rng::stream(6, Purpose::Uplink, 1, 2));
    let guess = model.classify(&samples.images[..IN]);
    let found = (results, coded.unwrap(), model.exact(), guess);
    assert_eq!(found, in_its_own::<IN, HID, OUT>(&samples, rate), "{shape}");
    let mut decoded = base.clone();
    decoded.apply(&found.1).unwrap();
    assert_eq!(client.evaluate(&decoded).samples, 70);
    assert!(base.apply(&found.1[1..]).is_err());
}

#[test]
fn a_larger_memory_changes_no_bit() {
    for rate in [0.05, 60.0] {
        in_any_room::<64, 32, 10>(rate);
        in_any_room::<192, 50, 7>(rate);
        in_any_room::<784, 100, 10>(rate);
        in_any_room::<9, 5, 2>(rate);
        in_any_room::<301, 17, 20>(rate);
        in_any_room::<1100, 3, 4>(rate);
    }
}
