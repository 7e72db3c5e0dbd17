//! `gleaner reproduce`: every table and figure of the paper, and a verdict on every claim.

use std::path::PathBuf;
use std::process::ExitCode;

use super::engine::EngineArgs;
use super::gather::{Gathering, choices};
use super::word;
use gleaner_experiment::reproduce::{Exhibit, Publication, Scale, Study, make, plan, read, write};

/// What `--help` says at its end.
const HELP: &str = "\
Runs are named by the hash of their scenario and kept in OUT/points: exhibits share them, a
reproduction that was stopped goes on where it was, and a wider one makes only what is missing.
The page shows whatever is there at the chosen scale.

  gleaner reproduce --scale smoke                   does it work here? two minutes, no download
  gleaner data fetch mnist && gleaner reproduce --only table-accuracy-mnist,fig-v
  gleaner reproduce --scale full --engine slurm     days of work on a cluster (docs/guide/cluster.md)
  gleaner reproduce --gather                        the page from what is there, without a run";

/// What to reproduce.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Tables and figures to make, separated by commas, or `all`: table-accuracy-mnist,
    /// table-accuracy-cifar, fig-v, fig-mnist, fig-cifar, fig-bound, table-solution,
    /// table-statistics, fig-clients.
    #[arg(long, default_value = "all", value_name = "LIST")]
    only: String,
    /// How much is run.
    #[arg(long, value_parser = word::parser::<Scale>(), default_value = "quick", value_name = "SCALE")]
    scale: Scale,
    /// Seeds of every setting, from 0; by default those of the scale.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: Option<u32>,
    /// Directory of runs and results; by default runs/reproduction.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the page, its plots and tables here as well, without the runs.
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
    /// Make no run: show what is there.
    #[arg(long)]
    gather: bool,
    #[command(flatten)]
    engine: EngineArgs,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing but the verdicts.
    #[arg(short, long)]
    quiet: bool,
}

/// Makes what is missing, reads everything and writes the page.
///
/// # Errors
/// Missing images, a run that failed, or a directory that is damaged.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let study = Study {
        scale: args.scale,
        seeds: args.seeds,
        exhibits: choices::<Exhibit>(&args.only)?,
    };
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("runs/reproduction"));
    if !args.gather {
        let plan = plan(&study)?;
        let mut gathering = Gathering::new(args.quiet, plan.points().len());
        make(&plan, &out, &args.engine.options()?, &mut gathering)?;
    }
    let publication = Publication::of(&read(&study, &out)?)?;
    for directory in std::iter::once(&out).chain(&args.publish) {
        write(&publication, directory)?;
    }
    if args.json {
        out!("{}", publication.json());
        return Ok(ExitCode::SUCCESS);
    }
    out!("{}", publication.table().to_text());
    if !args.quiet {
        outln!("\n{}", publication.tally().to_text());
        outln!("page  {}", out.join("reproduction.html").display());
    }
    Ok(ExitCode::SUCCESS)
}
