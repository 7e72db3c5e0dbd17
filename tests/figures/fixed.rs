//! The fixed-point trainer against f32 at the same learning rate, on one shard of MNIST, mixed
//! and with 40 % of one class.

use gleaner_shared::mlp::{LearningRate, PaperParams, Trainer, Work, scratch_words};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_tests::shard::Digits;

use crate::float::{self, Float, HID};

/// Options of `cargo figures fixed`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Samples of the shard.
    #[arg(long, default_value_t = 1000)]
    samples: usize,
    /// Number of epochs to train.
    #[arg(long, default_value_t = 100)]
    epochs: u32,
    /// Learning rates to compare at.
    #[arg(long, default_values_t = [0.5, 0.1, 0.01], value_delimiter = ',')]
    rates: Vec<f64>,
    /// How many seeds to run, from 1 on.
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// `mnist-subset`, `mnist`, or a folder with the four IDX files.
    #[arg(long, default_value = "mnist-subset")]
    mnist: String,
    /// The largest mean difference of test accuracies over the seeds that passes, in points; one
    /// seed's is noisier, the subset's test images being 2,000.
    #[arg(long, default_value_t = 0.5)]
    tolerance: f64,
}

/// Trains both ways and tells whether the accuracies agree on average for every rate and shard.
pub fn run(args: &Args) -> bool {
    let (train, test) = match float::load(&args.mnist) {
        Ok(sets) => sets,
        Err(error) => {
            eprintln!("{error}");
            return false;
        }
    };
    let mut holds = true;
    println!("  rate  shard    seed  fixed %  float %  difference");
    for &rate in &args.rates {
        for (name, own) in [("mixed", 0.0), ("non-IID", 0.4)] {
            let (mut sum, mut worst) = (0.0, 0.0f64);
            for seed in 1..=args.seeds {
                let client = (seed % 10) as usize;
                let shards = float::deal(&train, client + 1, args.samples, own, seed);
                let (fixed, float) = compare(&shards[client], &test, rate, args.epochs, seed);
                let difference = fixed - float;
                sum += difference;
                worst = worst.max(difference.abs());
                println!(
                    "{rate:6}  {name:7}  {seed:4}  {fixed:7.2}  {float:7.2}  {difference:+10.2}"
                );
            }
            let mean = sum / args.seeds as f64;
            holds &= mean.abs() <= args.tolerance;
            println!("{rate:6}  {name:7}  mean {mean:+30.2}  largest {worst:.2}");
        }
    }
    holds
}

/// Returns the test accuracies of fixed point and of f32.
fn compare(shard: &Digits, test: &Digits, rate: f64, epochs: u32, seed: u64) -> (f64, f64) {
    let mut params = Box::new(PaperParams::new());
    params.initialise(seed);
    let mut float = Float::of(&params);
    let samples = shard.samples();
    let mut work = Box::new(Work::new());
    let mut scratch = vec![0; scratch_words::<HID>(shard.labels.len())];
    let rng = Rng::stream(seed, Purpose::Training, 0, 0);
    let rate_fixed = LearningRate::from_real(rate);
    let mut trainer = Trainer::try_new(
        &mut *params,
        &samples,
        &mut work,
        &mut scratch,
        rate_fixed,
        rng,
    )
    .expect("a shard of MNIST can be trained on");
    for _ in 0..epochs {
        trainer.epoch();
    }
    float.train(shard, epochs, rate);
    (float::fixed_accuracy(&params, test), float.accuracy(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_learns_like_float_on_a_small_shard() {
        assert!(run(&Args {
            samples: 200,
            epochs: 40,
            rates: vec![0.5],
            seeds: 1,
            mnist: "mnist-subset".to_owned(),
            tolerance: 1.0,
        }));
    }
}
