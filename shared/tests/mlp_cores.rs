//! Two cores train to the same bits as one, in whatever order their halves run.

use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{
    Alone, EpochResult, Helper, LearningRate, Params, Partner, Step, Trainer, Work, scratch_words,
    selftest,
};
use gleaner_shared::rng::{Purpose, Rng};

/// The second core as a thread: the halves run at the same time.
struct Thread;

impl Partner for Thread {
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(there);
            here();
        });
    }
}

/// A second core that always finishes before the first begins.
struct Hasty;

impl Partner for Hasty {
    fn join(&mut self, here: impl FnOnce() + Send, there: impl FnOnce() + Send) {
        there();
        here();
    }
}

/// A second core that does nothing.
struct Idle;

impl Partner for Idle {
    fn join(&mut self, here: impl FnOnce() + Send, _there: impl FnOnce() + Send) {
        here();
    }
}

/// Trains some epochs in steps of `budget` rows; returns their results and the fingerprint.
fn train<const IN: usize, const HID: usize, const OUT: usize>(
    samples: &Slices<'_, IN>,
    rate: f64,
    budget: u32,
    partner: Option<&mut impl Partner>,
) -> (Vec<EpochResult>, u64) {
    let (mut work, mut other) = (Box::new(Work::new()), Box::new(Work::new()));
    let mut scratch = vec![0; scratch_words::<HID>(samples.pixels.len())];
    let mut params = Box::new(Params::<IN, HID, OUT>::new());
    params.initialise(7);
    let rng = Rng::stream(7, Purpose::Training, 1, 2);
    let rate = LearningRate::from_real(rate);
    let helper = partner.map(|partner| Helper {
        partner,
        work: &mut other,
    });
    let mut trainer = Trainer::try_new(&mut params, samples, &mut work, &mut scratch, rate, rng)
        .unwrap()
        .with_helper(helper);
    let mut results = Vec::new();
    while results.len() < 3 {
        if let Step::Done(result) = trainer.step(budget) {
            results.push(result);
        }
    }
    (results, trainer.params().fingerprint())
}

/// Compares every partner with a core that has none.
fn compare<const IN: usize, const HID: usize, const OUT: usize>(
    pixels: &[[u8; IN]],
    labels: &[u8],
    rate: f64,
) {
    let samples = Slices { pixels, labels };
    let one = train::<IN, HID, OUT>(&samples, rate, u32::MAX, None::<&mut Alone>);
    let what = format!("{} samples of {IN} at rate {rate}", pixels.len());
    for budget in [1, 100, u32::MAX] {
        let threads = train::<IN, HID, OUT>(&samples, rate, budget, Some(&mut Thread));
        assert_eq!(threads, one, "{what}: threads, budget {budget}");
        let hasty = train::<IN, HID, OUT>(&samples, rate, budget, Some(&mut Hasty));
        assert_eq!(hasty, one, "{what}: the second first, budget {budget}");
        let alone = train::<IN, HID, OUT>(&samples, rate, budget, Some(&mut Alone));
        assert_eq!(alone, one, "{what}: one after the other, budget {budget}");
    }
}

#[test]
fn two_cores_train_to_the_bits_of_one_whatever_the_shape() {
    // Portions that are full, cut and empty; blocks of pixels in pairs, odd, and cut.
    for count in [1, 2, 3, 15, 16, 17, 40] {
        let (pixels, labels) = (selftest::images::<41, 40>(3), selftest::labels::<40>(3, 4));
        compare::<41, 17, 4>(&pixels[..count], &labels[..count], 0.5);
        let (pixels, labels) = (selftest::images::<20, 40>(5), selftest::labels::<40>(5, 10));
        compare::<20, 8, 10>(&pixels[..count], &labels[..count], 0.01);
        let (pixels, labels) = (selftest::images::<3, 40>(5), selftest::labels::<40>(5, 2));
        compare::<3, 5, 2>(&pixels[..count], &labels[..count], 0.5);
    }
}

#[test]
fn two_cores_saturate_where_one_does() {
    // White images at an absurd rate: sums of both layers leave their ranges and are folded.
    let pixels = [[255; 12]; 700];
    let labels = selftest::labels::<700>(2, 4);
    compare::<12, 10, 4>(&pixels, &labels, 100.0);
}

#[test]
fn two_cores_train_the_papers_network_to_its_bits() {
    static IMAGES: [[u8; 784]; 60] = selftest::images(9);
    let labels = selftest::labels::<60>(9, 10);
    compare::<784, 50, 10>(&IMAGES, &labels, 0.5);
}

#[test]
fn a_half_that_is_skipped_changes_the_result() {
    let (pixels, labels) = (selftest::images::<20, 40>(5), selftest::labels::<40>(5, 4));
    let samples = Slices {
        pixels: &pixels,
        labels: &labels,
    };
    let one = train::<20, 8, 4>(&samples, 0.5, u32::MAX, None::<&mut Alone>);
    let idle = train::<20, 8, 4>(&samples, 0.5, u32::MAX, Some(&mut Idle));
    assert_ne!(idle, one);
}
