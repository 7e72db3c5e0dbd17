//! Training with lists gives the same bits as training without.

use gleaner_shared::lists::{self, Lists};
use gleaner_shared::mlp::sample::{Samples, Slices};
use gleaner_shared::mlp::{
    Alone, EpochResult, Helper, LearningRate, Params, Step, Trainer, Work, evaluate, scratch_words,
    selftest,
};
use gleaner_shared::rng::{Purpose, Rng};

/// Samples with lists that may be those of other samples.
struct Listed<'a, const IN: usize> {
    samples: Slices<'a, IN>,
    lists: Lists<'a>,
}

impl<const IN: usize> Samples<IN> for Listed<'_, IN> {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn pixels(&self, index: usize) -> &[u8; IN] {
        self.samples.pixels(index)
    }

    fn label(&self, index: usize) -> u8 {
        self.samples.label(index)
    }

    fn block(&self) -> Option<&[[u8; IN]]> {
        self.samples.block()
    }

    fn lists(&self) -> Option<Lists<'_>> {
        Some(self.lists)
    }
}

fn lists_of<const IN: usize>(pixels: &[[u8; IN]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    lists::write(pixels.as_flattened(), IN, |part| {
        bytes.extend_from_slice(part);
    });
    bytes
}

/// Trains three epochs; returns their results, the final loss, and the fingerprint.
fn train<const IN: usize, const HID: usize, const OUT: usize>(
    samples: &impl Samples<IN>,
    rate: f64,
    two: bool,
) -> (Vec<EpochResult>, EpochResult, u64) {
    let (mut work, mut other) = (Box::new(Work::new()), Box::new(Work::new()));
    let mut scratch = vec![0; scratch_words::<HID>(samples.len())];
    let mut params = Box::new(Params::<IN, HID, OUT>::new());
    params.initialise(7);
    let rng = Rng::stream(7, Purpose::Training, 1, 2);
    let rate = LearningRate::from_real(rate);
    let mut partner = Alone;
    let helper = two.then_some(Helper {
        partner: &mut partner,
        work: &mut *other,
    });
    let mut trainer = Trainer::try_new(&mut params, samples, &mut work, &mut scratch, rate, rng)
        .unwrap()
        .with_helper(helper);
    let mut results = Vec::new();
    while results.len() < 3 {
        if let Step::Done(result) = trainer.step(1000) {
            results.push(result);
        }
    }
    let fingerprint = trainer.params().fingerprint();
    let after = evaluate(&params, samples, 0..samples.len(), &mut work.pass);
    (results, after, fingerprint)
}

fn compare<const IN: usize, const HID: usize, const OUT: usize>(
    pixels: &[[u8; IN]],
    labels: &[u8],
    rate: f64,
) {
    let samples = Slices { pixels, labels };
    let bytes = lists_of(pixels);
    let lists = Lists::open(&bytes, pixels.len(), IN).unwrap();
    let searched = train::<IN, HID, OUT>(&samples, rate, false);
    for two in [false, true] {
        let listed = train::<IN, HID, OUT>(&Listed { samples, lists }, rate, two);
        assert_eq!(listed, searched, "{} of {IN}, {two}", pixels.len());
    }
}

#[test]
fn lists_give_the_bits_of_a_search_for_every_shape() {
    for count in [1, 2, 31, 32, 33, 257, 600] {
        let (pixels, labels) = (
            selftest::images::<41, 600>(3),
            selftest::labels::<600>(3, 4),
        );
        compare::<41, 17, 4>(&pixels[..count], &labels[..count], 0.5);
        let (pixels, labels) = (
            selftest::images::<20, 600>(5),
            selftest::labels::<600>(5, 10),
        );
        compare::<20, 8, 10>(&pixels[..count], &labels[..count], 0.01);
    }
}

#[test]
fn lists_saturate_where_a_search_does() {
    // White images at an absurd rate: sums of both layers leave their ranges.
    let labels = selftest::labels::<700>(2, 4);
    for count in [500, 700] {
        compare::<12, 10, 4>(&vec![[255; 12]; count], &labels[..count], 100.0);
    }
}

#[test]
fn lists_give_the_bits_of_a_search_for_the_papers_network_and_dense_samples() {
    static IMAGES: [[u8; 784]; 60] = selftest::images(9);
    let mut images = IMAGES;
    for (image, lit) in images.iter_mut().zip([784, 253, 252, 0]) {
        image.fill(0);
        image[..lit].fill(200);
    }
    let labels = selftest::labels::<60>(9, 10);
    compare::<784, 50, 10>(&images, &labels, 0.5);
}

#[test]
fn lists_of_the_wrong_size_are_ignored() {
    let (pixels, labels) = (selftest::images::<20, 40>(5), selftest::labels::<40>(5, 4));
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let bytes = lists_of(&pixels[..30]);
    let lists = Lists::open(&bytes, 30, 20).unwrap();
    let searched = train::<20, 8, 4>(&samples, 0.5, false);
    assert_eq!(
        train::<20, 8, 4>(&Listed { samples, lists }, 0.5, false),
        searched
    );
}

#[test]
fn lists_of_other_samples_change_the_result() {
    // Training reads the lists: those of as many other samples change the outcome.
    let (pixels, labels) = (selftest::images::<20, 40>(5), selftest::labels::<40>(5, 4));
    let others = selftest::images::<20, 40>(6);
    let bytes = lists_of(&others);
    let lists = Lists::open(&bytes, 40, 20).unwrap();
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let searched = train::<20, 8, 4>(&samples, 0.5, false);
    assert_ne!(
        train::<20, 8, 4>(&Listed { samples, lists }, 0.5, false),
        searched
    );
}
