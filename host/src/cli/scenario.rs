//! Options that choose and change a scenario, common to several subcommands.

use std::path::PathBuf;

use super::word;
use gleaner_files::{FileError, write_atomically};
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::{
    Override, PRESETS, Scenario, ScenarioError, read_profile, resolve, resolve_with_profile,
};

/// Options that choose a scenario and override its keys.
#[derive(Clone, Debug, clap::Args)]
pub struct ScenarioArgs {
    /// A preset (see `gleaner config presets`) or a scenario file that ends in .toml.
    #[arg(
        long,
        default_value = "paper-mlp",
        value_name = "PRESET|FILE",
        hide_possible_values = true
    )]
    #[arg(value_parser = word::suggesting(PRESETS.iter().map(|preset| preset.name)))]
    pub preset: String,
    /// Seed of every random stream.
    // A scenario is TOML, whose whole numbers are signed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Number of communication rounds.
    #[arg(long, value_name = "N")]
    pub rounds: Option<u64>,
    /// Change one key, e.g. `--set cre.v=0.01`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<Override>,
    /// Take energy costs from a measured profile (`gleaner energy fit`); keys given with `--set`
    /// override it.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
}

impl ScenarioArgs {
    /// Resolves the scenario these options describe.
    ///
    /// # Errors
    /// Whatever is wrong with preset, file or overrides.
    pub fn resolve(&self) -> Result<Scenario, ScenarioError> {
        self.resolve_with(&[])
    }

    /// Resolves the scenario with further overrides on top.
    ///
    /// # Errors
    /// Whatever is wrong with preset, file or overrides.
    pub fn resolve_with(&self, more: &[Override]) -> Result<Scenario, ScenarioError> {
        let mut all = self.overrides.clone();
        for (key, value) in [("run.seed", self.seed), ("run.rounds", self.rounds)] {
            if let Some(value) = value {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                all.push(Override::new(key, value));
            }
        }
        all.extend_from_slice(more);
        match &self.profile {
            Some(path) => resolve_with_profile(&self.preset, &all, &read_profile(path)?),
            None => resolve(&self.preset, &all),
        }
    }

    /// Puts a copy of the profile into the directory of a finished run, where its report finds it.
    ///
    /// # Errors
    /// Names the file that cannot be read or written.
    pub fn keep_profile(&self, directory: &RunDirectory) -> Result<bool, FileError> {
        let Some(path) = &self.profile else {
            return Ok(false);
        };
        let bytes = std::fs::read(path).map_err(gleaner_files::at(path))?;
        write_atomically(&directory.file(RunDirectory::PROFILE), &bytes)?;
        Ok(true)
    }
}
