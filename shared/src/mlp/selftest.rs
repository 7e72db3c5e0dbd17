//! A fingerprint that two builds must agree on: networks trained on pseudo-random data.

use super::code::Draw;
use super::descent::LearningRate;
use super::params::Params;
use super::sample::{Samples, Slices};
use super::scratch::{Scratch, scratch_words};
use super::trainer::Trainer;
use super::work::Work;
use crate::rng::{Purpose, Rng};

/// How many epochs [`small_nets`] trains in total.
pub const SMALL_EPOCHS: u32 = 1000;

/// Returns `N` images of `IN` pixels, about a fifth of them not zero and in strokes, like
/// handwriting: fit for a static, which a device then holds in flash.
#[must_use]
pub const fn images<const IN: usize, const N: usize>(seed: u64) -> [[u8; IN]; N] {
    let mut images = [[0; IN]; N];
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    let mut image = 0;
    while image < N {
        let mut pixel = 0;
        while pixel < IN {
            let mut stroke = 2 + rng.below(10) as usize;
            while stroke > 0 && pixel < IN {
                images[image][pixel] = 255 - (rng.below(16) * rng.below(17)) as u8;
                pixel += 1;
                stroke -= 1;
            }
            pixel += rng.below(50) as usize;
        }
        image += 1;
    }
    images
}

/// Returns `N` labels below `classes`.
#[must_use]
pub const fn labels<const N: usize>(seed: u64, classes: u32) -> [u8; N] {
    let mut labels = [0; N];
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 1, 0);
    let mut index = 0;
    while index < N {
        labels[index] = rng.below(classes) as u8;
        index += 1;
    }
    labels
}

/// Initialises a network with `seed`, trains it for some epochs and returns its fingerprint
/// mixed with the loss and accuracy of every epoch; `None` if it cannot be trained.
pub fn train<S: Samples<IN>, const IN: usize, const HID: usize, const OUT: usize>(
    seed: u64,
    params: &mut Params<IN, HID, OUT>,
    samples: &S,
    work: &mut Work<HID, OUT>,
    scratch: &mut [u32],
    rate: LearningRate,
    epochs: u32,
) -> Option<u64> {
    params.initialise(seed);
    let rng = Rng::stream(seed, Purpose::Training, 0, 0);
    let mut trainer = Trainer::try_new(params, samples, work, scratch, rate, rng).ok()?;
    let mut hash = seed;
    for _ in 0..epochs {
        let result = trainer.epoch();
        hash = hash.rotate_left(7) ^ result.loss_sum ^ (u64::from(result.correct) << 48);
    }
    Some(hash ^ trainer.params().fingerprint())
}

/// Trains one small network of each shape in turn until [`SMALL_EPOCHS`] epochs are done, with
/// random data, seeds and learning rates up to absurd ones, so that saturation is reached too.
/// Returns one number for all of them. Calls `between` after each, some tens of milliseconds apart on
/// a board.
pub fn small_nets(mut between: impl FnMut()) -> u64 {
    let mut hash = 0u64;
    let mut epochs = 0;
    let mut seed = 1;
    while epochs < SMALL_EPOCHS {
        let share = 10.min(SMALL_EPOCHS - epochs);
        let one = match seed % 5 {
            0 => small::<16, 8, 3, { scratch_words::<8>(20) }>(seed, share),
            1 => small::<9, 5, 2, { scratch_words::<5>(20) }>(seed, share),
            2 => small::<30, 10, 10, { scratch_words::<10>(20) }>(seed, share),
            3 => small::<41, 17, 4, { scratch_words::<17>(20) }>(seed, share),
            _ => small::<12, 50, 7, { scratch_words::<50>(20) }>(seed, share),
        };
        hash = hash.rotate_left(13) ^ one;
        epochs += share;
        seed += 1;
        between();
    }
    hash
}

fn small<const IN: usize, const HID: usize, const OUT: usize, const WORDS: usize>(
    seed: u64,
    epochs: u32,
) -> u64 {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 2, 0);
    let count = 1 + rng.below(20) as usize;
    // Every fourth network sees full white, every rate between 2^-10 and 2^7 occurs.
    let mut pixels = images::<IN, 20>(seed);
    if rng.below(4) == 0 {
        pixels.as_flattened_mut().fill(255);
    }
    let labels = labels::<20>(seed, OUT as u32);
    let samples = Slices {
        pixels: &pixels[..count],
        labels: &labels,
    };
    let rate = LearningRate((1 << 14) << rng.below(18));
    let mut params = Params::<IN, HID, OUT>::new();
    let mut scratch = Scratch::<WORDS>::new();
    let words = scratch.words();
    train(
        seed,
        &mut params,
        &samples,
        &mut Work::new(),
        words,
        rate,
        epochs,
    )
    .unwrap_or(0)
}

/// Changes a model about as much as an epoch does: the weights of every fifth input stay as they are.
pub fn move_on<const IN: usize, const HID: usize, const OUT: usize>(
    model: &mut Params<IN, HID, OUT>,
) {
    let mut rng = Rng::stream(2, Purpose::Synthetic, 0, 0);
    model.map(|_, index, old| match index / HID % 5 {
        0 => old,
        _ => old.saturating_add((rng.next_u32() as i32 >> 24) * (1 + rng.below(3) as i32)),
    });
}

/// The network whose updates the self-test codes: half of the paper's, so that its models leave room for
/// the stack of [`small_nets`].
pub type CodedNet = Params<392, 50, 10>;

/// The streams of those updates.
pub const CODED_DRAW: Draw = Draw {
    seed: 1,
    client: 3,
    round: 7,
};

/// Returns a 64-bit fingerprint of bytes (FNV-1a).
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// Trains networks of other sizes than the paper's, each on samples like handwriting and on samples
/// without a zero. Returns one number for all of them. Calls `between` after each.
pub fn networks(mut between: impl FnMut()) -> u64 {
    let mut hash = 0u64;
    let mut mix = |one: u64| {
        hash = hash.rotate_left(13) ^ one;
        between();
    };
    for dense in [false, true] {
        mix(network::<64, 32, 10, { scratch_words::<32>(12) }>(dense));
        mix(network::<192, 50, 7, { scratch_words::<50>(12) }>(dense));
        mix(network::<100, 100, 10, { scratch_words::<100>(12) }>(dense));
    }
    hash
}

#[inline(never)]
fn network<const IN: usize, const HID: usize, const OUT: usize, const WORDS: usize>(
    dense: bool,
) -> u64 {
    let seed = (IN * OUT) as u64;
    let mut pixels = images::<IN, 12>(seed);
    if dense {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 3, 0);
        for pixel in pixels.as_flattened_mut() {
            *pixel = 1 + rng.below(255) as u8;
        }
    }
    let samples = Slices {
        pixels: &pixels,
        labels: &labels::<12>(seed, OUT as u32),
    };
    let mut params = Params::<IN, HID, OUT>::new();
    let (mut work, mut scratch) = (Work::new(), Scratch::<WORDS>::new());
    let (words, rate) = (scratch.words(), LearningRate(1 << 22));
    train(seed, &mut params, &samples, &mut work, words, rate, 3).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_as_sparse_as_handwriting() {
        let images = images::<784, 50>(3);
        let lit = images.as_flattened().iter().filter(|&&x| x != 0).count();
        assert!((6_500..9_500).contains(&lit), "{lit} of {}", 784 * 50);
    }

    #[test]
    fn every_small_net_trains() {
        assert_eq!(small_nets(|| {}), small_nets(|| {}));
    }
}
