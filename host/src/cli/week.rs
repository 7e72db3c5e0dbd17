//! `gleaner week`: a simulated week on harvested energy.

use std::path::PathBuf;
use std::process::ExitCode;

use super::gather::schedulers;
use super::threads;
use super::track::{Bar, positive};
use gleaner_experiment::week::{PAGE, Week, live};
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::Override;

/// How much to simulate.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Presets of boards, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "rp2040,stm32l4r5",
        value_name = "LIST"
    )]
    presets: Vec<String>,
    /// Built-in traces of harvest, separated by commas (`gleaner energy` lists them); each board runs
    /// on those it can live on. By default each has its preset's own.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    traces: Vec<String>,
    /// Schedulers, separated by commas; `paper` stands for the paper's six, `rivals` for those of the
    /// energy-harvesting literature, `all` for all.
    #[arg(long, default_value = "all", value_name = "LIST")]
    schedulers: String,
    /// Days to simulate; parts of a day do.
    #[arg(long, default_value_t = 7.0, value_name = "DAYS", value_parser = positive)]
    days: f64,
    /// Number of seeds, from 0.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Mean number of samples of a client: fewer make the week cheaper to simulate, and an epoch
    /// shorter and cheaper for the board.
    #[arg(long, default_value_t = 200.0, value_name = "N", value_parser = positive)]
    samples: f64,
    /// Change a key of every scenario; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Directory of the week; runs that are complete there are not made again, interrupted ones go on.
    #[arg(long, default_value = "runs/week", value_name = "DIR")]
    out: PathBuf,
    /// Threads in all; 0 means one per processor. Results do not depend on it.
    #[arg(long, value_parser = threads::parse, default_value_t = 0, value_name = "N")]
    threads: usize,
    /// Print nothing but the tables.
    #[arg(short, long)]
    quiet: bool,
}

/// Lives through the week.
///
/// # Errors
/// Whatever stopped the first run that failed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let week = Week {
        presets: args.presets.clone(),
        traces: args.traces.clone(),
        schedulers: schedulers(&args.schedulers)?,
        days: args.days,
        seeds: (0..u64::from(args.seeds)).collect(),
        samples: args.samples,
        overrides: args.overrides.clone(),
    };
    let directory = RunDirectory::new(&args.out);
    let outcome = live(&week, &directory, args.threads, &mut Bar::new(args.quiet))?;
    outcome.write(&directory)?;
    out!("{}", outcome.to_text());
    if !args.quiet {
        outln!("page  {}", directory.file(PAGE).display());
    }
    Ok(ExitCode::SUCCESS)
}
