//! `gleaner bench rounds`: how the cost of a run grows with clients and rounds.

use std::process::ExitCode;
use std::time::Instant;

use crate::engine::Engine;
use crate::report::table::Table;
use crate::run::thread_count;
use crate::scenario::{Override, Scenario, Scheduler, resolve};
use crate::world;

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Numbers of clients U; there are 3 channels for every 10 clients.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 100, 300])]
    clients: Vec<usize>,
    /// Numbers of rounds N, at the first number of clients.
    #[arg(long, value_delimiter = ',', default_values_t = [20, 40, 80, 160])]
    rounds: Vec<usize>,
    /// The schedulers to measure.
    #[arg(long, value_delimiter = ',', default_value = "random,cre")]
    schedulers: Vec<Scheduler>,
    /// Threads that train; 0 means one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// Rounds over which the cost per client is measured.
const ROUNDS: usize = 20;

/// Measures and prints both tables.
///
/// # Errors
/// Whatever stops a run.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    println!(
        "36 samples a client, {} threads\n",
        thread_count(args.threads)
    );
    for &scheduler in &args.schedulers {
        let mut table = Table::new(&["U", "C", "ms per round", "us per round and client"]);
        for &clients in &args.clients {
            let scenario = scenario(scheduler, clients, ROUNDS)?;
            let seconds = measure(&scenario, args.threads)? / ROUNDS as f64;
            table.row(vec![
                clients.to_string(),
                scenario.link.channels.to_string(),
                format!("{:.3}", 1e3 * seconds),
                format!("{:.1}", 1e6 * seconds / clients as f64),
            ]);
        }
        println!("{scheduler}, by clients\n{}", table.to_text());

        let mut table = Table::new(&["N", "ms", "ms per round"]);
        let clients = args.clients.first().copied().unwrap_or(10);
        for &rounds in &args.rounds {
            let seconds = measure(&scenario(scheduler, clients, rounds)?, args.threads)?;
            table.row(vec![
                rounds.to_string(),
                format!("{:.1}", 1e3 * seconds),
                format!("{:.3}", 1e3 * seconds / rounds as f64),
            ]);
        }
        println!("{scheduler}, by rounds, U = {clients}\n{}", table.to_text());
    }
    Ok(ExitCode::SUCCESS)
}

/// Equal clients whatever their number, so that only the number varies.
fn scenario(scheduler: Scheduler, clients: usize, rounds: usize) -> anyhow::Result<Scenario> {
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Ok(resolve(
        "paper-mlp",
        &[
            Override::new("run.scheduler", scheduler.word()),
            Override::new("run.rounds", whole(rounds)),
            Override::new("run.evaluate_every", whole(rounds)),
            Override::new("clients.count", whole(clients)),
            Override::new("link.channels", whole((3 * clients / 10).max(1))),
            Override::new("partition.rule", "iid"),
            Override::new("partition.mean_samples", 36.0),
            Override::new("partition.std_samples", 0.0),
            // An epoch takes as long as the paper's of 1000 samples, so as many fit in a round.
            Override::new("device.cycles_per_sample", 100_000.0 / 36.0),
        ],
    )?)
}

/// Returns the wall time of all rounds, without loading and without files.
fn measure(scenario: &Scenario, threads: usize) -> anyhow::Result<f64> {
    let data = world::load_data(scenario)?;
    let mut world = world::build(scenario, &data, threads)?;
    let model = world.model.clone();
    let mut engine = Engine::new(scenario, &mut *world.fleet, &*world.examiner, model);
    let begin = Instant::now();
    while !engine.is_finished() {
        engine.step()?;
    }
    Ok(begin.elapsed().as_secs_f64())
}
