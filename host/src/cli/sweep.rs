//! `gleaner sweep`: a grid of keys and seeds; and its steps for workers on many machines, which work
//! for the directory of any study.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;

use super::allow::AllowArgs;
use super::progress::Progress;
use super::study::StudyArgs;
use super::{POINT_TAKEN, threads};
use gleaner_experiment::sweep::{Sweep, findings};
use gleaner_experiment::{Attempt, Plan, PointError, Runs, execute_point, run_directory};
use gleaner_sim::report::counted;
use gleaner_sim::round::RoundLog;
use gleaner_sim::run::Observer;
use gleaner_station::stop::Stop;

/// Description of sweeps after the help.
const ABOUT: &str = "\
A sweep file names a preset, seeds, keys that are the same everywhere and keys to vary:

    preset = \"paper-mlp\"
    seeds = 5
    [set]
    data.dataset = \"mnist\"
    data.validation_samples = 1000
    [grid]
    cre.v = [0.1, 0.001]
    partition.non_iid_degree = [0.2, 0.4, 0.6]

Points are all combinations, here 30. Each is a run in DIR/points, named by the hash of its scenario;
DIR/sweep.csv has a row for each, DIR/report.html tables and plots. The best combination is chosen on
validation images alone and written, with its test score, to DIR/best.json.

The same command continues a sweep that was stopped, also with more seeds or values. To use several
machines that share a directory: --engine slurm or hyperqueue, or a scheduler of your own with

    gleaner sweep plan lab.toml --out DIR     write the list of points, numbered from 0
    gleaner sweep point DIR N                 execute one point, on any machine, any number of times
    gleaner sweep gather DIR                  write the table of the complete points";

/// Exit codes of a worker.
const CODES: &str = "\
A complete point is left as it is, an interrupted one continues from its last checkpoint. The command
may be killed at any moment and started on any machine that sees DIR.

Exit codes: 0 the point is complete; 1 it failed, and a retry fails again until the cause is fixed; 4
another worker is executing it; 129 SIGHUP, 130 Ctrl-C or SIGUSR1, 143 SIGTERM stopped it at a
checkpoint, and the same command continues there.";

/// A sweep file and where to run it, or one step.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Steps",
    subcommand_value_name = "STEP",
    after_long_help = ABOUT
)]
pub struct Args {
    #[command(subcommand)]
    step: Option<Step>,
    /// The sweep file.
    #[arg(required = true)]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    allow: AllowArgs,
    #[command(flatten)]
    study: StudyArgs,
}

/// One step of a study, for workers on many machines.
#[derive(Debug, Subcommand)]
enum Step {
    /// Write the list of points and execute none.
    Plan(PlanArgs),
    /// Execute one point of a plan.
    Point(PointArgs),
    /// Write the table of the complete points.
    Gather(GatherArgs),
}

