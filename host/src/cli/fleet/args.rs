//! `--fleet`: the fleet file.

use std::path::{Path, PathBuf};

use gleaner_station::fleet_file::{FILE_NAME, OLD_FILE_NAME, find_in};

use super::hint;

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
