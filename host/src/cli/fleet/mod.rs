//! `gleaner fleet`: commands for the fleet file, and the option `--fleet` of other commands.

pub mod bootsel;
mod image;
pub mod init;
pub mod rekey;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;

use gleaner_station::fleet_file::{FILE_NAME, OLD_FILE_NAME, find_in};

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

/// Prints a hint that a name has changed; the former one is accepted for one version.
pub fn hint(old: &str, new: &str) {
    errln!("hint: {old} is now {new}; the next version does not accept the former name");
}

/// The option `--fleet`.
#[derive(Debug, clap::Args)]
pub struct FleetArgs {
    /// The fleet file; `gleaner fleet init` writes one [default: fleet.toml]
    #[arg(long, value_name = "FILE")]
    fleet: Option<PathBuf>,
    /// Former name of --fleet.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "fleet")]
    bench: Option<PathBuf>,
}

impl FleetArgs {
    /// Returns the file to read, with a hint if it has a former name.
    pub fn to_read(&self) -> PathBuf {
        self.chosen().unwrap_or_else(|| {
            let found = find_in(Path::new(""));
            if found == Path::new(OLD_FILE_NAME) {
                hint(OLD_FILE_NAME, FILE_NAME);
            }
            found
        })
    }

    /// Returns the file to write.
    pub fn to_write(&self) -> PathBuf {
        self.chosen().unwrap_or_else(|| FILE_NAME.into())
    }

    fn chosen(&self) -> Option<PathBuf> {
        if self.bench.is_some() {
            hint("--bench", "--fleet");
        }
        self.fleet.as_ref().or(self.bench.as_ref()).cloned()
    }
}
