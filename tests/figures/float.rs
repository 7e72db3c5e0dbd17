//! The paper's perceptron in f32 with full-batch gradient descent, started from the parameters of a
//! fixed-point network.

use gleaner_learn::data;
use gleaner_learn::train::{Kernel, Mlp, Model as _, Objective};
use gleaner_shared::mlp::{EpochResult, PaperParams, Samples as _};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_tests::shard::{Digits, INPUTS};

pub const HID: usize = 50;
pub const OUT: usize = 10;

/// Loads the training and the test half of an MNIST data set.
pub fn load(name: &str) -> Result<(Digits, Digits), String> {
    let set = data::load(name).map_err(|error| error.to_string())?;
    if set.train.images.len() != set.train.len() * INPUTS {
        return Err(format!("{name}: images must have {INPUTS} bytes"));
    }
    Ok((Digits::of(&set.train), Digits::of(&set.test)))
}

/// Deals shards of `size` samples to `clients`: a share `own` of client i's samples are of class
/// i mod 10, the rest of any class; no sample is dealt twice.
pub fn deal(train: &Digits, clients: usize, size: usize, own: f64, seed: u64) -> Vec<Digits> {
    let mut order: Vec<usize> = (0..train.labels.len()).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let mut shards = vec![Digits::default(); clients];
    let own_count = (own * size as f64).round() as usize;
    let mut give = |shard: &mut Digits, wanted: usize, class: Option<u8>| {
        let mut kept = Vec::new();
        for &index in &order {
            let fits = class.is_none_or(|class| train.labels[index] == class);
            if fits && shard.labels.len() < wanted {
                shard.pixels.push(train.pixels[index]);
                shard.labels.push(train.labels[index]);
            } else {
                kept.push(index);
            }
        }
        order = kept;
    };
    for (client, shard) in shards.iter_mut().enumerate() {
        give(shard, own_count, Some((client % OUT) as u8));
    }
    for shard in &mut shards {
        give(shard, size, None);
    }
    shards
}

/// Parameters of the network in f32, in wire order.
#[derive(Clone, Debug)]
pub struct Float {
    pub theta: Vec<f32>,
}

impl Float {
    /// Starts from the parameters of a fixed-point network.
    pub fn of(params: &PaperParams) -> Self {
        let mut theta = vec![0.0; PaperParams::COUNT];
        params.write_f32(&mut theta);
        Self { theta }
    }

    /// Takes `epochs` full-batch steps.
    pub fn train(&mut self, set: &Digits, epochs: u32, rate: f64) {
        let _ = objective(set).descend(&mut self.theta, epochs, rate as f32);
    }

    /// Returns the share of images classified correctly, in percent.
    pub fn accuracy(&self, set: &Digits) -> f64 {
        100.0 * objective(set).evaluate(&self.theta).accuracy()
    }
}

fn objective(set: &Digits) -> Box<dyn Objective> {
    let samples = data::Samples {
        images: set.pixels.as_flattened().to_vec(),
        labels: set.labels.clone(),
    };
    let all: Vec<u32> = (0..set.labels.len() as u32).collect();
    Mlp::paper(Kernel::available()[0]).objective(&samples, &all)
}

/// Returns an evaluation's accuracy in percent.
pub fn percent(result: &EpochResult) -> f64 {
    100.0 * f64::from(result.correct) / f64::from(result.samples)
}

/// Returns the fixed-point network's accuracy on a set, in percent.
pub fn fixed_accuracy(params: &PaperParams, set: &Digits) -> f64 {
    let slices = set.samples();
    let mut pass = gleaner_shared::mlp::forward::Pass::new();
    percent(&gleaner_shared::mlp::evaluate(
        params,
        &slices,
        0..slices.len(),
        &mut pass,
    ))
}
