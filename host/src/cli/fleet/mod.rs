//! `gleaner fleet`: commands for the fleet file, and the option `--fleet` of other commands.

mod args;
pub mod bootsel;
pub mod init;
pub mod rekey;

use std::process::ExitCode;

use clap::Subcommand;

pub use args::FleetArgs;

/// Write the fleet file, rotate keys, restart boards in boot mode.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a fleet.toml of the boards that are plugged in.
    Init(init::Args),
    /// Rotate the keys of boards over their lines; safe to interrupt and repeat.
    Rekey(rekey::Args),
    /// Restart boards in boot mode over their lines.
    Bootsel(bootsel::Args),
}

/// Runs `gleaner fleet`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Init(args) => init::run(args),
        Action::Rekey(args) => rekey::run(args),
        Action::Bootsel(args) => bootsel::run(args),
    }
}

/// Prints a hint that a name has changed; the former one is accepted for one version.
pub fn hint(old: &str, new: &str) {
    errln!("hint: {old} is now {new}; the next version does not accept the former name");
}
