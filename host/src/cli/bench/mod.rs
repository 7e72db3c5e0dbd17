//! `gleaner bench`: measures this build on this machine; one file per kind.

use std::process::ExitCode;

use clap::Subcommand;

use super::fleet::{hint, init};

mod decide;
mod device;
mod engines;
mod process;
mod rounds;
mod server;
mod solve;
mod train;

/// Measure this build on this machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// The schedulers: time to decide a round.
    Decide(decide::Args),
    /// A board's firmware in its emulator: what an epoch costs it.
    Device(device::Args),
    /// The engines of sweeps: their time beside that of the runs they make.
    Engines(engines::Args),
    /// A program that schedules: what asking it adds to a round.
    Process(process::Args),
    /// The round engine: how cost grows with clients and rounds.
    Rounds(rounds::Args),
    /// The old name of `gleaner fleet init`.
    #[command(hide = true)]
    Init(init::Args),
    /// The base station's step: its time on both networks, and its share of a round.
    Server(server::Args),
    /// The optimiser: time of each solver, and how good its answers are.
    Solve(solve::Args),
    /// The training engine: time of an epoch, an evaluation and a round.
    Train(train::Args),
}

/// Runs the chosen measurement.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.kind {
        Kind::Decide(args) => decide::run(args),
        Kind::Device(args) => device::run(args),
        Kind::Engines(args) => engines::run(args),
        Kind::Process(args) => process::run(args),
        Kind::Rounds(args) => rounds::run(args),
        Kind::Init(args) => {
            hint("`gleaner bench init`", "`gleaner fleet init`");
            init::run(args)
        }
        Kind::Server(args) => server::run(args),
        Kind::Solve(args) => solve::run(args),
        Kind::Train(args) => train::run(args),
    }
}
