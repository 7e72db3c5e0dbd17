//! `--record-channel`: the gains of a run as a file, common to several subcommands; and
//! `--record-instances`: its problems, round by round.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, ensure};

use super::progress::Progress;
use gleaner_check::instances::Recording;
use gleaner_sim::round::RoundLog;
use gleaner_sim::run::{Observer, RunDirectory, record_channel};
use gleaner_sim::scenario::Scenario;

/// File for the drawn channel gains.
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
        check_outside("--record-channel", file, directory)?;
        // Gains of a run that is then refused would replace those of one that was made.
        directory.check_vacant()?;
        Ok(record_channel(scenario, file)?)
    }

    /// Writes the gains of a comparison, if asked to. Every scheduler has the same channel, so
    /// there is one file for each seed.
    pub fn write_per_seed<'a>(
        &self,
        scenarios: impl Iterator<Item = &'a Scenario> + Clone,
        seeds: &[u64],
    ) -> anyhow::Result<()> {
        let Some(file) = &self.record_channel else {
            return Ok(());
        };
        for &seed in seeds {
            let Some(scenario) = scenarios.clone().find(|it| it.run.seed == seed) else {
                continue;
            };
            match seeds {
                [_] => record_channel(scenario, file)?,
                _ => record_channel(scenario, &with_seed(file, seed))?,
            }
        }
        Ok(())
    }
}

/// Shows the progress of a run, and records its problems if asked to.
pub struct Recorder<'a> {
    progress: Progress,
    file: Option<&'a Path>,
    recording: Recording,
}

impl<'a> Recorder<'a> {
    /// Prepares to record in `file`, if there is one, the run that is about to start in a directory.
    pub fn new(
        file: Option<&'a Path>,
        directory: &RunDirectory,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        if let Some(file) = file {
            check_outside("--record-instances", file, directory)?;
            // Found out now, not after an hour of training.
            let is_new = !file.exists();
            OpenOptions::new()
                .append(true)
                .create(true)
                .open(file)
                .with_context(|| format!("--record-instances {}", file.display()))?;
            if is_new {
                fs::remove_file(file)?;
            }
        }
        Ok(Self {
            progress: Progress::new(quiet),
            file,
            recording: Recording::default(),
        })
    }

    /// Takes the progress off the screen.
    pub fn hide(&mut self) {
        self.progress.finish();
    }

    /// Writes what was recorded of a complete run.
    pub fn finish(&self) -> anyhow::Result<()> {
        if let Some(file) = self.file {
            self.recording.write(file)?;
        }
        Ok(())
    }
}

impl Observer for Recorder<'_> {
    fn started(&mut self, done: usize, total: usize) {
        self.progress.started(done, total);
    }

    fn round(&mut self, log: &RoundLog) {
        if self.file.is_some() {
            self.recording.note(log);
        }
        self.progress.round(log);
    }

    fn notice(&mut self, text: &str) {
        self.progress.notice(text);
    }
}

fn check_outside(option: &str, file: &Path, directory: &RunDirectory) -> anyhow::Result<()> {
    ensure!(
        !absolute(file)?.starts_with(absolute(directory.path())?),
        "{option} {}: the directory of the run must be empty; name a file outside",
        file.display()
    );
    Ok(())
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