#[derive(Debug, clap::Args)]
struct PlanArgs {
    /// The sweep file.
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, clap::Args)]
struct PlaceArgs {
    /// Directory of the sweep; by default runs/ and the name of the file.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Accepted for older scripts: a sweep continues without it.
    #[arg(long, hide = true)]
    resume: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
struct PointArgs {
    /// The directory of the plan.
    dir: PathBuf,
    /// The point's number in the plan, from 0.
    number: usize,
    /// Threads of the run; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 1, value_name = "N")]
    threads: usize,
    /// Wait while another worker executes the point, and take over if it dies.
    #[arg(long)]
    wait: bool,
    /// Execute the point though another worker does: for locks that outlive their owner. Two workers on
    /// one point cost time and are harmless.
    #[arg(long, conflicts_with = "wait")]
    force: bool,
    #[command(flatten)]
    allow: AllowArgs,
    /// Print nothing but the path of the run.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, clap::Args)]
struct GatherArgs {
    /// The directory of the plan.
    dir: PathBuf,
    /// Print nothing but the table.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the sweep or one of its steps.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.step {
        Some(Step::Plan(args)) => write_plan(args),
        Some(Step::Point(args)) => point(args),
        Some(Step::Gather(args)) => gather(args),
        None => {
            // Clap asks for the file where there is no step.
            let file = args.file.as_deref().unwrap_or(Path::new(""));
            let (sweep, dir) = args.place.read(file)?;
            let plan = sweep.plan().with_context(|| file.display().to_string())?;
            for point in plan.points() {
                args.allow.check(file, &point.scenario, &[])?;
            }
            let runs = args.study.execute(&sweep, &dir);
            let runs = runs.with_context(|| file.display().to_string())?;
            args.study.show(&sweep, &runs)?;
            Ok(incomplete(&runs))
        }
    }
}

impl PlaceArgs {
    fn read(&self, file: &Path) -> anyhow::Result<(Sweep, PathBuf)> {
        let stem = file.file_stem().unwrap_or_default();
        let dir = self.out.clone();
        let dir = dir.unwrap_or_else(|| PathBuf::from("runs").join(stem));
        Ok((Sweep::read(file)?, dir))
    }
}

fn write_plan(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let (sweep, dir) = args.place.read(&args.file)?;
    let plan = sweep
        .plan()
        .with_context(|| args.file.display().to_string())?;
    plan.write(&dir)?;
    let (points, dir) = (plan.points().len(), dir.display());
    outln!("{dir}");
    errln!(
        "{}, numbered from 0: `gleaner sweep point {dir} N` executes one, `gleaner sweep gather {dir}` \
         writes the table",
        counted(points, "point"),
    );
    Ok(ExitCode::SUCCESS)
}

fn gather(args: &GatherArgs) -> anyhow::Result<ExitCode> {
    let plan = Plan::read(&args.dir)?;
    let runs = Runs::gather(&plan, &args.dir);
    let findings = findings(plan.points(), &runs)?;
    findings.write(&args.dir)?;
    out!("{}", findings.text);
    Ok(incomplete(&runs))
}

/// Names the points that are not complete, and returns the exit code.
fn incomplete(runs: &Runs) -> ExitCode {
    if runs.failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    let missing = runs.failed.iter().filter(|(_, _, it)| it.is_open()).count();
    for (number, point, error) in &runs.failed {
        errln!("point {number} ({}): {}", point.id, error.in_full());
    }
    errln!(
        "{missing} missing and {} failed; fix the cause and start the same command again",
        runs.failed.len() - missing
    );
    ExitCode::FAILURE
}

fn point(args: &PointArgs) -> anyhow::Result<ExitCode> {
    let (point, keep) = Plan::read_point(&args.dir, args.number)?;
    let file = Plan::scenario_file(&args.dir, &point.id);
    args.allow.check(file, &point.scenario, &[])?;
    let how = Attempt {
        threads: args.threads,
        keep,
        wait: args.wait,
        force: args.force,
    };
    let mut worker = Worker {
        progress: Progress::new(args.quiet),
        stop: Stop::on_signals(),
    };
    let outcome = execute_point(&args.dir, &point, &how, &mut worker);
    worker.progress.finish();
    let (code, error) = match outcome {
        Ok(_) => {
            outln!("{}", run_directory(&args.dir, &point).path().display());
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ PointError::Taken { .. }) => (POINT_TAKEN, error),
        Err(error @ PointError::Paused { .. }) => (worker.stop.exit_code(), error),
        Err(error) => (1, error),
    };
    errln!("point {} ({}): {}", args.number, point.id, error.in_full());
    Ok(ExitCode::from(code))
}

/// Shows the rounds and stops between two of them on a signal.
struct Worker {
    progress: Progress,
    stop: Stop,
}

impl Observer for Worker {
    fn started(&mut self, done: usize, total: usize) {
        self.progress.started(done, total);
    }

    fn round(&mut self, log: &RoundLog) {
        self.progress.round(log);
    }

    fn notice(&mut self, text: &str) {
        self.progress.notice(text);
    }

    fn pauses(&mut self) -> bool {
        self.stop.is_requested()
    }
}
