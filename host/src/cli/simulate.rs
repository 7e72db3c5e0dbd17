//! `gleaner simulate`: one run, from scenario to report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use super::allow::AllowArgs;
use super::print::OutputError;
use super::record::{RecordArgs, Recorder};
use super::run::show_boards;
use super::scenario::ScenarioArgs;
use super::scheduler::DeciderParser;
use super::{cycles, threads};
use gleaner_sim::fleet;
use gleaner_sim::policy::Decider;
use gleaner_sim::report::table::Table;
use gleaner_sim::report::{Live, classes_table, summary_table, write_run};
use gleaner_sim::run::{Completed, PeakRates, Run, RunDirectory};
use gleaner_sim::scenario::{Override, Scenario};
use gleaner_station::BoardsReport;

/// Simulate one scenario.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Scheduler that chooses the participants.
    #[arg(long, value_name = "NAME", value_parser = DeciderParser)]
    scheduler: Option<Decider>,
    #[command(flatten)]
    allow: AllowArgs,
    /// Directory of the run; by default a new one under runs/.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    /// Write the problem of every round, as the scheduler was told it, to a file that `gleaner solve
    /// --instance FILE` solves again, and `--csv` shows term by term.
    #[arg(long, value_name = "FILE.json")]
    record_instances: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Options for threads and output of a run.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArgs {
    /// Threads that train; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    pub threads: usize,
    /// Write the rounds for TensorBoard as well, while they are made: `tensorboard --logdir DIR`.
    #[arg(long)]
    pub tensorboard: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print nothing but the result.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Runs the scenario.
///
/// # Errors
/// Whatever is wrong with scenario, data or files.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let scheduler: Vec<Override> = args
        .scheduler
        .iter()
        .map(|scheduler| Override::new("run.scheduler", scheduler.to_string()))
        .collect();
    let scenario = args.scenario.resolve_with(&scheduler)?;
    let given = [&args.scenario.overrides, &scheduler[..]].concat();
    args.allow
        .check(args.scenario.preset(), &scenario, &given)?;
    let directory = match &args.out {
        Some(path) => RunDirectory::new(path),
        None => fresh_directory(args.scenario.preset(), &scenario),
    };
    args.record.write(&scenario, &directory)?;
    let instances = args.record_instances.as_deref();
    let mut observer = Recorder::new(instances, &directory, args.output.quiet)?;
    directory.check_vacant()?;
    let profile = Some(&args.scenario);
    let outcome = carry_out(&scenario, profile, &directory, args.output, &mut observer)?;
    observer.finish()?;
    show(&scenario, &directory, &outcome, args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Creates or resumes the simulated run in a directory, drives it and writes its report. The
/// arguments of a new run may name a profile, which is copied into the directory.
pub(super) fn carry_out(
    scenario: &Scenario,
    created_with: Option<&ScenarioArgs>,
    directory: &RunDirectory,
    output: OutputArgs,
    observer: &mut Recorder<'_>,
) -> anyhow::Result<Completed> {
    let threads = output.threads;
    let data = fleet::load_data(scenario)?;
    cycles::remark(scenario, &data, output.quiet);
    let mut deployment = fleet::build(scenario, &data, threads)?;
    // The clients have copies of their samples; the rest need not stay in memory.
    drop(data);
    let mut live = Live::new(observer, directory, output.tensorboard);
    let run = match created_with {
        Some(args) => {
            let run = Run::create(scenario, directory, threads, &mut live)?;
            args.keep_profile(directory)?;
            run
        }
        None => Run::resume(scenario, directory, threads, &mut live)?,
    };
    let outcome = run.drive(&mut deployment)?;
    let events = live.finish();
    observer.hide();
    write_run(directory, &[])?;
    events?;
    Ok(outcome)
}

/// Prints what a run came to.
///
/// # Errors
/// When it cannot be printed; the run is complete all the same.
pub(super) fn show(
    scenario: &Scenario,
    directory: &RunDirectory,
    outcome: &Completed,
    output: OutputArgs,
) -> anyhow::Result<()> {
    let classes = classes_table(directory, scenario)?;
    let rates = PeakRates::read(directory)?;
    let boards = BoardsReport::read(directory)?;
    let parts = (classes.as_ref(), rates, boards.as_ref());
    print(scenario, directory, outcome, parts, output).with_context(|| {
        let path = directory.path().display();
        format!("the run is complete in {path}, but cannot be shown")
    })
}

fn print(
    scenario: &Scenario,
    directory: &RunDirectory,
    outcome: &Completed,
    (classes, rates, boards): (Option<&Table>, PeakRates, Option<&BoardsReport>),
    output: OutputArgs,
) -> Result<(), OutputError> {
    let report = directory.file(RunDirectory::REPORT);
    if output.json {
        outjson!(json(scenario, directory, outcome, boards));
        return Ok(());
    }
    if !output.quiet {
        let Scenario { run, data, .. } = scenario;
        let power = scenario
            .power_rule()
            .map_or("chosen by the scheduler", Into::into);
        outln!(
            "\n{} on {}, transmit power: {power}",
            run.scheduler,
            data.dataset
        );
    }
    out!("{}", summary_table(&outcome.summary).to_text());
    if let Some(classes) = classes {
        out!("\n{}", classes.to_text());
    }
    if let Some(boards) = boards.filter(|_| !output.quiet) {
        show_boards(boards)?;
    }
    if outcome.summary.empty_rounds == outcome.summary.rounds {
        errln!(
            "note: nobody trained in any round: either no client can meet device.deadline_s = {} \
             s, or the scheduler prefers that all rest",
            scenario.device.deadline_s
        );
    }
    if !output.quiet
        && let Some(warning) = rates.warning(scenario)
    {
        errln!("warning: {warning}");
    }
    if !output.quiet {
        outln!("\nmodel   sha256 {}", outcome.model_sha256);
        outln!("wall    {:.1} s", outcome.wall.as_secs_f64());
        outln!("report  {}", report.display());
    }
    Ok(())
}

/// Returns what a run came to as JSON; with boards, their energy, the exit code and its reasons too.
pub(super) fn json(
    scenario: &Scenario,
    directory: &RunDirectory,
    outcome: &Completed,
    boards: Option<&BoardsReport>,
) -> serde_json::Value {
    let mut json = serde_json::json!({
        "directory": directory.path(),
        "scheduler": scenario.run.scheduler,
        "seed": scenario.run.seed,
        "summary": outcome.summary,
        "model_sha256": outcome.model_sha256,
        "wall_s": outcome.wall.as_secs_f64(),
    });
    if let Some(boards) = boards {
        json["boards"] = boards.json();
    }
    json
}

/// Returns the first free directory under `runs/` named after preset, scheduler and seed.
pub(super) fn fresh_directory(preset: &str, scenario: &Scenario) -> RunDirectory {
    let stem = Path::new(preset)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let (scheduler, seed) = (scenario.run.scheduler.label(), scenario.run.seed);
    let name = format!("{stem}-{scheduler}-{seed}");
    (1u32..)
        .map(|number| numbered(&name, number))
        .find(RunDirectory::is_vacant)
        // The endless iterator always finds one.
        .unwrap_or_else(|| numbered(&name, u32::MAX))
}

/// Returns the n-th directory of a name under `runs/`; the first has no number.
pub(super) fn numbered(name: &str, number: u32) -> RunDirectory {
    let folder = match number {
        1 => name.to_owned(),
        _ => format!("{name}-{number}"),
    };
    RunDirectory::new(Path::new("runs").join(folder))
}
