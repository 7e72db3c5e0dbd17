//! `gleaner bench rounds`: how the cost of a run grows with clients and rounds.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cli::{threads, word};
use gleaner_sim::fleet;
use gleaner_sim::policy::{Decider, Decision, Policy, PolicyError, Scheduler, View};
use gleaner_sim::report::table::Table;
use gleaner_sim::round::{Engine, environment, settings};
use gleaner_sim::run::thread_count;
use gleaner_sim::scenario::{Override, Scenario, resolve};

/// Measure how the time of a run grows with clients and rounds.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Numbers of clients U.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 100, 300])]
    clients: Vec<usize>,
    /// Channels C; without it there are 3 for every 10 clients.
    #[arg(long)]
    channels: Option<usize>,
    /// Numbers of rounds N, at the first number of clients.
    #[arg(long, value_delimiter = ',', default_values_t = [20, 40, 80, 160])]
    rounds: Vec<usize>,
    /// The schedulers to measure.
    #[arg(long, value_delimiter = ',', default_value = "random,cre", value_parser = word::parser::<Scheduler>())]
    schedulers: Vec<Scheduler>,
    /// Threads that train; 0 means one per processor.
    #[arg(long, value_parser = threads::parse, default_value_t = 0)]
    threads: usize,
}

/// Rounds over which the cost per client is measured; the median round counts.
const ROUNDS: usize = 21;

/// Measures and prints both tables.
///
/// # Errors
/// Whatever stops a run.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    outln!(
        "36 samples a client, {} threads; medians over {ROUNDS} rounds\n",
        thread_count(args.threads)
    );
    for &scheduler in &args.schedulers {
        let mut table = Table::new(&[
            "U",
            "C",
            "ms per round",
            "of it the scheduler",
            "the rest, us per client",
        ]);
        for &clients in &args.clients {
            let scenario = args.scenario(scheduler, clients, ROUNDS)?;
            let rounds = measure(&scenario, args.threads)?;
            let scheduling_s = median(rounds.iter().map(|round| round.scheduling_s));
            let rest_s = median(
                rounds
                    .iter()
                    .map(|round| round.whole_s - round.scheduling_s),
            );
            table.row(vec![
                clients.to_string(),
                scenario.radio.channels.to_string(),
                format!("{:.2}", 1e3 * (scheduling_s + rest_s)),
                format!("{:.2}", 1e3 * scheduling_s),
                format!("{:.0}", 1e6 * rest_s / clients as f64),
            ]);
        }
        outln!("{scheduler}, by clients\n{}", table.to_text());

        let mut table = Table::new(&["N", "ms", "ms per round"]);
        let clients = args.clients.first().copied().unwrap_or(10);
        for &rounds in &args.rounds {
            let measured = measure(&args.scenario(scheduler, clients, rounds)?, args.threads)?;
            let seconds: f64 = measured.iter().map(|round| round.whole_s).sum();
            table.row(vec![
                rounds.to_string(),
                format!("{:.1}", 1e3 * seconds),
                format!("{:.3}", 1e3 * seconds / rounds as f64),
            ]);
        }
        outln!("{scheduler}, by rounds, U = {clients}\n{}", table.to_text());
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn scenario(
        &self,
        scheduler: Scheduler,
        clients: usize,
        rounds: usize,
    ) -> anyhow::Result<Scenario> {
        scenario(&scheduler.into(), clients, self.channels, rounds)
    }
}

/// Equal clients whatever their number, so that only the number varies; without a number of
/// channels there are 3 for every 10 clients.
pub(super) fn scenario(
    scheduler: &Decider,
    clients: usize,
    channels: Option<usize>,
    rounds: usize,
) -> anyhow::Result<Scenario> {
    let channels = channels.unwrap_or((3 * clients / 10).max(1));
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Ok(resolve(
        "paper-mlp",
        &[
            Override::new("run.scheduler", scheduler.to_string()),
            Override::new("run.rounds", whole(rounds)),
            Override::new("run.evaluate_every", whole(rounds)),
            Override::new("clients.count", whole(clients)),
            Override::new("radio.channels", whole(channels)),
            Override::new("partition.rule", "iid"),
            Override::new("partition.mean_samples", 36.0),
            Override::new("partition.std_samples", 0.0),
            // An epoch takes as long as the paper's of 1000 samples, so as many fit in a round.
            Override::new("device.cycles_per_sample", 100_000.0 / 36.0),
        ],
    )?)
}

/// The wall time of one round.
pub(super) struct Round {
    whole_s: f64,
    /// Seconds to start the scheduler; only in the first round.
    pub(super) start_s: f64,
    pub(super) scheduling_s: f64,
}

/// Times all rounds, without loading and without files.
pub(super) fn measure(scenario: &Scenario, threads: usize) -> anyhow::Result<Vec<Round>> {
    let data = fleet::load_data(scenario)?;
    let mut deployment = fleet::build(scenario, &data, threads)?;
    let model = deployment.model.clone();
    let clock: Arc<Mutex<Clock>> = Arc::default();
    let policy = Timed {
        policy: settings::policy(scenario),
        clock: Arc::clone(&clock),
    };
    let mut engine = Engine::new(
        scenario,
        &mut *deployment.fleet,
        &*deployment.examiner,
        environment::of(scenario)?,
        model,
    )
    .with_policy(Box::new(policy));
    let mut rounds = Vec::with_capacity(scenario.run.rounds);
    while !engine.is_finished() {
        let begin = Instant::now();
        engine.step()?;
        let whole_s = begin.elapsed().as_secs_f64();
        let clock = std::mem::take(&mut *clock.lock().unwrap_or_else(PoisonError::into_inner));
        rounds.push(Round {
            whole_s: whole_s - clock.start.as_secs_f64(),
            start_s: clock.start.as_secs_f64(),
            scheduling_s: clock.deciding.as_secs_f64(),
        });
    }
    Ok(rounds)
}

/// A scheduler that notes how long it thinks.
struct Timed {
    policy: Box<dyn Policy>,
    clock: Arc<Mutex<Clock>>,
}

/// Time that a scheduler took.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    start: Duration,
    deciding: Duration,
}

impl Timed {
    fn time<T>(&self, hand: fn(&mut Clock) -> &mut Duration, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = work();
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        *hand(&mut clock) += begin.elapsed();
        result
    }
}

impl Policy for Timed {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        self.time(|clock| &mut clock.deciding, || self.policy.decide(view))
    }

    fn wants_gradient_norms(&self) -> bool {
        self.policy.wants_gradient_norms()
    }

    fn wants_estimates(&self) -> bool {
        self.policy.wants_estimates()
    }

    fn wants_nova(&self) -> bool {
        self.policy.wants_nova()
    }

    fn begin(&self, memory: &str) -> Result<(), PolicyError> {
        self.time(|clock| &mut clock.start, || self.policy.begin(memory))
    }

    fn memory(&self) -> String {
        self.policy.memory()
    }
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
