//! The directory of a run: what its files are called, and how far the run in it has come.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Names a directory; nothing is created.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Says whether a run was started here.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.file(Self::SCENARIO).is_file()
    }

    /// Says whether the run here is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.file(Self::SUMS).is_file()
    }

    /// Says whether there is nothing, or only what a crash leaves before there is a run.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        let leftover = Path::new(Self::SCENARIO).with_extension("tmp");
        fs::read_dir(&self.path).map_or(true, |entries| {
            let mut names = entries.flatten().map(|entry| entry.file_name());
            let staged = [Self::STAGED_CHANNEL, Self::STAGED_HARVEST];
            names.all(|name| name == *leftover || staged.iter().any(|it| name == *it))
        })
    }

    /// The resolved scenario.
    pub const SCENARIO: &str = "scenario.toml";
    /// The name its boards know it by.
    pub const ID: &str = "run-id";
    /// The copy of the trace, where gains are not drawn.
    pub const CHANNEL: &str = "channel.csv";
    /// That copy before the scenario stands beside it.
    pub(super) const STAGED_CHANNEL: &str = "channel.tmp";
    /// The copy of the trace of the harvest, where its source has one.
    pub const HARVEST: &str = "harvest.csv";
    /// That copy before the scenario stands beside it.
    pub(super) const STAGED_HARVEST: &str = "harvest.tmp";
    /// One line per round.
    pub const ROUNDS: &str = "rounds.jsonl";
    /// One row per client and round.
    pub const CLIENTS: &str = "clients.csv";
    /// One row per client and round with its energy by phase, unless the books are the paper's.
    pub const ENERGY: &str = "energy.csv";
    /// The newest checkpoint.
    pub const CHECKPOINT: &str = "checkpoint.bin";
    /// The checkpoint before it.
    pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.bin";
    /// The final model.
    pub const MODEL: &str = "model.safetensors";
    /// Digests of the reproducible files.
    pub const SUMS: &str = "SHA256SUMS";
    /// What differs between equal runs.
    pub const ENVIRONMENT: &str = "environment.json";
    /// The report.
    pub const REPORT: &str = "report.html";
    /// The folder of the plots.
    pub const PLOTS: &str = "plots";
    /// The measured profile its costs are from, if they are.
    pub const PROFILE: &str = "profile.toml";
}
