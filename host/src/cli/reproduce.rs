//! `gleaner reproduce`: the paper's tables and figures, and a verdict on every claim.

use std::path::PathBuf;
use std::process::ExitCode;

use super::study::{StudyArgs, choices};
use super::{calibrate, word};
use gleaner_experiment::reproduce::{Exhibit, Reproduction, Scale};
use gleaner_experiment::{Runs, Study};

/// Examples after the help.
const HELP: &str = "\
Runs are named by the hash of their scenario and kept in OUT/points: exhibits share them, a
reproduction that was stopped continues, and a wider one executes only what is missing. The report
shows every complete run of the scale.

  gleaner reproduce --scale smoke                   test the program: two minutes, no download
  gleaner data fetch mnist && gleaner reproduce --only table-accuracy-mnist,fig-v
  gleaner reproduce --scale full --engine slurm     days of work on a cluster (docs/guide/cluster.md)
  gleaner reproduce --gather                        the report of the complete runs, without a run";

/// Exhibits, scale and directory of a reproduction.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    part: Option<Part>,
    /// Tables and figures to reproduce, separated by commas, or `all`: table-accuracy-mnist,
    /// table-accuracy-cifar, fig-v, fig-mnist, fig-cifar, fig-bound, table-solution,
    /// table-statistics, fig-clients.
    #[arg(long, default_value = "all", value_name = "LIST")]
    only: String,
    /// Scale of the runs.
    #[arg(long, value_parser = word::parser::<Scale>(), default_value = "quick", value_name = "SCALE")]
    scale: Scale,
    /// Seeds of every setting, from 0; by default those of the scale.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Directory of runs and results.
    #[arg(long, default_value = "runs/reproduction", value_name = "DIR")]
    out: PathBuf,
    /// Write the report, its plots and tables here as well, without the runs.
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
    /// Execute nothing: show the complete runs.
    #[arg(long)]
    gather: bool,
    #[command(flatten)]
    study: StudyArgs,
}

/// Parts of the reproduction that need no runs.
#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Identify constants that the paper does not print by the activity that it does.
    Calibrate(calibrate::Args),
}

/// Executes what is missing, reads everything and writes the report.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(Part::Calibrate(args)) = &args.part {
        return calibrate::run(args);
    }
    let reproduction = Reproduction {
        scale: args.scale,
        seeds: args.seeds,
        exhibits: choices::<Exhibit>(&args.only)?,
    };
    let runs = match args.gather {
        true => Runs::new(&args.out),
        false => args.study.execute(&reproduction, &args.out)?.complete()?,
    };
    args.study.show(&reproduction, &runs)?;
    if let Some(publish) = &args.publish {
        reproduction.read(&runs)?.write(publish)?;
    }
    Ok(ExitCode::SUCCESS)
}
