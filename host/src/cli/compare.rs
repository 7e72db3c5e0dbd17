//! `gleaner compare`: several schedulers, several seeds, one table.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use strum::VariantArray;

use super::gather::{Gathering, choices};
use super::record::RecordArgs;
use super::scenario::ScenarioArgs;
use super::simulate::numbered;
use super::track::{self, Common, TrackArgs};
use super::{cycles, scheduler, threads, word};
use gleaner_experiment::compare::{Row, Variant, best, plan, table, write};
use gleaner_experiment::{PlannedRun, run_all};
use gleaner_sim::fleet::load_data;
use gleaner_sim::policy::{BaselinePower, Scheduler};
use gleaner_sim::report::{write_run, write_tensorboard};
use gleaner_sim::run::{RunDirectory, RunError};

/// What to compare.
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
    /// Number of seeds; they start at --seed, or 0.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Transmit power of the baselines: max, min, or both.
    #[arg(long, default_value = "max,min", value_name = "LIST")]
    baseline_power: String,
    /// Directory of the comparison; runs that are complete there are not made again. By default
    /// runs/compare, or runs/compare-2 and so on where an earlier one differs; runs/track with
    /// --track.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    /// Threads in all; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
    /// Write the rounds of every run for TensorBoard as well: `tensorboard --logdir DIR`.
    #[arg(long, conflicts_with = "track")]
    tensorboard: bool,
    /// Print the rows as JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but the table.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    track: TrackArgs,
}

/// The schedulers a shell suggests.
fn names() -> impl Iterator<Item = &'static str> {
    Scheduler::VARIANTS.iter().map(<&str>::from)
}

/// Runs the comparison.
///
/// # Errors
/// Whatever stopped the first run that failed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let schedulers = scheduler::list(&args.schedulers)?;
    let powers = choices::<BaselinePower>(&args.baseline_power)?;
    let first = args.scenario.seed.unwrap_or(0);
    let seeds: Vec<u64> = (0..args.seeds)
        .map(|n| first.saturating_add(u64::from(n)))
        .collect();
    if args.track.wanted() {
        let common = Common {
            scenario: &args.scenario,
            schedulers: scheduler::only_own(&schedulers)?,
            powers,
            seeds,
            out: args.out.clone(),
            threads: args.threads,
            json: args.json,
            quiet: args.quiet,
        };
        return track::run(&args.track, common);
    }
    let variants = Variant::list(&schedulers, &powers);
    let (directory, planned) = place(args, &variants, &seeds)?;
    let runs: Vec<PlannedRun> = planned.iter().map(|(_, run)| run.clone()).collect();

    runs.iter().try_for_each(PlannedRun::check_channel)?;
    let scenario = &runs[0].scenario;
    let data = load_data(scenario)?;
    cycles::remark(scenario, &data, args.quiet);
    drop(data);
    args.record.write_per_seed(&runs, &seeds)?;

    let mut gathering = Gathering::new(args.quiet, runs.len());
    let outcomes = run_all(&runs, args.threads, |at, result| {
        let summary = result.as_ref().map(|completed| &completed.summary);
        gathering.finished(&runs[at], summary.ok());
    });
    gathering.end();

    let mut rows: Vec<Row> = variants
        .iter()
        .map(|variant| Row {
            variant: variant.clone(),
            seeds: Vec::new(),
            summaries: Vec::new(),
            runs: Vec::new(),
        })
        .collect();
    for ((variant, run), outcome) in planned.iter().zip(outcomes) {
        let outcome =
            outcome.with_context(|| format!("run in {} failed", run.directory.path().display()))?;
        if let Some(row) = rows.iter_mut().find(|row| row.variant == *variant) {
            row.seeds.push(run.scenario.run.seed);
            row.summaries.push(outcome.summary);
            row.runs.push(run.directory.clone());
        }
    }
    for run in &runs {
        if args.scenario.keep_profile(&run.directory)? {
            write_run(&run.directory, &[])?;
        }
        if args.tensorboard {
            write_tensorboard(&run.directory)?;
        }
    }
    write(&directory, &runs[0].scenario, &rows)?;
    if args.json {
        let value: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "scheduler": row.variant.scheduler,
                    "baseline_power": row.variant.power,
                    "seeds": row.summaries,
                    "runs": row.runs.iter().map(RunDirectory::path).collect::<Vec<_>>(),
                })
            })
            .collect();
        outln!("{}", serde_json::Value::from(value));
    } else {
        out!("{}", table(&rows).to_text());
        if let Some(best) = best(&rows) {
            outln!("\n{best}");
        }
        if !args.quiet {
            outln!(
                "\nreport  {}",
                directory.file(RunDirectory::REPORT).display()
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Chooses the directory and plans the runs in it. A run of another scenario is never touched:
/// the default gives way to the next name, a directory named by hand is refused.
fn place(
    args: &Args,
    variants: &[Variant],
    seeds: &[u64],
) -> anyhow::Result<(RunDirectory, Vec<(Variant, PlannedRun)>)> {
    let mut number = 1;
    loop {
        let directory = match &args.out {
            Some(path) => RunDirectory::new(path),
            None => numbered("compare", number),
        };
        let runs = plan(variants, seeds, &directory, |more| {
            args.scenario.resolve_with(more)
        })?;
        match runs.iter().try_for_each(|(_, run)| run.check_place()) {
            Ok(()) => return Ok((directory, runs)),
            Err(RunError::Taken { .. } | RunError::OtherTrace { .. }) if args.out.is_none() => {
                number += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
