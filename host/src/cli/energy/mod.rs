//! `gleaner energy`: what a meter saw a board spend, and what follows from it; one file per step.

use std::process::ExitCode;

use clap::Subcommand;

mod align;
mod fit;
mod harvest;
mod import;
mod measurement;
mod predict;
mod report;
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
    /// Find the board's marks in a trace.
    Align(align::Args),
    /// Find what explains a trace, and write it as a profile.
    Fit(Box<fit::Args>),
    /// Show what a recorded or solar source of income brings, round by round.
    Harvest(harvest::Args),
    /// Check a current trace, sum it up, and write it as a `.ppk2` archive.
    Import(import::Args),
    /// Say how many rounds a day a store, a source and a profile carry.
    Predict(Box<predict::Args>),
    /// Show a measurement as one page.
    Report(Box<report::Args>),
    /// Make a trace and its marks from a known profile, for trying without a meter.
    Synth(synth::Args),
}

/// Runs the chosen step.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.step {
        Step::Align(args) => align::run(args),
        Step::Fit(args) => fit::run(args),
        Step::Harvest(args) => harvest::run(args),
        Step::Import(args) => import::run(args),
        Step::Predict(args) => predict::run(args),
        Step::Report(args) => report::run(args),
        Step::Synth(args) => synth::run(args),
    }
}
