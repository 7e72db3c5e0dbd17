//! Federated averaging of ten clients in fixed point, with every model coded in 8 bits both ways,
//! against the same in f32 with nothing coded.

use gleaner_shared::mlp::Clip;
use gleaner_shared::mlp::code::{self, Code};
use gleaner_shared::mlp::{LearningRate, PaperParams, Trainer, Width, Work, scratch_words};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_tests::progress;
use gleaner_tests::shard::Digits;

use crate::float::{self, Float, HID};

/// Options of `cargo figures federated`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of rounds to train.
    #[arg(long, default_value_t = 200)]
    rounds: u32,
    /// Number of clients, all of which participate in every round.
    #[arg(long, default_value_t = 10)]
    clients: usize,
    /// Samples of each client.
    #[arg(long, default_value_t = 500)]
    samples: usize,
    /// Local epochs a round.
    #[arg(long, default_value_t = 2)]
    epochs: u32,
    /// Learning rate of the clients.
    #[arg(long, default_value_t = 0.1)]
    rate: f64,
    /// Share of a client's samples that are of its own class.
    #[arg(long, default_value_t = 0.4)]
    own: f64,
    /// Seed of data, parameters and rounding.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Code models in 16 bits instead of 8.
    #[arg(long)]
    wide: bool,
    /// `mnist-subset`, `mnist`, or a folder with the four IDX files.
    #[arg(long, default_value = "mnist-subset")]
    mnist: String,
    /// The largest difference of test accuracies that passes, in points.
    #[arg(long, default_value_t = 1.0)]
    tolerance: f64,
}

/// Trains both ways and tells whether the last accuracies agree.
pub fn run(args: &Args) -> bool {
    let (train, test) = match float::load(&args.mnist) {
        Ok(sets) => sets,
        Err(error) => {
            eprintln!("{error}");
            return false;
        }
    };
    let shards = float::deal(&train, args.clients, args.samples, args.own, args.seed);
    let mut coded = Coded::new(args);
    let mut float = Float::of(&coded.base);
    let bar = progress("rounds", u64::from(args.rounds));
    println!("round  8-bit %  float %");
    let (mut fixed_accuracy, mut float_accuracy) = (0.0, 0.0);
    for round in 1..=args.rounds {
        coded.round(args, &shards, round);
        float = average(args, &shards, &float);
        bar.inc(1);
        if round % args.rounds.div_ceil(5) == 0 || round == args.rounds {
            let model = Float {
                theta: coded.theta.clone(),
            };
            fixed_accuracy = model.accuracy(&test);
            float_accuracy = float.accuracy(&test);
            bar.suspend(|| println!("{round:5}  {fixed_accuracy:7.2}  {float_accuracy:7.2}"));
        }
    }
    bar.finish_and_clear();
    println!(
        "{} bytes a model and direction, {} of them codes",
        coded.bytes.len(),
        coded.bytes.len() - code::HEADER_BYTES
    );
    (fixed_accuracy - float_accuracy).abs() <= args.tolerance
}

/// One round of plain averaging.
fn average(args: &Args, shards: &[Digits], global: &Float) -> Float {
    let mut sum = vec![0.0f64; global.theta.len()];
    for shard in shards {
        let mut local = global.clone();
        local.train(shard, args.epochs, args.rate);
        sum.iter_mut()
            .zip(&local.theta)
            .for_each(|(sum, &theta)| *sum += f64::from(theta));
    }
    let theta = sum.iter().map(|sum| (sum / shards.len() as f64) as f32);
    Float {
        theta: theta.collect(),
    }
}

/// The coded side: what the base station and a client keep.
struct Coded {
    width: Width,
    /// The global model, which only the base station holds.
    theta: Vec<f32>,
    /// The last model both ends hold.
    base: Box<PaperParams>,
    local: Box<PaperParams>,
    work: Box<Work<HID, 10>>,
    scratch: Vec<u32>,
    bytes: Vec<u8>,
}

impl Coded {
    fn new(args: &Args) -> Self {
        let mut base = Box::new(PaperParams::new());
        base.initialise(args.seed);
        let width = if args.wide { Width::Wide } else { Width::Byte };
        Self {
            width,
            theta: Float::of(&base).theta,
            local: base.clone(),
            base,
            work: Box::new(Work::new()),
            scratch: vec![0; scratch_words::<HID>(args.samples)],
            bytes: vec![0; width.coded_bytes(PaperParams::COUNT)],
        }
    }

    fn round(&mut self, args: &Args, shards: &[Digits], round: u32) {
        // Down: the difference of the global model to the base, which both ends then apply.
        self.local.read_f32(&self.theta);
        self.encode(Rng::stream(args.seed, Purpose::Downlink, 0, round));
        let mut base = self.base.clone();
        self.decode().apply(&mut base);
        self.base = base;

        let mut sum = vec![0.0f64; self.theta.len()];
        let mut difference = vec![0.0; self.theta.len()];
        for (client, shard) in shards.iter().enumerate() {
            self.train(args, shard, client as u32, round);
            self.encode(Rng::stream(
                args.seed,
                Purpose::Uplink,
                client as u32,
                round,
            ));
            self.decode().write_f32(&mut difference);
            sum.iter_mut()
                .zip(&difference)
                .for_each(|(sum, &difference)| *sum += f64::from(difference));
        }
        self.base.write_f32(&mut self.theta);
        for (theta, sum) in self.theta.iter_mut().zip(sum) {
            *theta += (sum / shards.len() as f64) as f32;
        }
    }

    /// Codes the difference of the local model to the base.
    fn encode(&mut self, mut rng: Rng) {
        let Self {
            local, base, width, ..
        } = self;
        code::encode(local, base, *width, Clip::NONE, &mut rng, &mut self.bytes)
            .expect("the buffer has the length of a coded model");
    }

    fn decode(&self) -> Code<'_, 784, HID, 10> {
        Code::parse(&self.bytes, self.width).expect("what was encoded has the form of a code")
    }

    fn train(&mut self, args: &Args, shard: &Digits, client: u32, round: u32) {
        self.local.copy_from(&self.base);
        let samples = shard.samples();
        let mut trainer = Trainer::try_new(
            &mut *self.local,
            &samples,
            &mut self.work,
            &mut self.scratch,
            LearningRate::from_real(args.rate),
            Rng::stream(args.seed, Purpose::Training, client, round),
        )
        .expect("a shard of MNIST can be trained on");
        for _ in 0..args.epochs {
            trainer.epoch();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coded_rounds_keep_up_with_float_on_a_small_case() {
        assert!(run(&Args {
            rounds: 8,
            clients: 4,
            samples: 100,
            epochs: 2,
            rate: 0.5,
            own: 0.4,
            seed: 1,
            wide: false,
            mnist: "mnist-subset".to_owned(),
            tolerance: 1.5,
        }));
    }
}
