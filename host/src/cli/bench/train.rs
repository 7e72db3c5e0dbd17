//! `gleaner bench train`: times training as a round does it, in float, with real images.

use std::process::ExitCode;
use std::time::Instant;

use gleaner_shared::rng::{Purpose, Rng};
use serde::Serialize;

use crate::cli::threads;
use gleaner_learn::data::{self, DataError, Dataset, Samples, Shape};
use gleaner_learn::train::{Cnn, Engine, Job, Kernel, Mlp, Model, Objective};

/// Samples of a client.
const CLIENT: u32 = 1000;
/// Samples of an evaluation.
const TEST: u32 = 10_000;

/// Time the training engine.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Network to train.
    #[arg(long, value_enum, default_value_t = Network::Mlp)]
    model: Network,
    /// Threads; 0 means one per processor.
    #[arg(long, value_parser = threads::parse, default_value_t = 0)]
    threads: usize,
    /// Measurements of each figure; the median is printed.
    #[arg(long, default_value_t = 9)]
    repetitions: usize,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Network {
    /// Perceptron 784-50-10 on MNIST.
    Mlp,
    /// The convolutional network on CIFAR-10.
    Cnn,
}

/// Median times of the measurement.
#[derive(Debug, Serialize)]
struct Report {
    model: &'static str,
    data: String,
    kernel: &'static str,
    threads: usize,
    figures: Vec<Figure>,
}

#[derive(Debug, Serialize)]
struct Figure {
    what: String,
    median_ms: f64,
    least_ms: f64,
}

/// Runs `gleaner bench train`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let kernel = Kernel::chosen()?;
    let engine = Engine::new(args.threads)?;
    let bench = Workload {
        engine,
        repetitions: args.repetitions.max(1),
    };
    let (name, model, set, epochs): (_, Box<dyn Model>, _, _) = match args.model {
        Network::Mlp => (
            "mlp",
            Box::new(Mlp::paper(kernel)),
            data::load("mnist-subset")?,
            40,
        ),
        Network::Cnn => ("cnn", Box::new(Cnn::paper(kernel)), photographs()?, 1),
    };
    let report = Report {
        model: name,
        data: set.name.clone(),
        kernel: kernel.name(),
        threads: bench.engine.threads(),
        figures: bench.figures(model.as_ref(), &set.train, epochs),
    };
    if args.json {
        outjson!(serde_json::to_string_pretty(&report)?);
    } else {
        let Report {
            model,
            data,
            kernel,
            threads,
            ..
        } = &report;
        outln!("{model} on {data}, f32, kernel {kernel}, {threads} threads");
        for figure in &report.figures {
            outln!(
                "{:<58} median {:>9.3} ms, least {:>9.3} ms",
                figure.what,
                figure.median_ms,
                figure.least_ms
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns CIFAR-10 if it was fetched, else noise of the same size: the time of an epoch
/// depends little on what is in the images.
fn photographs() -> Result<Dataset, DataError> {
    match data::load("cifar10") {
        Err(DataError::Missing { .. }) => {}
        loaded => return loaded,
    }
    let mut rng = Rng::stream(0, Purpose::Synthetic, 0, 0);
    let count = 3 * CLIENT as usize;
    let train = Samples {
        images: (0..count * Shape::CIFAR10.bytes())
            .map(|_| rng.next_u32() as u8)
            .collect(),
        labels: (0..count).map(|_| rng.below(10) as u8).collect(),
    };
    let name = "noise (no cifar10 here)".to_owned();
    Ok(Dataset {
        name,
        shape: Shape::CIFAR10,
        classes: 10,
        class_names: Vec::new(),
        train,
        test: Samples::default(),
        owners: None,
    })
}

struct Workload {
    engine: Engine,
    repetitions: usize,
}

impl Workload {
    fn figures(&self, model: &dyn Model, samples: &Samples, epochs: u32) -> Vec<Figure> {
        let available = samples.len() as u32;
        let client = |number: u32| {
            let indices: Vec<u32> = (0..CLIENT)
                .map(|at| (number * CLIENT + at) % available)
                .collect();
            model.objective(samples, &indices)
        };
        let clients: Vec<Box<dyn Objective>> = (0..3).map(client).collect();
        let test: Vec<u32> = (0..TEST).map(|at| at % available).collect();
        let test = model.objective(samples, &test);
        let start = model.initialise(0);
        let train = |count: usize, epochs: u32| {
            let jobs: Vec<Job> = clients[..count]
                .iter()
                .map(|objective| Job {
                    objective: objective.as_ref(),
                    start: &start,
                    epochs,
                    learning_rate: 0.01,
                })
                .collect();
            move || drop(self.engine.train(&jobs))
        };
        vec![
            self.time(
                format!("epoch of {CLIENT} samples, two clients at once, per client"),
                f64::from(2 * epochs),
                train(2, epochs),
            ),
            self.time(
                format!("epoch of {CLIENT} samples, one client alone"),
                f64::from(epochs),
                train(1, epochs),
            ),
            self.time(format!("evaluation of {TEST} samples"), 1.0, || {
                let _ = self.engine.evaluate(test.as_ref(), &start);
            }),
            self.time(
                "round of 3 clients, 4 epochs each".to_owned(),
                1.0,
                train(3, 4),
            ),
        ]
    }

    /// Times `work`, which does `units` of what is reported.
    fn time(&self, what: String, units: f64, work: impl Fn()) -> Figure {
        work();
        let mut times: Vec<f64> = (0..self.repetitions)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed().as_secs_f64() * 1e3 / units
            })
            .collect();
        times.sort_by(f64::total_cmp);
        Figure {
            what,
            median_ms: times[times.len() / 2],
            least_ms: times[0],
        }
    }
}
