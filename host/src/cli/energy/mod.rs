//! `gleaner energy`: from current traces to power profiles; one file per step.

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

/// Fit power profiles to current traces; model harvested energy.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Find the board's marks in a trace.
    Align(align::Args),
    /// Fit a power profile to a trace.
    Fit(Box<fit::Args>),
    /// Show the income of a recorded or solar source, round by round.
    Harvest(harvest::Args),
    /// Check and summarise a current trace; write it as a `.ppk2` archive.
    Import(import::Args),
    /// Predict the sustainable rounds per day of a store, a source and a profile.
    Predict(Box<predict::Args>),
    /// Write an HTML report of a measurement.
    Report(Box<report::Args>),
    /// Generate a synthetic trace and marks from a known profile.
    Synth(synth::Args),
}

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
