//! `gleaner fleet`: the list of boards, and the option by which other commands find it.

mod args;
pub mod bootsel;
mod image;
pub mod init;
pub mod rekey;

use std::process::ExitCode;

use clap::Subcommand;

pub use args::FleetArgs;

/// Write the list of boards, rotate their keys, send them into boot mode.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a fleet.toml from what is plugged in.
    Init(init::Args),
    /// Write a Pico's firmware and samples as a UF2 file for its boot mode.
    Image(image::Args),
    /// Give boards new keys over their lines; safe to interrupt and to run again.
    Rekey(rekey::Args),
    /// Send boards into boot mode over their lines.
    Bootsel(bootsel::Args),
}

/// Runs `gleaner fleet`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Init(args) => init::run(args),
        Action::Image(args) => image::run(args),
        Action::Rekey(args) => rekey::run(args),
        Action::Bootsel(args) => bootsel::run(args),
    }
}

/// Says on standard error that a name has changed; the old one is accepted for one version.
pub fn hint(old: &str, new: &str) {
    errln!("hint: {old} is now {new}; the next version does not know the old name");
}
