//! A plain f32 perceptron with full-batch gradient descent: what fixed point is measured against.
//! Parameters are in wire order, so that both sides start from the same ones.

use gleaner_learn::data::Dataset;
use gleaner_shared::mlp::params::Tensor;
use gleaner_shared::mlp::sample::Slices;
use gleaner_shared::mlp::{EpochResult, PaperParams, Samples as _};
use gleaner_shared::rng::{Purpose, Rng};

pub const IN: usize = 784;
pub const HID: usize = 50;
pub const OUT: usize = 10;

/// Images of the paper's network with their labels.
#[derive(Clone, Debug, Default)]
pub struct Set {
    pub pixels: Vec<[u8; IN]>,
    pub labels: Vec<u8>,
}

impl Set {
    /// Borrows the set as the fixed-point trainer takes it.
    pub fn slices(&self) -> Slices<'_, IN> {
        Slices {
            pixels: &self.pixels,
            labels: &self.labels,
        }
    }

    /// Takes all images of one half of a data set.
    pub fn of(samples: &gleaner_learn::data::Samples) -> Self {
        Self {
            pixels: samples.images.as_chunks::<IN>().0.to_vec(),
            labels: samples.labels.clone(),
        }
    }
}

/// Loads the training and the test half of an MNIST data set, or says why not.
pub fn load(name: &str) -> Result<(Set, Set), String> {
    let Dataset { train, test, .. } =
        gleaner_learn::data::load(name).map_err(|error| error.to_string())?;
    if train.images.len() != train.len() * IN {
        return Err(format!("{name}: images must have {IN} bytes"));
    }
    Ok((Set::of(&train), Set::of(&test)))
}

/// Deals shards of `size` samples to `clients`: a share `own` of client i's samples are of class
/// i mod 10, the rest of any class; no sample is dealt twice.
pub fn deal(train: &Set, clients: usize, size: usize, own: f64, seed: u64) -> Vec<Set> {
    let mut order: Vec<usize> = (0..train.labels.len()).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let mut shards = vec![Set::default(); clients];
    let own_count = (own * size as f64).round() as usize;
    let mut give = |shard: &mut Set, wanted: usize, class: Option<u8>| {
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

/// A network in f32.
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

    /// Returns hidden activations and class probabilities of one image.
    fn forward(&self, image: &[u8; IN]) -> ([f32; HID], [f32; OUT]) {
        let part = |tensor| &self.theta[PaperParams::range(tensor)];
        let mut hidden = [0.0; HID];
        hidden.copy_from_slice(part(Tensor::B1));
        for (&x, row) in image.iter().zip(part(Tensor::W1).as_chunks::<HID>().0) {
            if x != 0 {
                let x = f32::from(x) / 255.0;
                hidden.iter_mut().zip(row).for_each(|(h, w)| *h += x * w);
            }
        }
        let mut output = [0.0; OUT];
        output.copy_from_slice(part(Tensor::B2));
        for (h, row) in hidden.iter_mut().zip(part(Tensor::W2).as_chunks::<OUT>().0) {
            *h = h.max(0.0);
            output.iter_mut().zip(row).for_each(|(o, w)| *o += *h * w);
        }
        let largest = output.into_iter().fold(f32::MIN, f32::max);
        output = output.map(|o| libm::expf(o - largest));
        let total: f32 = output.iter().sum();
        (hidden, output.map(|o| o / total))
    }

    /// Takes one full-batch step.
    pub fn epoch(&mut self, set: &Set, rate: f64) {
        let mut gradient = vec![0.0f32; self.theta.len()];
        let starts = Tensor::ALL.map(|tensor| PaperParams::range(tensor).start);
        for (image, &label) in set.pixels.iter().zip(&set.labels) {
            let (hidden, mut d2) = self.forward(image);
            d2[usize::from(label)] -= 1.0;
            let mut d1 = [0.0f32; HID];
            for unit in (0..HID).filter(|&unit| hidden[unit] > 0.0) {
                let row = unit * OUT;
                for class in 0..OUT {
                    gradient[starts[2] + row + class] += hidden[unit] * d2[class];
                    d1[unit] += self.theta[starts[2] + row + class] * d2[class];
                }
                gradient[starts[1] + unit] += d1[unit];
            }
            for class in 0..OUT {
                gradient[starts[3] + class] += d2[class];
            }
            let rows = gradient[..starts[1]].as_chunks_mut::<HID>().0;
            for (&x, row) in image.iter().zip(rows) {
                if x != 0 {
                    let x = f32::from(x) / 255.0;
                    row.iter_mut().zip(d1).for_each(|(g, d)| *g += x * d);
                }
            }
        }
        let step = rate as f32 / set.labels.len() as f32;
        for (theta, gradient) in self.theta.iter_mut().zip(gradient) {
            *theta -= step * gradient;
        }
    }

    /// Returns the share of images classified rightly, in per cent.
    pub fn accuracy(&self, set: &Set) -> f64 {
        let right = |(image, label): &(&[u8; IN], &u8)| {
            let (_, output) = self.forward(image);
            let best = (0..OUT)
                .rev()
                .max_by(|&a, &b| output[a].total_cmp(&output[b]));
            best == Some(usize::from(**label))
        };
        let correct = set.pixels.iter().zip(&set.labels).filter(right).count();
        100.0 * correct as f64 / set.labels.len() as f64
    }
}

/// Returns an evaluation's accuracy in per cent.
pub fn percent(result: &EpochResult) -> f64 {
    100.0 * f64::from(result.correct) / f64::from(result.samples)
}

/// Returns the fixed-point network's accuracy on a set, in per cent.
pub fn fixed_accuracy(params: &PaperParams, set: &Set) -> f64 {
    let slices = set.slices();
    let mut pass = gleaner_shared::mlp::forward::Pass::new();
    percent(&gleaner_shared::mlp::evaluate(
        params,
        &slices,
        0..slices.len(),
        &mut pass,
    ))
}
