//! `--record-channel`: the gains of a run as a file, common to several subcommands.

use std::path::{Path, PathBuf, absolute};

use anyhow::ensure;

use gleaner_host::run::{RunDirectory, check_vacant, record_channel};
use gleaner_host::scenario::Scenario;
use gleaner_host::study::PlannedRun;

/// Where gains go.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordArgs {
    /// Write the channel gains of every round to a CSV file, which `--set channel.trace=FILE` reads.
    #[arg(long, value_name = "FILE")]
    record_channel: Option<PathBuf>,
}

impl RecordArgs {
    /// Writes the gains of a run that is about to start in a directory, if asked to.
    pub fn write(&self, scenario: &Scenario, directory: &RunDirectory) -> anyhow::Result<()> {
        let Some(file) = &self.record_channel else {
            return Ok(());
        };
        ensure!(
            !absolute(file)?.starts_with(absolute(directory.path())?),
            "--record-channel {}: the directory of the run must be empty; name a file outside",
            file.display()
        );
        // Gains of a run that is then refused would replace those of one that was made.
        check_vacant(directory)?;
        Ok(record_channel(scenario, file)?)
    }

    /// Writes the gains of a comparison, if asked to. Every scheduler has the same channel, so
    /// there is one file for each seed.
    pub fn write_per_seed(&self, runs: &[PlannedRun], seeds: &[u64]) -> anyhow::Result<()> {
        let Some(file) = &self.record_channel else {
            return Ok(());
        };
        for &seed in seeds {
            let Some(run) = runs.iter().find(|run| run.scenario.run.seed == seed) else {
                continue;
            };
            match seeds {
                [_] => record_channel(&run.scenario, file)?,
                _ => record_channel(&run.scenario, &with_seed(file, seed))?,
            }
        }
        Ok(())
    }
}

/// Returns `gains-seed3.csv` for `gains.csv`.
fn with_seed(file: &Path, seed: u64) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-seed{seed}"));
    if let Some(extension) = file.extension() {
        name.push(".");
        name.push(extension);
    }
    file.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_stands_before_the_extension() {
        for (file, named) in [
            ("gains.csv", "gains-seed3.csv"),
            ("lab/gains", "lab/gains-seed3"),
            ("lab.d/my.gains.csv", "lab.d/my.gains-seed3.csv"),
        ] {
            assert_eq!(with_seed(Path::new(file), 3), Path::new(named));
        }
    }
}
