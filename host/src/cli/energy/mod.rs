//! `gleaner energy`: what a meter saw a board spend, and what follows from it; one file per step.

use std::process::ExitCode;

use clap::Subcommand;

mod import;
mod source;
mod synth;
mod target;

/// Read what a current meter recorded, and make such recordings without one.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Check a current trace, sum it up, and write it as a `.ppk2` archive.
    Import(import::Args),
    /// Make a trace and its marks from a known profile, for trying without a meter.
    Synth(synth::Args),
}

/// Runs the chosen step.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.step {
        Step::Import(args) => import::run(args),
        Step::Synth(args) => synth::run(args),
    }
}
