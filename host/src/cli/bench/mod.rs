//! `gleaner bench`: measurements on this machine; one file per kind.

use std::process::ExitCode;

use clap::Subcommand;

mod device;
mod engines;
mod process;
mod rounds;
mod train;

/// Measure boards in their emulators, rounds, training and scheduler programs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Count the cycles of an epoch on a board in its emulator.
    Device(device::Args),
    /// Measure the overhead of the engines that execute experiments.
    Engines(engines::Args),
    /// Measure the time that a scheduler program adds to a round.
    Process(process::Args),
    /// Measure how the time of a run grows with clients and rounds.
    Rounds(rounds::Args),
    /// Measure the time of an epoch, an evaluation and a round.
    Train(train::Args),
}

/// Runs the chosen measurement.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.kind {
        Kind::Device(args) => device::run(args),
        Kind::Engines(args) => engines::run(args),
        Kind::Process(args) => process::run(args),
        Kind::Rounds(args) => rounds::run(args),
        Kind::Train(args) => train::run(args),
    }
}
