//! The command line: one file per subcommand, each an `Args` that parses and a `run` that acts.
//!
//! Exit codes: 0 success, 1 the command ran and found or hit a failure, 2 wrong usage, 3 a run is
//! complete but a board's ledger is not the model's ([`LEDGERS_DIFFER`]), 4 another worker is executing
//! the point of a study ([`POINT_TAKEN`]), 130 interrupted.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[macro_use]
pub mod print;

mod bench;
mod board;
mod compare;
mod completions;
mod config;
mod cycles;
mod data;
mod doctor;
mod emulate;
mod energy;
mod engine;
mod flash;
mod fleet;
mod image;
mod infer;
mod listen;
mod logs;
mod man;
mod measure;
mod partition;
mod progress;
mod record;
mod report;
mod reproduce;
mod resume;
mod run;
mod scenario;
mod scheduler;
mod selftest;
mod shard;
mod simulate;
mod solve;
mod study;
mod sweep;
mod terms;
mod threads;
mod verify;
mod version;
mod week;
mod word;

/// The exit code of a complete run in which a board booked another income or upload than the model.
pub const LEDGERS_DIFFER: u8 = 3;

/// The exit code of a worker that left the point of a study to another.
pub const POINT_TAKEN: u8 = 4;

/// What `--help` says of exit codes.
const EXIT_CODES: &str = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a run is complete but \
    the ledger of a board differs from the model's booking, 4 another worker is executing the \
    point of a study, 130 interrupted.";

/// Federated learning for microcontrollers that live on harvested energy.
#[derive(Debug, Parser)]
#[command(name = "gleaner", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure this build on this machine.
    Bench(bench::Args),
    /// Compare schedulers over seeds: a table, plots and a report.
    Compare(compare::Args),
    /// Print what a shell needs to complete these commands.
    Completions(completions::Args),
    /// Show and explain scenarios: every key, its unit, meaning and default.
    Config(config::Args),
    /// List, fetch and inspect data sets.
    Data(data::Args),
    /// Examine a fleet: ports, firmware, shards, keys and line speed.
    Doctor(doctor::Args),
    /// Start emulated boards, and run rounds with them.
    Emulate(emulate::Args),
    /// Read what a current meter recorded of a board, and make such traces without one.
    Energy(energy::Args),
    /// Write firmware and samples into boards.
    Flash(flash::Args),
    /// Write the list of boards, and rotate their keys.
    Fleet(fleet::Args),
    /// Write a Pico's program as a file for its boot mode.
    Image(image::Args),
    /// Ask a board what a picture shows.
    Infer(infer::Args),
    /// Show the log of a board while it runs.
    Logs(logs::Args),
    /// Print the manual page, or write one for every command.
    Man(man::Args),
    /// Order a board through a plan while a meter records its current.
    Measure(measure::Args),
    /// Show which client owns which samples.
    Partition(partition::Args),
    /// Check test vectors: numeric core against expected outputs.
    Selftest(selftest::Args),
    /// Make the report of a run again from its logs.
    Report(report::Args),
    /// Reproduce the paper's tables and figures and check its claims.
    Reproduce(reproduce::Args),
    /// Continue a run that was interrupted, from its last checkpoint.
    Resume(resume::Args),
    /// Run rounds with boards, emulated boards and simulated clients.
    Run(run::Args),
    /// Write the samples of one client as its board carries them in flash.
    Shard(shard::Args),
    /// Run one scenario: train, log, and report.
    Simulate(simulate::Args),
    /// Run a grid of keys and seeds: a table, a CSV, plots and a report.
    Sweep(sweep::Args),
    /// Plan rounds: who, which channel, what power, how many epochs.
    Solve(solve::Args),
    /// Replay a run of boards from its event log.
    Verify(verify::Args),
    /// Print the version of this build and of the protocol it speaks.
    Version(version::Args),
    /// Simulate a week on harvested energy with every scheduler.
    Week(week::Args),
}

impl Cli {
    /// Runs the chosen subcommand.
    ///
    /// # Errors
    /// Whatever stopped the subcommand, with the context a user needs to fix it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Bench(args) => bench::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Completions(args) => completions::run(&args),
            Command::Config(args) => config::run(&args),
            Command::Data(args) => data::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Emulate(args) => emulate::run(&args),
            Command::Energy(args) => energy::run(&args),
            Command::Flash(args) => flash::run(&args),
            Command::Fleet(args) => fleet::run(&args),
            Command::Image(args) => image::run(&args),
            Command::Infer(args) => infer::run(&args),
            Command::Logs(args) => logs::run(&args),
            Command::Man(args) => man::run(&args),
            Command::Measure(args) => measure::run(&args),
            Command::Partition(args) => partition::run(&args),
            Command::Selftest(args) => selftest::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Reproduce(args) => reproduce::run(&args),
            Command::Resume(args) => resume::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Shard(args) => shard::run(&args),
            Command::Simulate(args) => simulate::run(&args),
            Command::Sweep(args) => sweep::run(&args),
            Command::Solve(args) => solve::run(&args),
            Command::Verify(args) => verify::run(&args),
            Command::Version(args) => version::run(&args),
            Command::Week(args) => week::run(&args),
        }
    }
}

/// What to type where a build without the feature `probe` was asked to use one.
#[cfg(not(feature = "probe"))]
fn no_probe() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!(
        "this build cannot use debug probes; type\n  cargo gleaner-probe {}",
        arguments.join(" ")
    )
}
