//! `gleaner week`: a simulated week on harvested energy.

use std::path::PathBuf;
use std::process::ExitCode;

use super::allow::AllowArgs;
use super::study::{StudyArgs, directory, positive, schedulers};
use gleaner_experiment::week::Week;
use gleaner_sim::scenario::{Override, resolve};

/// Boards, traces and schedulers of the week.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Presets of boards, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "rp2040-as-if-lightsleep,stm32l4r5-as-if-stop2",
        value_name = "LIST"
    )]
    presets: Vec<String>,
    /// Built-in traces of harvest, separated by commas (`gleaner energy` lists them); each board runs
    /// on those that can sustain it. By default each has its preset's own.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    traces: Vec<String>,
    /// Schedulers, separated by commas; `paper` stands for the paper's six, `rivals` for those of the
    /// energy-harvesting literature, `all` for all.
    #[arg(long, default_value = "all", value_name = "LIST")]
    schedulers: String,
    /// Days to simulate, or a part of one.
    #[arg(long, default_value_t = 7.0, value_name = "DAYS", value_parser = positive)]
    days: f64,
    /// Number of seeds, from 0.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Mean number of samples of a client: fewer make the week cheaper to simulate, and an epoch
    /// shorter and cheaper for the board.
    #[arg(long, default_value_t = 200.0, value_name = "N", value_parser = positive)]
    samples: f64,
    /// Change a key of every scenario, as in baselines.power=min, which is least-energy here by
    /// default; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    #[command(flatten)]
    allow: AllowArgs,
    /// Directory of the week; the same command, also with more schedulers or seeds, continues in it. By
    /// default runs/week, or the next free number if the plan there differs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    study: StudyArgs,
}

/// Simulates the week.
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
    // The schedulers are those of the options in any case.
    let scheduler = Override::new("run.scheduler", "");
    let given = [&args.overrides, &[scheduler][..]].concat();
    for preset in &args.presets {
        args.allow
            .check(preset, &resolve(preset, &args.overrides)?, &given)?;
    }
    let out = directory(&week, args.out.as_deref(), "week")?;
    let runs = args.study.execute(&week, &out)?.complete()?;
    args.study.show(&week, &runs)?;
    Ok(ExitCode::SUCCESS)
}
