//! Time of the server's step on both networks, by kernel and as a share of a round.

use std::error::Error;
use std::time::Instant;

use serde::Serialize;

use gleaner_learn::aggregate::{Contribution, Rule};
use gleaner_learn::data::Samples;
use gleaner_learn::server::{Server, Step};
use gleaner_learn::train::{Engine, Job, Kernel, ModelKind, Objective};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::report::table::Table;
use gleaner_sim::scenario::{Override, resolve};

/// Participants of a round.
const PARTICIPANTS: u32 = 3;
/// Samples of each participant.
const SAMPLES: u32 = 1000;

/// Time the base station's step.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Threads that train in the round; the step always has one. 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Measurements of each figure; the median counts.
    #[arg(long, default_value_t = 9)]
    repetitions: usize,
    /// Measure the portable kernel, too, which takes seconds a step where it has no vectors.
    #[arg(long)]
    portable: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Measurement as it is printed.
#[derive(Debug, Serialize)]
struct Report {
    participants: u32,
    samples: u32,
    threads: usize,
    figures: Vec<Figure>,
}

/// One network under one kernel.
#[derive(Debug, Serialize)]
struct Figure {
    model: &'static str,
    kernel: &'static str,
    plain_ms: f64,
    momentum_ms: f64,
    spectral_ms: f64,
    /// Every participant trains one epoch, and the model is aggregated.
    round_ms: f64,
    /// What the spectral step adds, over the round.
    share: f64,
}

/// Prints the times and tells whether they could be measured.
pub fn run(args: &Args) -> bool {
    let measured = measure_all(args);
    if let Err(error) = &measured {
        println!("{error}");
    }
    measured.is_ok()
}

fn measure_all(args: &Args) -> Result<(), Box<dyn Error>> {
    let engine = Engine::new(args.threads)?;
    let mut figures = Vec::new();
    for kind in [ModelKind::Mlp, ModelKind::Cnn] {
        let mut kernels = Kernel::available();
        kernels.retain(|kernel| args.portable || kernel.name() != "portable");
        if kernels.is_empty() {
            kernels = Kernel::available();
        }
        for kernel in kernels {
            figures.push(measure(kind, kernel, &engine, args.repetitions.max(1))?);
        }
    }
    let report = Report {
        participants: PARTICIPANTS,
        samples: SAMPLES,
        threads: engine.threads(),
        figures,
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    let Report {
        participants,
        samples,
        threads,
        ..
    } = report;
    println!(
        "the server's step on one thread; a round is {participants} clients, {samples} samples, one \
         epoch, {threads} threads; medians in ms\n"
    );
    let mut table = Table::new(&[
        "network", "kernel", "plain", "momentum", "spectral", "round", "share",
    ]);
    for figure in &report.figures {
        let ms = |value: f64| format!("{value:.3}");
        table.row(vec![
            figure.model.to_owned(),
            figure.kernel.to_owned(),
            ms(figure.plain_ms),
            ms(figure.momentum_ms),
            ms(figure.spectral_ms),
            ms(figure.round_ms),
            format!("{:.1} %", 100.0 * figure.share),
        ]);
    }
    println!("{}", table.to_text());
    Ok(())
}

/// Trains a round, then takes every step from what it brought.
fn measure(
    kind: ModelKind,
    kernel: Kernel,
    engine: &Engine,
    repetitions: usize,
) -> Result<Figure, Box<dyn Error>> {
    let model = kind.paper(kernel);
    let start = model.initialise(0);
    let clients: Vec<Box<dyn Objective>> = (0..PARTICIPANTS)
        .map(|client| model.objective(&noise(kind, client), &(0..SAMPLES).collect::<Vec<_>>()))
        .collect();
    let jobs: Vec<Job<'_>> = clients
        .iter()
        .map(|objective| Job {
            objective: objective.as_ref(),
            start: &start,
            epochs: 1,
            learning_rate: 0.01,
        })
        .collect();
    let mut trained = engine.train(&jobs);
    let train_ms = median(repetitions, || trained = engine.train(&jobs));
    let contributions: Vec<(usize, Contribution<'_>)> = trained
        .iter()
        .map(|trained| Contribution {
            samples: SAMPLES,
            epochs: 1,
            model: &trained.parameters,
            scale: 1.0,
            trust: 1.0,
        })
        .enumerate()
        .collect();
    let time = |rule: &str| -> Result<f64, Box<dyn Error>> {
        let step: Step = resolve("paper-mlp", &[Override::new("server.rule", rule)])?.server();
        let server = Server::new(step, kernel, &model.tensors(), start.len());
        let mut state = server.start(&start, clients.len());
        let mut advance = || drop(server.advance(&mut state, Rule::Mean, &start, &contributions));
        advance();
        Ok(median(repetitions, advance))
    };
    let (plain_ms, momentum_ms, spectral_ms) =
        (time("plain")?, time("momentum")?, time("spectral")?);
    Ok(Figure {
        model: kind.into(),
        kernel: kernel.name(),
        plain_ms,
        momentum_ms,
        spectral_ms,
        round_ms: train_ms + plain_ms,
        share: (spectral_ms - plain_ms) / (train_ms + plain_ms),
    })
}

/// Images of noise, as sparse as a digit: the time of an epoch depends on little else.
fn noise(kind: ModelKind, client: u32) -> Samples {
    let mut rng = Rng::stream(0, Purpose::Synthetic, client, 0);
    let mut pixel = || match (kind, rng.below(5)) {
        (ModelKind::Mlp, 1..) => 0,
        _ => rng.next_u32() as u8,
    };
    let bytes = SAMPLES as usize * kind.images().bytes();
    let images = (0..bytes).map(|_| pixel()).collect();
    let labels = (0..SAMPLES).map(|at| (at % 10) as u8).collect();
    Samples { images, labels }
}

fn median(repetitions: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repetitions)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
