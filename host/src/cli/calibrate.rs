//! `gleaner reproduce calibrate`: constants that the paper does not print, by the activity that it does.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use super::word;
use gleaner_experiment::reproduce::{Calibration, Stage};
use gleaner_sim::scenario::Override;

/// Examples after the help.
const HELP: &str = "\
The paper prints, for CIFAR-10 with d = 0.4 and sigma = 100, how often ten clients of known data sizes
were scheduled under cre, random and importance-aware, with how many epochs, and ten rounds of cre with
transmit powers. Rounds of the preset paper-cnn are planned with its channel, schedulers and solver and
compared with these figures. Nothing is trained, and no accuracy is part of the search.

channel: random and importance-aware follow from channel and deadline. Each reading of the text is
planned with several cycles per sample; the misfit is the sum of squared deviations from the printed
figures, each over the standard error that 2,000 rounds leave. Readings that are not told apart are
listed.

training: cre also follows from estimates of a run (loss gap, rho, beta, delta), which are recorded:
inside the program, or by `gleaner simulate --preset paper-cnn --record-instances FILE`. Queues fill as
in a run. Recorded estimates do not react to other decisions, so confirm a value with a run.

  gleaner reproduce calibrate                             both stages, some ten seconds
  gleaner reproduce calibrate --stage channel --rounds 200
  gleaner reproduce calibrate --stage training --rates 0.01 --b1 0.08,0.085,0.09 --set cre.v=0.1
  gleaner reproduce calibrate --out calibration --json    also channel.csv and training.csv";

/// Stage, rounds and output of a calibration.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Parts of the calibration to execute.
    #[arg(long, value_parser = word::parser::<Stage>(), default_value = "all", value_name = "STAGE")]
    stage: Stage,
    /// Rounds that are planned under each reading.
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seed of channel and schedules.
    #[arg(long, default_value_t = 100, value_name = "N")]
    seed: u32,
    /// Change a key of the preset in every reading, as in cre.v=0.1; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<Override>,
    /// Learning rates to replay, separated by commas; by default 0.005,0.01,0.02,0.05.
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = super::study::positive)]
    rates: Vec<f64>,
    /// Values of B_1 to replay with each rate, separated by commas; by default a dozen from 0.04 to 0.6.
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = super::study::positive)]
    b1: Vec<f64>,
    /// Recorded problems of a run under cre, in place of the built-in estimates.
    #[arg(long, value_name = "FILE.json")]
    instances: Option<PathBuf>,
    /// Write channel.csv and training.csv to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

/// Runs `gleaner reproduce calibrate`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let calibration = Calibration {
        stage: args.stage,
        rounds: args.rounds,
        seed: args.seed,
        overrides: args.overrides.clone(),
        rates: args.rates.clone(),
        b1: args.b1.clone(),
        instances: args.instances.clone(),
    };
    let shown = std::io::stderr().is_terminal();
    let findings = calibration.run(&mut |done, all, next| {
        if shown && done < all {
            errln!("{}/{all}  {next}", done + 1);
        }
    })?;
    if let Some(out) = &args.out {
        findings.write(out)?;
    }
    match args.json {
        true => outjson!(findings.json),
        false => out!("{}", findings.text),
    }
    Ok(ExitCode::SUCCESS)
}
