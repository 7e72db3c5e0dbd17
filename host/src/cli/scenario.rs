//! Options that choose and change a scenario, common to several subcommands.

use std::path::{Path, PathBuf};
use std::sync::Once;

use super::word;
use gleaner_files::{FileError, TEXT_MAX, read_at_most, read_text, write_atomically};
use gleaner_sim::fleet::smaller_shares;
use gleaner_sim::run::RunDirectory;
use gleaner_sim::scenario::{
    Override, PRESETS, Scenario, ScenarioError, keys, read_profile, resolve, resolve_with_profile,
};
use gleaner_station::fleet_file::FleetFile;
use gleaner_station::{demo, setup};

/// Preset of commands that are told none.
const PRESET: &str = "paper-mlp";

/// Keys of the clients' numbers of samples.
const SHARES: [&str; 2] = ["partition.mean_samples", "partition.std_samples"];

/// Keys that choose the device of a board by hand.
const DEVICE: [&str; 3] = [
    "device.frequency_hz",
    "device.energy_coefficient",
    "device.class",
];

/// Options that choose a scenario and override its keys.
#[derive(Clone, Debug, clap::Args)]
pub struct ScenarioArgs {
    /// A preset (see `gleaner config presets`) or a scenario file that ends in .toml [default:
    /// that of the fleet file, or paper-mlp]
    #[arg(long, value_name = "PRESET|FILE", hide_possible_values = true)]
    #[arg(value_parser = word::suggesting(PRESETS.iter().map(|preset| preset.name)))]
    preset: Option<String>,
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
    /// Returns the preset or file: the one given, or `paper-mlp`.
    #[must_use]
    pub fn preset(&self) -> &str {
        self.preset.as_deref().unwrap_or(PRESET)
    }

    /// Resolves the scenario these options describe.
    ///
    /// # Errors
    /// Whatever is wrong with preset, file or overrides.
    pub fn resolve(&self) -> Result<Scenario, ScenarioError> {
        self.resolve_with(&[])
    }

    /// Resolves the scenario with further overrides on top. Where the clients' shares do not fit the
    /// data and nobody chose them, they are smaller, and a warning says so once.
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
        let scenario = self.resolve_all(&all)?;
        // Missing data is reported when the data set is loaded.
        let Ok(Some((mean, deviation))) = smaller_shares(&scenario) else {
            return Ok(scenario);
        };
        if self.chooses(&SHARES, &all) {
            return Ok(scenario);
        }
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            errln!(
                "warning: {} clients of {} samples do not fit {}: each gets {mean} ± {deviation}; \
                 set partition.mean_samples to choose, or a larger data.dataset",
                scenario.clients.count,
                scenario.partition.mean_samples,
                scenario.data.dataset
            );
        });
        let values = [mean, deviation];
        all.extend((SHARES.iter().zip(values)).map(|(key, value)| Override::new(*key, value)));
        self.resolve_all(&all)
    }

    fn resolve_all(&self, all: &[Override]) -> Result<Scenario, ScenarioError> {
        match &self.profile {
            Some(path) => resolve_with_profile(self.preset(), all, &read_profile(path)?),
            None => resolve(self.preset(), all),
        }
    }

    /// Tells whether one of `keys` is in `overrides` or in the user's scenario file.
    fn chooses(&self, keys: &[&str], overrides: &[Override]) -> bool {
        let mut chosen = overrides.iter().filter_map(|it| keys::find(it.key()));
        if chosen.any(|key| keys.contains(&&*key.path())) {
            return true;
        }
        let text = read_text(Path::new(self.preset())).unwrap_or_default();
        let file: toml::Table = toml::from_str(&text).unwrap_or_default();
        let is_in_file = |key: &&str| {
            let (section, name) = key.split_once('.')?;
            file.get(section)?.get(name)
        };
        keys.iter().any(|key| is_in_file(key).is_some())
    }

    /// Resolves the scenario of a fleet, with further overrides on top: in the fleet's preset unless
    /// one is given, with its clients, and in preset `demo` with the device class of every board.
    ///
    /// # Errors
    /// Whatever is wrong with preset, file or overrides; a board that has another device.
    pub fn resolve_for(&self, fleet: &FleetFile, more: &[Override]) -> anyhow::Result<Scenario> {
        let mut args = self.of(fleet);
        let mut more = [&setup::overrides(fleet), more].concat();
        if args.chooses(&[setup::NORM_BOUND], &args.overrides) {
            more.retain(|it| it.key() != setup::NORM_BOUND);
        }
        if args.preset() == demo::PRESET {
            let common = args.resolve_with(&more)?;
            let classes = demo::classes(fleet, &common, &self.overrides)?;
            args.overrides.insert(0, classes);
        }
        let scenario = args.resolve_with(&more)?;
        if self.profile.is_none() && !self.chooses(&DEVICE, &self.overrides) {
            fleet.check_devices(args.preset(), &scenario)?;
        }
        Ok(scenario)
    }

    /// Returns the same options, with the preset of a fleet unless one is given.
    #[must_use]
    pub fn of(&self, fleet: &FleetFile) -> Self {
        let preset = self.preset.clone().or_else(|| fleet.preset.clone());
        Self {
            preset,
            ..self.clone()
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
        let bytes = read_at_most(path, TEXT_MAX).map_err(gleaner_files::at(path))?;
        write_atomically(&directory.file(RunDirectory::PROFILE), &bytes)?;
        Ok(true)
    }
}
