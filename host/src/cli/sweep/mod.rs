//! `gleaner sweep`: a grid of keys and seeds, one tidy CSV.

mod gather;
mod plan;
mod point;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use super::engine::EngineArgs;
use super::gather::Gathering;
use gleaner_experiment::batch::carry_out;
use plan::PlaceArgs;

/// What a sweep is, and how it is spread.
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

Points are all combinations, here 30. Each is a run in DIR/points, named by the hash of its
scenario; DIR/sweep.csv has a row for each. The best combination is chosen on validation images
alone and named, with its test score beside it, in DIR/best.json.

Killed at any moment, a sweep goes on with --resume from its points' checkpoints. To spread one
over machines that share a directory: --engine slurm or hyperqueue, or a scheduler of your own with

    gleaner sweep plan lab.toml --out DIR     the list of points, numbered from 0
    gleaner sweep point DIR N                 one of them, by anybody, any number of times
    gleaner sweep gather DIR                  the table of those that are there";

/// Which sweep.
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
    #[command(flatten)]
    whole: Whole,
}

/// One of the steps of a sweep, for workers on many machines.
#[derive(Debug, Subcommand)]
enum Step {
    /// Write the list of points and run none.
    Plan(plan::Args),
    /// Make one point of a plan.
    Point(point::Args),
    /// Make the table of the points that are there.
    Gather(gather::Args),
}

/// A sweep from plan to table.
#[derive(Debug, clap::Args)]
struct Whole {
    /// The sweep file.
    #[arg(required = true)]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// Print nothing but the path of the CSV.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the sweep; points that failed are named, the others are gathered all the same.
///
/// # Errors
/// A wrong sweep file, or a directory that is in use.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.step {
        Some(Step::Plan(args)) => plan::run(args),
        Some(Step::Point(args)) => point::run(args),
        Some(Step::Gather(args)) => gather::run(args),
        None => args.whole.run(),
    }
}

impl Whole {
    fn run(&self) -> anyhow::Result<ExitCode> {
        let options = self.engine.options()?;
        // Clap asks for the file where there is no step.
        let file = self.file.as_deref().unwrap_or(Path::new(""));
        let (dir, plan) = self.place.take(file)?;
        let mut gathering = Gathering::new(self.quiet, plan.points().len());
        let outcomes = carry_out(&plan, &dir, &options, &mut gathering)?;
        gather::show(&dir, &plan, &outcomes, self.quiet)
    }
}
