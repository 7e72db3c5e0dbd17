//! Dense windows for tests: samples without a zero, in classes that can be told apart.

use gleaner_host::device::shard::{ClientSamples, image};
use gleaner_learn::data::Samples;
use gleaner_shared::board;
use gleaner_shared::rng::{Purpose, Rng};

/// Returns samples for a network, each class about a wave of its own.
#[must_use]
pub fn samples(network: board::Shape, count: usize, stream: u32) -> Samples {
    let mut rng = Rng::stream(17, Purpose::Synthetic, stream, 0);
    let mut samples = Samples::default();
    for _ in 0..count {
        let class = rng.below(network.classes as u32);
        let phase = rng.below(64);
        samples.labels.push(class as u8);
        for at in 0..network.inputs as u32 {
            // A triangle of a period that tells the class, and noise.
            let place = ((class + 2) * at + phase) % 64;
            let height = 3 * place.min(64 - place);
            samples.images.push((60 + height + rng.below(60)) as u8);
        }
    }
    samples
}

/// Returns samples as a board takes them.
///
/// # Panics
/// Never: bytes and labels belong together.
#[must_use]
pub fn shard(network: board::Shape, samples: &Samples, client: u32) -> Vec<u8> {
    let samples = ClientSamples {
        client,
        inputs: network.inputs as u16,
        classes: network.classes as u16,
        pixels: &samples.images,
        labels: &samples.labels,
        key: None,
    };
    image(&samples).expect("samples that belong together")
}
