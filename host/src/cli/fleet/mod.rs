//! `gleaner fleet`: commands for the fleet file, and the option `--fleet` of other commands.

pub mod bootsel;
mod image;
pub mod init;
pub mod rekey;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use super::scenario::ScenarioArgs;
use gleaner_sim::scenario::Scenario;
use gleaner_station::fleet_file::{FILE_NAME, FleetFile};

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
    /// Write a Pico's firmware and samples as a UF2 file for its boot mode.
    Image(image::Args),
    /// Give boards new keys over their lines; safe to interrupt and to run again.
    Rekey(rekey::Args),
    /// Restart boards in boot mode over their lines.
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

/// The option `--fleet`.
#[derive(Debug, clap::Args)]
pub struct FleetArgs {
    /// The fleet file; `gleaner fleet init` writes one.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    fleet: PathBuf,
}

impl FleetArgs {
    /// Returns the path of the fleet file.
    pub fn path(&self) -> &Path {
        &self.fleet
    }
}

/// The option `--fleet` of commands that also work without one.
#[derive(Debug, clap::Args)]
pub struct OptionalFleetArgs {
    /// Take preset, number of clients, boards and keys from this fleet file.
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
}

impl OptionalFleetArgs {
    /// Reads the fleet file, if there is one, and resolves the scenario, for its fleet if so.
    pub fn resolve(&self, args: &ScenarioArgs) -> anyhow::Result<(Scenario, Option<FleetFile>)> {
        match &self.fleet {
            Some(path) => {
                let fleet = FleetFile::read(path)?;
                Ok((args.resolve_for(&fleet, &[])?, Some(fleet)))
            }
            None => Ok((args.resolve()?, None)),
        }
    }
}
