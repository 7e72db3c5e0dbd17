//! The command line: one file per subcommand, each an `Args` that parses and a `run` that acts.
//!
//! Exit codes: 0 success, 1 the command ran and found or hit a failure, 2 wrong usage, 3 a run is
//! complete but a board's ledger differs from the modelled energy
//! ([`gleaner_station::LEDGERS_DIFFER`]), 4 another
//! worker has claimed the point of an experiment ([`POINT_TAKEN`]), 5 a limit of time is over
//! ([`OUT_OF_TIME`]), and stopped by a signal: 129 SIGHUP,
//! 130 Ctrl-C or SIGUSR1, 143 SIGTERM.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

#[macro_use]
pub mod print;

mod allow;
mod bench;
mod board;
mod calibrate;
mod compare;
mod config;
mod cycles;
mod data;
mod doctor;
mod emulate;
mod energy;
mod engine;
mod flash;
mod fleet;
mod generate;
mod infer;
mod listen;
mod logs;
mod measure;
mod progress;
mod record;
mod report;
mod reproduce;
mod resume;
mod run;
mod scenario;
mod scheduler;
mod selftest;
mod simulate;
mod solve;
mod study;
mod sweep;
mod terms;
mod threads;
mod verify;
mod week;
mod word;

/// Exit code of a worker whose point another worker has claimed.
pub const POINT_TAKEN: u8 = 4;

/// Exit code of an execution whose limit of time is over, with checkpoints to continue from.
pub const OUT_OF_TIME: u8 = 5;

/// Text about exit codes at the end of `--help`.
const EXIT_CODES: &str = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a run is complete but \
    a board's ledger differs from the modelled energy, 4 another worker has claimed the point of an \
    experiment, 5 a limit of time is over and the same command continues; stopped by a signal: 129 SIGHUP, 130 Ctrl-C or SIGUSR1, 143 SIGTERM.";

/// Headings of `gleaner --help`, each with its commands.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Simulate",
        &[
            "simulate",
            "resume",
            "report",
            "compare",
            "sweep",
            "week",
            "reproduce",
        ],
    ),
    ("Data and scenarios", &["data", "config", "solve"]),
    (
        "Boards",
        &[
            "emulate", "run", "verify", "doctor", "fleet", "flash", "logs", "infer",
        ],
    ),
    ("Energy", &["energy", "measure"]),
    ("Tools", &["bench", "selftest", "generate"]),
];

/// Federated learning for microcontrollers that live on harvested energy.
#[derive(Debug, Parser)]
#[command(name = "gleaner", arg_required_else_help = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure this machine: boards in their emulators, rounds, a scheduler program.
    Bench(bench::Args),
    /// Compare schedulers over several seeds: table, plots and report.
    Compare(compare::Args),
    /// Show and explain scenarios: every key with unit, meaning and default.
    Config(config::Args),
    /// List, fetch, import, inspect and partition data sets.
    Data(data::Args),
    /// Check a fleet: ports, firmware, samples, keys and link speed.
    Doctor(doctor::Args),
    /// Start emulated boards, and run rounds with them.
    Emulate(emulate::Args),
    /// Fit a board's power profile to current traces; model its harvested energy.
    Energy(energy::Args),
    /// Write firmware and samples to boards.
    Flash(flash::Args),
    /// List boards in fleet.toml, rotate their keys, write their UF2 images.
    Fleet(fleet::Args),
    /// Print manual pages and shell completions.
    Generate(generate::Args),
    /// Classify samples on a board.
    Infer(infer::Args),
    /// Show the log of a board while it runs.
    Logs(logs::Args),
    /// Run a board through a measurement plan while a meter records its current.
    Measure(measure::Args),
    /// Check the numeric core against test vectors.
    Selftest(selftest::Args),
    /// Regenerate a run's report from its logs.
    Report(report::Args),
    /// Reproduce the paper's tables and figures and check its claims.
    Reproduce(reproduce::Args),
    /// Continue an interrupted run from its last checkpoint.
    Resume(resume::Args),
    /// Run rounds with boards, emulated boards and simulated clients.
    Run(run::Args),
    /// Simulate one scenario: train, log, report.
    Simulate(simulate::Args),
    /// Run a grid of settings and seeds: tidy CSV, plots and report.
    Sweep(sweep::Args),
    /// Plan single rounds: participants, channels, transmit powers, epochs.
    Solve(solve::Args),
    /// Replay a run with boards from its event log and compare the model.
    Verify(verify::Args),
    /// Simulate a week on harvested energy with every scheduler.
    Week(week::Args),
}

/// Returns the command line's definition, with the commands of `--help` in [`GROUPS`].
pub fn command() -> clap::Command {
    let command = Cli::command();
    let width = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .map(|name| name.len());
    let width = width.max().unwrap_or(0);
    let mut listing = String::new();
    for (heading, names) in GROUPS {
        listing.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            listing.push_str(&format!("  {name:<width$}  {about}\n"));
        }
        listing.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listing}Options:\n{{options}}{{after-help}}"
    );
    let protocol = gleaner_shared::wire::message::Version::OURS;
    command
        .version(format!("{}\n{protocol}", env!("CARGO_PKG_VERSION")))
        .help_template(template)
}

impl Cli {
    /// Reads the program's arguments.
    ///
    /// # Errors
    /// Text for the user: an error, the help or the version.
    pub fn parse_arguments() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&command().try_get_matches()?)
    }

    /// Runs the chosen subcommand.
    ///
    /// # Errors
    /// Whatever stopped the subcommand, with the context a user needs to fix it.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Bench(args) => bench::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Config(args) => config::run(&args),
            Command::Data(args) => data::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Emulate(args) => emulate::run(&args),
            Command::Energy(args) => energy::run(&args),
            Command::Flash(args) => flash::run(&args),
            Command::Fleet(args) => fleet::run(&args),
            Command::Generate(args) => generate::run(&args),
            Command::Infer(args) => infer::run(&args),
            Command::Logs(args) => logs::run(&args),
            Command::Measure(args) => measure::run(&args),
            Command::Selftest(args) => selftest::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Reproduce(args) => reproduce::run(&args),
            Command::Resume(args) => resume::run(&args),
            Command::Run(args) => run::run(&args),
            Command::Simulate(args) => simulate::run(&args),
            Command::Sweep(args) => sweep::run(&args),
            Command::Solve(args) => solve::run(&args),
            Command::Verify(args) => verify::run(&args),
            Command::Week(args) => week::run(&args),
        }
    }
}

/// Returns the command to type instead in a build without the feature `probe`.
#[cfg(not(feature = "probe"))]
fn no_probe() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!(
        "this build cannot use debug probes; type\n  cargo gleaner-probe {}",
        arguments.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        grouped.sort_unstable();
        let program = Cli::command();
        let mut all: Vec<&str> = program
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
        assert!(all.len() <= 23, "{} commands", all.len());
    }
}
