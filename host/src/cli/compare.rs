//! `gleaner compare`: several schedulers, several seeds, one table; with `--track` a benchmark under
//! fixed rules.

use std::path::PathBuf;
use std::process::ExitCode;

use strum::VariantArray;

use super::allow::AllowArgs;
use super::record::RecordArgs;
use super::scenario::ScenarioArgs;
use super::study::{StudyArgs, choices, directory, positive};
use super::{cycles, scheduler, word};
use gleaner_experiment::benchmark::{Benchmark, Cell, Part, Rules, Tuning};
use gleaner_experiment::compare::{Candidates, Comparison, Servers};
use gleaner_sim::fleet::load_data;
use gleaner_sim::policy::{BaselinePower, Decider, Scheduler};
use gleaner_sim::report::{write_run, write_tensorboard};
use gleaner_sim::scenario::Override;

/// Transmit power of the baselines by default.
const POWERS: &str = "max,min";
/// The same in a benchmark: the paper's, and the rule of glean.
const TRACK_POWERS: &str = "max,least-energy";

/// Schedulers, seeds and settings to compare.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Schedulers, separated by commas; `paper` stands for the paper's six, `rivals` for those of the
    /// energy-harvesting literature, `all` for all of ours. Commas inside quotes belong to a command, as
    /// in `random,process:"python3 my.py --rates 1,2"`.
    #[arg(
        long,
        default_value = "paper,glean",
        value_name = "LIST",
        hide_possible_values = true
    )]
    #[arg(value_parser = word::suggesting(["paper", "rivals", "all"].into_iter().chain(names())))]
    schedulers: String,
    #[command(flatten)]
    allow: AllowArgs,
    /// Number of seeds; they start at --seed, or 0.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Transmit power of the baselines: max, min, least-energy, or several. By default max,min, the
    /// paper's; with --track max,least-energy, of which parts (b) and (c) have the last.
    #[arg(long, value_name = "LIST")]
    baseline_power: Option<String>,
    /// Server steps: described (each scheduler with its own), same (one step for all, spectral unless
    /// server.rule is set), or both, one panel each.
    #[arg(
        long,
        default_value = "described,same",
        value_name = "LIST",
        conflicts_with = "track"
    )]
    servers: String,
    /// Directory of the comparison; the same command continues in it. By default runs/compare, or
    /// runs/track with --track, or the next free number if the plan there differs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    /// Write the rounds of every run for TensorBoard as well: `tensorboard --logdir DIR`.
    #[arg(long, conflicts_with = "track")]
    tensorboard: bool,
    #[command(flatten)]
    study: StudyArgs,
    #[command(flatten)]
    track: TrackArgs,
}

/// Options of the benchmark.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Benchmark")]
struct TrackArgs {
    /// Benchmark schedulers under fixed rules: (a) as described, (b) with the same server step, (c) tuned
    /// on validation images, each with accuracy at energy budgets, C5, fairness and paired differences.
    #[arg(long, conflicts_with = "record_channel")]
    track: bool,
    /// Settings of the data: own (the scenario's), paper (nine cells), or lists of values such as
    /// "d=0.2,0.4;sigma=100" of any keys.
    #[arg(long, default_value = "own", value_name = "CELLS", requires = "track")]
    cells: String,
    /// Parts to run: a, b, c, or all.
    #[arg(long, default_value = "all", value_name = "LIST", requires = "track")]
    parts: String,
    /// Number of tuning seeds of part (c), from 100; none of them is evaluated.
    #[arg(long, default_value_t = 5, value_name = "N", requires = "track",
          value_parser = clap::value_parser!(u32).range(1..))]
    tuning_seeds: u32,
    /// Learning rates that part (c) tries with the plain server.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "track", value_parser = positive)]
    rates: Vec<f64>,
    /// Steps that part (c) tries with the spectral server.
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "track", value_parser = positive)]
    steps: Vec<f64>,
}

/// Returns the schedulers that a shell suggests.
fn names() -> impl Iterator<Item = &'static str> {
    Scheduler::VARIANTS.iter().map(<&str>::from)
}

/// Runs the comparison or the benchmark.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let schedulers = scheduler::list(&args.schedulers)?;
    let usual = if args.track.track {
        TRACK_POWERS
    } else {
        POWERS
    };
    let powers = args.baseline_power.as_deref().unwrap_or(usual);
    let powers = choices::<BaselinePower>(powers)?;
    let first = args.scenario.seed.unwrap_or(0);
    let seeds = (0..args.seeds).map(|n| first.saturating_add(u64::from(n)));
    let seeds: Vec<u64> = seeds.collect();
    let resolve = |more: &[Override]| args.scenario.resolve_with(more);
    // The schedulers are those of the options in any case.
    let scheduler = Override::new("run.scheduler", "");
    let given = [&args.scenario.overrides, &[scheduler][..]].concat();
    args.allow
        .check(args.scenario.preset(), &resolve(&[])?, &given)?;
    if args.track.track {
        let rules = args.track.rules(&schedulers, powers, seeds)?;
        let benchmark = Benchmark::new(rules, &resolve)?;
        let out = directory(&benchmark, args.out.as_deref(), "track")?;
        let runs = args.study.execute(&benchmark, &out)?.complete()?;
        args.study.show(&benchmark, &runs)?;
        return Ok(ExitCode::SUCCESS);
    }
    let candidates = Candidates {
        schedulers,
        powers,
        servers: choices::<Servers>(&args.servers)?,
        seeds: seeds.clone(),
    };
    let comparison = Comparison::new(&candidates, &resolve)?;
    let out = directory(&comparison, args.out.as_deref(), "compare")?;
    let scenario = &comparison.planned()[0].scenario;
    let data = load_data(scenario)?;
    cycles::remark(scenario, &data, args.study.quiet);
    drop(data);
    let scenarios = comparison.planned().iter().map(|point| &point.scenario);
    args.record.write_per_seed(scenarios, &seeds)?;
    let runs = args.study.execute(&comparison, &out)?.complete()?;
    for point in comparison.planned() {
        let directory = &runs.of(point)?.directory;
        if args.scenario.keep_profile(directory)? {
            write_run(directory, &[])?;
        }
        if args.tensorboard {
            write_tensorboard(directory)?;
        }
    }
    args.study.show(&comparison, &runs)?;
    Ok(ExitCode::SUCCESS)
}

impl TrackArgs {
    fn rules(
        &self,
        schedulers: &[Decider],
        powers: Vec<BaselinePower>,
        seeds: Vec<u64>,
    ) -> anyhow::Result<Rules> {
        let default = Tuning::default();
        let or = |given: &Vec<f64>, default: Vec<f64>| match given.is_empty() {
            true => default,
            false => given.clone(),
        };
        Ok(Rules {
            parts: choices::<Part>(&self.parts)?,
            cells: Cell::list(&self.cells)?,
            schedulers: scheduler::only_own(schedulers)?,
            powers,
            seeds,
            tuning: Tuning {
                seeds: Tuning::seeds(self.tuning_seeds as usize),
                rates: or(&self.rates, default.rates),
                steps: or(&self.steps, default.steps),
            },
        })
    }
}
